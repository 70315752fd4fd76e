/*
 * Who leads the lock management: the acting node with the highest term.
 *
 * A node takes over when nobody acts, or when the one that does shows no life for a lease: the candidates in the order of
 * their ids, so that usually only one tries. Two that try at once see each other, by Dekker's rule: each publishes its claim
 * (term and acting bit, one word), syncs, and reads the other doorbells; who sees a term as high as its own steps back and
 * tries again later. A leader that was only slow shows life again before it writes, and reads the doorbells after that: either
 * it sees the claim, or the claim's owner sees it alive and steps back.
 */
#include <errno.h>

#include "manager.h"

/* What changes while the node lives. */
static uint64_t pulse_of(const pmi_doorbell *bell) {
  return pmi_peek(&bell->beat) * UINT64_C(0x9E3779B97F4A7C15) + pmi_peek(&bell->sequence);
}

void pmi_election_watch(pm_pool *pool, pmi_manager *m) {
  if (!PM_MUTANT_ON(manager_no_invalidate))
    pmi_acquire(pool, pmi_doorbell_of(pool, 0), pool->params.nodes * sizeof(pmi_doorbell));
  const uint64_t now = pmi_now_ns();
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const uint64_t pulse = pulse_of(pmi_doorbell_of(pool, node));
    if (pulse == m->pulse[node]) continue;
    m->pulse[node] = pulse;
    m->changed_ns[node] = now;
  }
}

int pmi_election_silent(const pm_pool *pool, const pmi_manager *m, uint32_t node) {
  return pmi_now_ns() - m->changed_ns[node] >= pool->params.lease_ns;
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
  (void)pmi_beat(pool, m->term * 2);
  return 1;
}

/* A candidate with a lower id is alive. One that does not take its turn within a lease has lost it. */
static int others_first(pm_pool *pool, const pmi_manager *m) {
  if (pmi_now_ns() - m->vacant_ns >= pool->params.lease_ns) return 0;
  for (uint32_t node = 0; node < pool->node; ++node) {
    if (pmi_peek(&pmi_doorbell_of(pool, node)->beat) != 0 && !pmi_election_silent(pool, m, node)) return 1;
  }
  return 0;
}

int pmi_election_try(pm_pool *pool, pmi_manager *m) {
  uint64_t term;
  const uint64_t now = pmi_now_ns();
  const uint32_t before = find_leader(pool, &term);
  if (before != PMI_NOBODY && !pmi_election_silent(pool, m, before)) {
    m->vacant_ns = 0;
    return 0;
  }
  if (m->vacant_ns == 0) m->vacant_ns = now;
  if (now < m->claim_ns || others_first(pool, m)) return 0;
  const uint64_t pulse = before == PMI_NOBODY ? 0 : m->pulse[before];
  m->term = highest_term(pool) + 1;
  if (pmi_beat(pool, m->term * 2 + 1) < 0) return 0;
  pmi_election_watch(pool, m);
  const uint32_t other = find_leader(pool, &term);
  const int clash = other != PMI_NOBODY && term >= m->term;
  if (!clash && (before == PMI_NOBODY || m->pulse[before] == pulse)) {
    m->acting = 1;
    m->vacant_ns = 0;
    return 1;
  }
  m->claim_ns = now + pool->params.lease_ns / PMI_LEASE_BEATS * (pool->node + 1);
  (void)pmi_beat(pool, m->term * 2);
  return 0;
}
