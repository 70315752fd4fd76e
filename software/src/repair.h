/*
 * Repair after the death of a node. Nothing is logged: each line of the pool is consistent by itself (written whole, or its
 * control word last), and what is derived from several lines is rebuilt from the lines that decide.
 *
 * Who comes to a lock next learns from its grant which nodes died since somebody last repaired what the lock protects
 * (pmi_hold_begin calls the functions below). Dead nodes are named to all of the library's own locks, whether they held them
 * or not, so pins and reservations are found as well. A repair may be cut short by a death and is then done again: it is
 * idempotent.
 */
#ifndef PRISMEM_SRC_REPAIR_H
#define PRISMEM_SRC_REPAIR_H

#include "handle.h"

/** index_repair.c, under PMI_LOCK_INDEX: pins of the dead nodes go, their RESERVED buckets are freed, EVICTING ones are
 *  finished, list and counters are rebuilt from the buckets. Payload memory that no bucket names any more is not freed here:
 *  pmi_alloc_reclaim follows. Publishes what it changes. 0 or -errno. */
int pmi_index_repair(pm_pool *pool, uint64_t dead_nodes_mask);
/** alloc_repair.c, under PMI_LOCK_ALLOC and the heap's mutex: half-made runs are freed, chunks of the dead are adopted by this
 *  node, with the blocks that are live in them. */
int pmi_alloc_repair(pm_pool *pool, uint64_t dead_nodes_mask);
/** alloc_repair.c, under PMI_LOCK_INDEX, behind pmi_index_repair: payload blocks that no bucket names are freed. */
int pmi_alloc_reclaim(pm_pool *pool);

/** recover.c: take each of the library's own locks once, so that all that is to be repaired is. */
int pmi_repair_all(pm_pool *pool);

/** alloc.c: memory for the payload of an index block. As pm_alloc, but owned by the index: what no bucket names after a death
 *  is freed. PMI_LOCK_INDEX is held. */
int pmi_alloc_payload(pm_pool *pool, uint64_t *offset);

/** lease.c: -ESTALE when this node was taken for dead, or is about to be and cannot prove the contrary: it must not publish.
 *  To be asked right before anything is published that another node could own by then: a READY state, a pin, a release. Costs
 *  a look at the clock; a heartbeat now and then. */
int pmi_fence(pm_pool *pool);

#endif
