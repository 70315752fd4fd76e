/*
 * Pins: how many requests of each node read a slot's payload.
 */
#ifndef PRISMEM_SRC_PINS_H
#define PRISMEM_SRC_PINS_H

#include "handle.h"

/** Add one pin for (request, slot) of each of the n refs, in the pool too, and publish. 0 or -ENOMEM, -EOVERFLOW. */
int pmi_pins_take(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n);
/** Drop them. -EPROTO when a pin is not held: then none is dropped. */
int pmi_pins_drop(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n);
/** Pins of all nodes on the slot, as the device has them now. */
uint32_t pmi_pins_of_slot(pm_pool *pool, uint64_t slot);

#endif
