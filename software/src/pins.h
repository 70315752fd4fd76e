/*
 * Pins: how many requests of each node read a slot's payload.
 */
#ifndef PRISMEM_SRC_PINS_H
#define PRISMEM_SRC_PINS_H

#include "handle.h"

/** Add one pin for (request, slot) of each of the n refs, in the pool too. The caller syncs: then they are published. 0 or
 *  -ENOMEM, -EOVERFLOW. */
int pmi_pins_take(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n);
/** Drop them; published on return. -EPROTO when a pin is not held: then none is dropped. */
int pmi_pins_drop(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n);

/** Pins on a slot, and how often one was taken so far (modulo 2^16), over all nodes. */
typedef struct pmi_use {
  uint32_t pins, uses;
} pmi_use;
/** As the device has them now. */
pmi_use pmi_pins_use(pm_pool *pool, uint64_t slot);
/** Drop all pins of `node`, which is dead or has not begun yet. Returns how many slots had one. */
uint64_t pmi_pins_clear(pm_pool *pool, uint32_t node);

/** Pins of `node` on the slot, as they stand in the pool. */
uint32_t pmi_pins_of(pm_pool *pool, uint32_t node, uint64_t slot);
/** Slots that `node` has pinned, as they stand in the pool. */
uint64_t pmi_pins_count(pm_pool *pool, uint32_t node);

#endif
