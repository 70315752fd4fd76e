/*
 * Who leads the lock management: the acting node with the highest term.
 *
 * A node takes over when nobody acts, or when the manager of the one that does has not stepped for a lease, whatever else
 * that node does: the candidates in the order of their ids, so that usually only one tries. Two that try at once see each
 * other, by Dekker's rule: each publishes its claim (term and acting bit, one word), syncs, and reads the other doorbells; who
 * sees a term as high as its own steps back and tries again later. A leader that was only slow steps again before it writes,
 * and reads the doorbells after that: either it sees the claim, or the claim's owner sees it step and steps back.
 */
#include <errno.h>

#include "manager.h"

/* What changes while the node lives. */
static uint64_t pulse_of(const pmi_doorbell *bell) {
  return pmi_peek(&bell->beat) * UINT64_C(0x9E3779B97F4A7C15) + pmi_peek(&bell->sequence);
}

void pmi_election_watch(pm_pool *pool, pmi_manager *m) {
  if (!PM_MUTANT_ON(manager_no_invalidate)) {
    pmi_acquire(pool, pmi_doorbell_of(pool, 0), pool->params.nodes * sizeof(pmi_doorbell));
    pmi_prefetch(pmi_doorbell_of(pool, 0), pool->params.nodes * sizeof(pmi_doorbell));
  }
  const uint64_t now = pmi_now_ns();
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
    const uint64_t pulse = pulse_of(bell), steps = pmi_peek(&bell->steps);
    if (pulse != m->pulse[node]) m->changed_ns[node] = now;
    if (steps != m->steps[node]) m->stepped_ns[node] = now;
    m->pulse[node] = pulse;
    m->steps[node] = steps;
  }
}

int pmi_election_silent(const pm_pool *pool, const pmi_manager *m, uint32_t node) {
  return pmi_now_ns() - m->changed_ns[node] >= pool->params.lease_ns;
}

static int stands_still(const pm_pool *pool, const pmi_manager *m, uint32_t node) {
  const uint64_t since = PM_MUTANT_ON(leader_by_any_beat) ? m->changed_ns[node] : m->stepped_ns[node];
  return pmi_now_ns() - since >= pool->params.lease_ns;
}

int pmi_election_beat(pm_pool *pool, pmi_manager *m, uint64_t term) {
  const uint64_t now = pmi_now_ns();
  const int rc = pmi_beat(pool, term);
  if (rc == 0) m->led_ns = now;
  return rc;
}

/* The other node that acts with the highest term, and that term; PMI_NOBODY. */
static uint32_t find_leader(pm_pool *pool, uint64_t *term) {
  uint32_t leader = PMI_NOBODY;
  *term = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const uint64_t word = pmi_peek(&pmi_doorbell_of(pool, node)->term);
    if (node == pool->node || !(word & 1u) || (leader != PMI_NOBODY && word >> 1 <= *term)) continue;
    leader = node;
    *term = word >> 1;
  }
  return leader;
}

static uint64_t highest_term(pm_pool *pool) {
  uint64_t term = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const uint64_t word = pmi_peek(&pmi_doorbell_of(pool, node)->term);
    if (word >> 1 > term) term = word >> 1;
  }
  return term;
}

int pmi_election_lost(pm_pool *pool, pmi_manager *m) {
  uint64_t term;
  if (find_leader(pool, &term) == PMI_NOBODY || term < m->term) return 0;
  m->acting = 0;
  (void)pmi_election_beat(pool, m, m->term * 2);
  return 1;
}

/* A candidate with a lower id is alive. One that does not take its turn within a lease has lost it. */
static int others_first(pm_pool *pool, const pmi_manager *m) {
  if (pmi_now_ns() - m->vacant_ns >= pool->params.lease_ns) return 0;
  for (uint32_t node = 0; node < pool->node; ++node) {
    if (pmi_peek(&pmi_doorbell_of(pool, node)->beat) != 0 && !stands_still(pool, m, node)) return 1;
  }
  return 0;
}

int pmi_election_try(pm_pool *pool, pmi_manager *m) {
  uint64_t term;
  const uint64_t now = pmi_now_ns();
  const uint32_t before = find_leader(pool, &term);
  if (before != PMI_NOBODY && !stands_still(pool, m, before)) {
    m->vacant_ns = 0;
    return 0;
  }
  if (m->vacant_ns == 0) m->vacant_ns = now;
  if (now < m->claim_ns || others_first(pool, m)) return 0;
  const uint64_t steps = before == PMI_NOBODY ? 0 : m->steps[before];
  m->term = highest_term(pool) + 1;
  if (pmi_election_beat(pool, m, m->term * 2 + 1) < 0) return 0;
  pmi_election_watch(pool, m);
  const uint32_t other = find_leader(pool, &term);
  const int clash = other != PMI_NOBODY && term >= m->term;
  if (!clash && (before == PMI_NOBODY || m->steps[before] == steps)) {
    m->acting = 1;
    m->vacant_ns = 0;
    return 1;
  }
  m->claim_ns = now + pool->params.lease_ns / PMI_LEASE_BEATS * (pool->node + 1);
  (void)pmi_election_beat(pool, m, m->term * 2);
  return 0;
}
