/*
 * The lease of this node, and time. See lease.c for what a lease promises; repair.h has pmi_fence.
 */
#ifndef PRISMEM_SRC_LEASE_H
#define PRISMEM_SRC_LEASE_H

#include "handle.h"
#include "repair.h"

#define PMI_LEASE_SELF_FENCE 2u /* a node may publish for 1/2 of a lease after a confirmed beat */
#define PMI_LEASE_BEATS 4u      /* heartbeats in a lease */
#define PMI_LEASE_PATIENCE 6u   /* leases that somebody waits for a lock manager, or for a verdict */

/** CLOCK_MONOTONIC, which an emulated host answers in simulated time. */
uint64_t pmi_now_ns(void);
void pmi_sleep_ns(uint64_t ns);

/** The doorbell line of a node id that was just claimed. */
void pmi_lease_open(pm_pool *pool);
/** A node without a heartbeat shows that it lives, a few times in a lease at most. */
void pmi_show_life(pm_pool *pool);
/** Tell the manager that the request line of `lock` changed. */
void pmi_ring(pm_pool *pool, uint32_t lock, int wanted);
/** Ask the manager to look whether these nodes are gone. */
void pmi_accuse(pm_pool *pool, uint64_t nodes);
/** A heartbeat of a lock manager, with this term word; begins the lease. -ESTALE: the node is dead to the others. */
int pmi_beat(pm_pool *pool, uint64_t term);
/** No heartbeat any more, by intention. */
void pmi_lease_end(pm_pool *pool);
/** Since the last confirmed beat. */
uint64_t pmi_lease_age_ns(pm_pool *pool);
int pmi_is_fenced(const pm_pool *pool);
/** Keep the text and return -ESTALE. */
int pmi_fenced_error(const pm_pool *pool);

#endif
