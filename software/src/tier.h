/*
 * The global tier of the locks: how a lock goes from node to node. Which one a pool has is chosen at format (enum
 * pm_lock_tier).
 *
 * lock_slots.c: request and grant lines, served by the lock manager that leads. lock_bakery.c: two tiers without one. In each
 * of them the manager that leads takes from the dead what they have, and names them to whoever comes next.
 */
#ifndef PRISMEM_SRC_TIER_H
#define PRISMEM_SRC_TIER_H

#include "manager.h"

/* What stands in the lines of a lock: nodes as bits. */
typedef struct pmi_lock_left {
  uint64_t nodes, holders; /* those that want or hold it, and those that hold it */
  uint64_t tenure;
} pmi_lock_left;

typedef struct pmi_tier {
  /* The node's side, under the mutex of the local tier. *fresh: another node held the lock since this one did. */
  int (*acquire)(pm_pool *pool, uint32_t lock, int *fresh);
  void (*release)(pm_pool *pool, uint32_t lock);
  /* The manager's side. */
  int grants; /* the manager serves requests, so it looks without a pause */
  /* Read what a predecessor left. */
  void (*rebuild)(pm_pool *pool, pmi_manager *m, uint32_t lock);
  /* Take from the dead node what it has of this lock. */
  void (*bury)(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node);
  /* The number of the newest repair that anybody has made; compared with pmi_managed_lock.since. */
  uint64_t (*repaired)(pm_pool *pool, uint32_t lock);
  /* Read without any acquire: of a pool that nobody uses, or at no particular moment. */
  pmi_lock_left (*left)(pm_pool *pool, uint32_t lock);
  /* In a pool that nobody uses: remove that. Returns the number for pmi_lock_state.since of a mark that is set now. */
  uint64_t (*clear)(pm_pool *pool, uint32_t lock);
} pmi_tier;

extern const pmi_tier pmi_tier_slots, pmi_tier_bakery, pmi_tier_queue;

static inline const pmi_tier *pmi_tier_of(const pm_pool *pool) {
  static const pmi_tier *const tiers[] = {&pmi_tier_queue, &pmi_tier_slots, &pmi_tier_bakery};
  return tiers[pool->params.lock_tier];
}

/* lock.c: who waits looks now and then whether a lock manager steps that would look after the dead. */
typedef struct pmi_patience {
  uint64_t look_ns;  /* time of the next look */
  uint64_t pulse;    /* what the doorbells of acting managers said at the last look */
  uint32_t silences; /* looks since that changed */
} pmi_patience;
/** 1: nobody leads the lock management for PMI_LEASE_PATIENCE leases. */
int pmi_out_of_patience(pm_pool *pool, pmi_patience *patience);

#endif
