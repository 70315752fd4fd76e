/*
 * PM_LOCK_SLOTS, the node's side and what of the manager's side is about the dead: one slot a node and lock.
 *
 * The node writes a ticket into its request line, rings its doorbell line and polls its grant line, which the lock manager
 * writes (manager.c). Each line has one writer. The states of the paper are in the pair of lines: IDLE is a request without
 * the waiting bit, WAITING a ticket that is not granted, LOCKED one that is. A ticket is used once, so a grant that arrives
 * late for an old request grants nothing. A poll acquires the grant line, or it would read its own copy for ever.
 */
#include <errno.h>

#include "lease.h"
#include "locktable.h"
#include "tier.h"

static void withdraw(pm_pool *pool, uint32_t lock) {
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  pmi_store(&request->word, pool->locks[lock].ticket * 2);
  pmi_publish(pool, request, 2 * sizeof(uint64_t));
  pmi_ring(pool, lock, 0);
}

static int wait_for_grant(pm_pool *pool, uint32_t lock, const pmi_grant *grant) {
  pmi_patience patience = {0};
  for (;;) {
    pmi_poke(&pool->locks[lock].polls, pool->locks[lock].polls + 1);
    pmi_acquire(pool, grant, sizeof *grant);
    if (pmi_load(&grant->ticket) == pool->locks[lock].ticket) return pmi_fence(pool);
    const int rc = pmi_fence(pool);
    if (rc < 0) return rc;
    if (pmi_out_of_patience(pool, &patience)) {
      withdraw(pool, lock);
      return pmi_error(ETIMEDOUT, "lock: %u: no lock manager for %u leases of %llu ns; run pm_manager_run on a node",
                       lock, PMI_LEASE_PATIENCE, (unsigned long long)pool->params.lease_ns);
    }
    pm_relax();
  }
}

static int slots_acquire(pm_pool *pool, uint32_t lock, int *fresh) {
  pmi_lock_local *local = &pool->locks[lock];
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  const pmi_grant *grant = pmi_grant_of(pool, lock, pool->node);
  const int first = !local->known;
  if (first) {
    pmi_acquire(pool, request, 2 * sizeof(uint64_t));
    local->ticket = pmi_load(&request->word) >> 1;
    local->known = 1;
  }
  local->ticket += 1;
  pmi_store(&request->word, local->ticket * 2 + 1);
  pmi_publish(pool, request, sizeof(uint64_t));
  pmi_ring(pool, lock, 1);
  __atomic_fetch_add(&local->queued, 1, __ATOMIC_RELEASE);
  const int rc = wait_for_grant(pool, lock, grant);
  if (rc < 0) return rc;
  local->tenure = grant->tenure;
  local->dead = grant->dead;
  *fresh = first || local->dead != 0 || grant->previous != pool->node + 1u;
  return 0;
}

static void slots_release(pm_pool *pool, uint32_t lock) {
  const pmi_lock_local *local = &pool->locks[lock];
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  if (local->repaired) pmi_store(&request->repaired, local->tenure);
  pmi_store(&request->word, local->ticket * 2);
  pmi_publish(pool, request, 2 * sizeof(uint64_t));
  pmi_ring(pool, lock, 0);
}

static uint64_t slots_repaired(pm_pool *pool, uint32_t lock) {
  uint64_t tenure = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_request *request = pmi_request_of(pool, lock, node);
    pmi_acquire(pool, request, sizeof *request);
    const uint64_t repaired = pmi_load(&request->repaired);
    if (repaired > tenure) tenure = repaired;
  }
  return tenure;
}

static void slots_rebuild(pm_pool *pool, pmi_manager *m, uint32_t lock) {
  pmi_managed_lock *managed = &m->locks[lock];
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_grant *grant = pmi_grant_of(pool, lock, node);
    pmi_acquire(pool, grant, sizeof *grant);
    managed->granted[node] = pmi_load(&grant->ticket);
    pmi_manager_read_request(pool, m, lock, node);
    if (grant->tenure > managed->tenure) {
      managed->tenure = grant->tenure;
      managed->last = node;
    }
    if (pmi_manager_holds(managed, node)) managed->holder = node;
  }
}

static void slots_bury(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node) {
  pmi_managed_lock *managed = &m->locks[lock];
  pmi_request *request = pmi_request_of(pool, lock, node);
  pmi_manager_read_request(pool, m, lock, node);
  if (pmi_manager_holds(managed, node) || lock < PMI_LOCKS_OWN)
    pmi_death_mark(pool, m, lock, node, managed->tenure + 1);
  if (managed->request[node] & 1u) {
    pmi_store(&request->word, managed->request[node] & ~UINT64_C(1));
    pmi_publish(pool, request, sizeof *request);
    managed->request[node] &= ~UINT64_C(1);
    m->active[node] &= ~(UINT64_C(1) << lock);
  }
  if (managed->holder == node) managed->holder = PMI_NOBODY;
}

static pmi_lock_left slots_left(pm_pool *pool, uint32_t lock) {
  pmi_lock_left found = {0};
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const uint64_t word = pmi_load(&pmi_request_of(pool, lock, node)->word);
    const pmi_grant *grant = pmi_grant_of(pool, lock, node);
    if (grant->tenure > found.tenure) found.tenure = grant->tenure;
    if (!(word & 1u)) continue;
    found.nodes |= UINT64_C(1) << node;
    if (word >> 1 == pmi_load(&grant->ticket)) found.holders |= UINT64_C(1) << node;
  }
  return found;
}

static uint64_t slots_clear(pm_pool *pool, uint32_t lock) {
  uint64_t tenure = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    pmi_request *request = pmi_request_of(pool, lock, node);
    if (pmi_grant_of(pool, lock, node)->tenure > tenure) tenure = pmi_grant_of(pool, lock, node)->tenure;
    pmi_store(&request->word, pmi_load(&request->word) & ~UINT64_C(1));
    pmi_publish(pool, request, sizeof *request);
  }
  return tenure + 1;
}

const pmi_tier pmi_tier_slots = {.acquire = slots_acquire,
                                 .release = slots_release,
                                 .grants = 1,
                                 .rebuild = slots_rebuild,
                                 .bury = slots_bury,
                                 .repaired = slots_repaired,
                                 .left = slots_left,
                                 .clear = slots_clear};
