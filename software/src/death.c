/*
 * What the leading lock manager does about a node that died.
 *
 * Dead is who has a lease and shows no life for as long as it lasts, or who is accused by another node (pm_recover) and shows
 * none. The verdict is published before anything is taken from the node, and withdrawn when it shows life after all. Then its
 * locks are revoked and its requests cleared; locks that it held, and all of the library's own, are marked as to be repaired
 * by whoever comes next. When all of the library's own are repaired, the id may be claimed again.
 *
 * Each step may be the last of this manager: the next one finds the verdict and does the rest again.
 */
#include "manager.h"
#include "tier.h"

static void publish_verdict(pm_pool *pool, const pmi_manager *m, uint32_t node) {
  pmi_verdict *verdict = pmi_verdict_of(pool, node);
  pmi_store(&verdict->repaired_epoch, m->repaired_epoch[node]);
  pmi_store(&verdict->buried_epoch, m->buried_epoch[node]);
  pmi_store(&verdict->dead_epoch, m->dead_epoch[node]);
  pmi_publish(pool, verdict, sizeof *verdict);
}

static void publish_state(pm_pool *pool, const pmi_manager *m, uint32_t lock) {
  pmi_lock_state *state = pmi_lock_state_of(pool, lock);
  pmi_store(&state->dead, m->locks[lock].dead);
  pmi_store(&state->since, m->locks[lock].since);
  pmi_publish(pool, state, sizeof *state);
}

void pmi_death_mark(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node, uint64_t since) {
  pmi_managed_lock *managed = &m->locks[lock];
  if (managed->dead != 0 && pmi_tier_of(pool)->repaired(pool, lock) >= managed->since) managed->dead = 0;
  managed->dead |= UINT64_C(1) << node;
  managed->since = since;
  publish_state(pool, m, lock);
}

uint64_t pmi_bury(pm_pool *pool, pmi_manager *m, uint64_t nodes) {
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    if (!(nodes >> node & 1u) || m->repaired_epoch[node] >= m->dead_epoch[node]) continue;
    for (uint32_t lock = 0; lock < pool->params.locks; ++lock) pmi_tier_of(pool)->bury(pool, m, lock, node);
    m->buried_epoch[node] = m->dead_epoch[node];
    publish_verdict(pool, m, node);
  }
  return nodes == 0 ? 0 : UINT64_MAX >> (64 - pool->params.locks);
}

/* The verdict, unless the node shows life after it. */
static int declare(pm_pool *pool, pmi_manager *m, uint32_t node, uint64_t epoch) {
  const uint64_t before = m->dead_epoch[node], pulse = m->pulse[node];
  m->dead_epoch[node] = epoch;
  publish_verdict(pool, m, node);
  pmi_sync(pool);
  pmi_election_watch(pool, m);
  if (m->pulse[node] == pulse) return 1;
  m->dead_epoch[node] = before;
  publish_verdict(pool, m, node);
  return 0;
}

/* Claimed again, with a later epoch. */
static void revive(pm_pool *pool, pmi_manager *m, uint32_t node) {
  const pmi_node_record *record = pmi_node_record_of(pool, node);
  pmi_acquire(pool, record, sizeof *record);
  const uint64_t state = pmi_load(&record->state);
  if (state >> 1 > m->dead_epoch[node]) m->dead &= ~(UINT64_C(1) << node);
}

static uint64_t accused(pm_pool *pool, const pmi_manager *m) {
  uint64_t nodes = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    if (!(m->dead >> node & 1u)) nodes |= pmi_peek(&pmi_doorbell_of(pool, node)->accused);
  }
  return nodes;
}

uint64_t pmi_deaths(pm_pool *pool, pmi_manager *m) {
  const uint64_t under_suspicion = accused(pool, m);
  uint64_t gone = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
    if (m->dead >> node & 1u) {
      if (pmi_peek(&bell->sequence) != m->sequence[node]) revive(pool, m, node);
      continue;
    }
    const int leased = pmi_peek(&bell->beat) != 0;
    if (node == pool->node || (!leased && !(under_suspicion >> node & 1u))) continue;
    if (!pmi_election_silent(pool, m, node) || PM_MUTANT_ON(lease_never_expires)) continue;
    const pmi_node_record *record = pmi_node_record_of(pool, node);
    pmi_acquire(pool, record, sizeof *record);
    const uint64_t state = pmi_load(&record->state);
    if (!(state & 1u)) continue; /* closed, not dead */
    if (state >> 1 > m->dead_epoch[node] && !declare(pool, m, node, state >> 1)) continue;
    m->dead |= UINT64_C(1) << node;
    m->sequence[node] = pmi_peek(&bell->sequence);
    gone |= UINT64_C(1) << node;
  }
  return pmi_bury(pool, m, gone);
}

static void note_repaired(pm_pool *pool, pmi_manager *m) {
  uint64_t left = 0;
  for (uint32_t lock = 0; lock < PMI_LOCKS_OWN; ++lock) left |= m->locks[lock].dead;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    if (!(m->dead >> node & 1u) || (left >> node & 1u) || m->repaired_epoch[node] >= m->dead_epoch[node]) continue;
    if (m->buried_epoch[node] < m->dead_epoch[node]) continue;
    m->repaired_epoch[node] = m->dead_epoch[node];
    publish_verdict(pool, m, node);
  }
}

void pmi_death_settle(pm_pool *pool, pmi_manager *m, uint32_t lock, uint64_t repaired) {
  pmi_managed_lock *managed = &m->locks[lock];
  if (managed->dead == 0 || repaired < managed->since) return;
  managed->dead = 0;
  publish_state(pool, m, lock);
  note_repaired(pool, m);
}

void pmi_death_settle_own(pm_pool *pool, pmi_manager *m) {
  for (uint32_t lock = 0; lock < PMI_LOCKS_OWN; ++lock) {
    if (m->locks[lock].dead != 0) pmi_death_settle(pool, m, lock, pmi_tier_of(pool)->repaired(pool, lock));
  }
  note_repaired(pool, m); /* a later death may have found the marks repaired, see pmi_death_mark */
}
