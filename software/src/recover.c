/*
 * Recovery by hand of what a dead node left: the manager is asked for a verdict, then each of the library's own locks is taken
 * once, which repairs what it protects (hold.c). Without this call the same happens by and by, when a lease is over and
 * somebody needs the locks.
 */
#include "prismem/recover.h"

#include <errno.h>

#include "chunk.h"
#include "lease.h"
#include "locktable.h"
#include "repair.h"

#define LOOKS 16u /* at a verdict, in a lease */

static uint64_t epoch_of(pm_pool *pool, uint32_t node, int *active) {
  const pmi_node_record *record = pmi_node_record_of(pool, node);
  pmi_acquire(pool, record, sizeof *record);
  const uint64_t state = pmi_load(&record->state);
  *active = (int)(state & 1u);
  return state >> 1;
}

static uint64_t pulse_of(pm_pool *pool, uint32_t node) {
  const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
  pmi_acquire(pool, bell, sizeof *bell);
  return pmi_load(&bell->beat) + pmi_load(&bell->sequence);
}

enum verdict { DEAD, BURIED, REPAIRED };

static int has_verdict(pm_pool *pool, uint32_t node, uint64_t epoch, enum verdict which) {
  const pmi_verdict *verdict = pmi_verdict_of(pool, node);
  pmi_acquire(pool, verdict, sizeof *verdict);
  if (which == DEAD) return pmi_load(&verdict->dead_epoch) >= epoch;
  return (which == BURIED ? pmi_load(&verdict->buried_epoch) : pmi_load(&verdict->repaired_epoch)) >= epoch;
}

/* Poll the verdict, for so many leases; a node that shows life ends the wait. */
static int wait_for(pm_pool *pool, uint32_t node, uint64_t epoch, enum verdict which, uint32_t leases) {
  const uint64_t start = pmi_now_ns(), pulse = pulse_of(pool, node);
  while (!has_verdict(pool, node, epoch, which)) {
    const int rc = pmi_fence(pool);
    if (rc < 0) return rc;
    if (which == DEAD && pulse_of(pool, node) != pulse)
      return pmi_error(EBUSY, "node: %u is alive, its doorbell rang just now", node);
    if (pmi_now_ns() - start > leases * pool->params.lease_ns)
      return pmi_error(ETIMEDOUT,
                       "node: %u: no lock manager gave a verdict for %u leases; run pm_manager_run on a node", node,
                       leases);
    pmi_sleep_ns(pool->params.lease_ns / LOOKS);
  }
  return 0;
}

static int take_once(pm_pool *pool, pmi_guard *guard) {
  const int rc = pmi_hold_begin(pool, guard);
  return rc < 0 ? rc : pmi_hold_end(pool, guard);
}

int pmi_repair_all(pm_pool *pool) {
  int rc = take_once(pool, &pool->meta);
  if (rc == 0) rc = take_once(pool, &pool->object);
  if (rc == 0) rc = pmi_heap_hold(pool);
  if (rc == 0) rc = pmi_heap_let_go(pool);
  return rc == 0 ? take_once(pool, &pool->index) : rc;
}

int pm_recover(pm_pool *pool, uint32_t node) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (node >= pool->params.nodes) return pmi_error(EINVAL, "node: %u is outside 0..%u", node, pool->params.nodes - 1);
  if (node == pool->node) return pmi_error(EINVAL, "node: %u is this one", node);
  int active;
  const uint64_t epoch = epoch_of(pool, node, &active);
  if (!active) return 0;
  if (!has_verdict(pool, node, epoch, DEAD)) {
    pmi_accuse(pool, UINT64_C(1) << node);
    rc = wait_for(pool, node, epoch, DEAD, PMI_LEASE_PATIENCE);
    pmi_accuse(pool, 0);
  }
  if (rc == 0) rc = wait_for(pool, node, epoch, BURIED, PMI_LEASE_PATIENCE);
  for (uint32_t i = 0; rc == 0 && i < PMI_LEASE_PATIENCE; ++i) {
    rc = pmi_repair_all(pool);
    if (rc == 0) rc = wait_for(pool, node, epoch, REPAIRED, 1);
    if (rc != -ETIMEDOUT) break;
    if (i + 1 < PMI_LEASE_PATIENCE) rc = 0; /* another node may have died meanwhile: what it left is marked anew */
  }
  return rc;
}

int pm_flush_host(const char *path) {
  unsigned char *base = NULL;
  uint64_t bytes = 0;
  const int rc = pmi_region_map(path, 0, PMI_MAP_EXISTING, &base, &bytes);
  if (rc < 0) return rc;
  pm_acquire(base, bytes);
  pmi_region_unmap(base, bytes);
  return 0;
}

int pm_node_state(pm_pool *pool, uint32_t node) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (node >= pool->params.nodes) return pmi_error(EINVAL, "node: %u is outside 0..%u", node, pool->params.nodes - 1);
  int active;
  const uint64_t epoch = epoch_of(pool, node, &active);
  if (!active || has_verdict(pool, node, epoch, REPAIRED)) return PM_NODE_VACANT;
  return has_verdict(pool, node, epoch, DEAD) ? PM_NODE_DEAD : PM_NODE_CLAIMED;
}
