/*
 * Lock manager: scans the doorbells of all nodes, looks at the request lines of the locks that a changed doorbell names, and
 * writes grant lines.
 *
 * With another tier than PM_LOCK_SLOTS there is nothing to grant, and the leader looks after the dead only.
 *
 * A scan costs one line a node, plus the requests of nodes that rang. Grants go round robin from the last holder, so no
 * waiter is passed more than N-1 times. Any number of nodes may run a manager: one leads (election.c), the others watch it.
 * What the leader remembers in DRAM is a copy of what the request, grant and lock state lines say.
 *
 * A leader writes for half a lease after its last confirmed beat, as any node does; beyond that it looks first whether
 * somebody took over.
 */
#include "manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tier.h"

#define CALM_LOOKS 16u          /* in a lease, of a manager that nobody waits for */
#define CALM_NAP_NS_MAX 200000u /* until it sees that it has to stop */

void pmi_manager_close(pm_pool *pool) {
  free(pool->manager);
  pool->manager = NULL;
}

static void acquire(pm_pool *pool, const void *p, size_t n) {
  if (!PM_MUTANT_ON(manager_no_invalidate)) pmi_acquire(pool, p, n);
}

void pmi_manager_read_request(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node) {
  const pmi_request *request = pmi_request_of(pool, lock, node);
  pmi_managed_lock *managed = &m->locks[lock];
  acquire(pool, request, 2 * sizeof(uint64_t));
  managed->request[node] = pmi_load(&request->word);
  managed->repaired[node] = pmi_load(&request->repaired);
  m->active[node] &= ~(UINT64_C(1) << lock);
  m->active[node] |= (managed->request[node] & 1u) << lock;
}

static void rebuild_lock(pm_pool *pool, pmi_manager *m, uint32_t lock) {
  const pmi_tier *tier = pmi_tier_of(pool);
  pmi_managed_lock *managed = &m->locks[lock];
  const pmi_lock_state *state = pmi_lock_state_of(pool, lock);
  pmi_acquire(pool, state, sizeof *state);
  *managed = (pmi_managed_lock){.holder = PMI_NOBODY, .last = PMI_NOBODY};
  managed->dead = pmi_load(&state->dead);
  managed->since = pmi_load(&state->since);
  tier->rebuild(pool, m, lock);
  if (managed->dead != 0 && tier->repaired(pool, lock) >= managed->since) managed->dead = 0;
}

void pmi_manager_rebuild(pm_pool *pool, pmi_manager *m) {
  memset(m->sequence, 0, sizeof m->sequence);
  memset(m->active, 0, sizeof m->active);
  m->dead = 0;
  for (uint32_t lock = 0; lock < pool->params.locks; ++lock) rebuild_lock(pool, m, lock);
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_verdict *verdict = pmi_verdict_of(pool, node);
    const pmi_node_record *record = pmi_node_record_of(pool, node);
    pmi_acquire(pool, record, sizeof *record);
    const uint64_t state = pmi_load(&record->state);
    pmi_acquire(pool, verdict, sizeof *verdict);
    m->dead_epoch[node] = pmi_load(&verdict->dead_epoch);
    m->buried_epoch[node] = pmi_load(&verdict->buried_epoch);
    m->repaired_epoch[node] = pmi_load(&verdict->repaired_epoch);
    if ((state & 1u) && m->dead_epoch[node] >= state >> 1) m->dead |= UINT64_C(1) << node;
  }
  (void)pmi_bury(pool, m, m->dead);
}

/* The leader may write grants now. When its last step is too old it beats and looks whether it still leads. */
static int may_grant(pm_pool *pool, pmi_manager *m) {
  if (pmi_now_ns() - m->led_ns < pool->params.lease_ns / PMI_LEASE_SELF_FENCE) return 1;
  if (pmi_election_beat(pool, m, m->term * 2 + 1) < 0) return 0;
  pmi_election_watch(pool, m);
  return !pmi_election_lost(pool, m);
}

static void grant_to(pm_pool *pool, const pmi_manager *m, uint32_t lock, pmi_managed_lock *managed, uint32_t node) {
  pmi_grant *grant = pmi_grant_of(pool, lock, node);
  managed->tenure += 1;
  managed->granted[node] = managed->request[node] >> 1;
  grant->tenure = managed->tenure;
  grant->previous = managed->last_is_sure ? managed->last + 1u : 0;
  grant->dead = PM_MUTANT_ON(dead_not_told) ? 0 : managed->dead;
  grant->term = m->term;
  pmi_store(&grant->ticket, managed->granted[node]);
  pmi_publish(pool, grant, sizeof *grant);
  managed->holder = managed->last = node;
  managed->last_is_sure = 1;
}

/* Returns 1 when somebody got the lock. */
static int serve(pm_pool *pool, pmi_manager *m, uint32_t lock) {
  pmi_managed_lock *managed = &m->locks[lock];
  const uint32_t nodes = pool->params.nodes;
  if (managed->holder != PMI_NOBODY && !pmi_manager_holds(managed, managed->holder)) {
    pmi_death_settle(pool, m, lock, managed->repaired[managed->holder]);
    managed->holder = PMI_NOBODY;
  }
  if (managed->holder != PMI_NOBODY && !PM_MUTANT_ON(manager_ignores_release)) return 0;
  const uint32_t start = managed->last == PMI_NOBODY || PM_MUTANT_ON(manager_unfair) ? 0 : managed->last + 1;
  for (uint32_t i = 0; i < nodes; ++i) {
    const uint32_t node = (start + i) % nodes;
    if (m->dead >> node & 1u) continue;
    if (!(managed->request[node] & 1u) || pmi_manager_holds(managed, node)) continue;
    if (!may_grant(pool, m)) return 0;
    grant_to(pool, m, lock, managed, node);
    return 1;
  }
  return 0;
}

int pmi_manager_serve(pm_pool *pool, pmi_manager *m, uint64_t set) {
  int grants = 0;
  for (; set != 0; set &= set - 1) grants += serve(pool, m, (uint32_t)__builtin_ctzll(set));
  return grants;
}

/* A doorbell that changed names the locks that the node wants now; those it wanted as far as the manager knows are looked at
 * as well. `wanted` may be newer than the sequence number that was read before it, and a request may have been seen and
 * granted before its bell rang, so no comparison of two readings of `wanted` would find every release.
 *
 * All doorbells are dropped with one fence, so one may be old when its turn comes: the next scan sees it. */
static int scan(pm_pool *pool, pmi_manager *m) {
  const uint32_t nodes = pool->params.nodes;
  const uint64_t valid = pool->params.locks == 64 ? UINT64_MAX : (UINT64_C(1) << pool->params.locks) - 1;
  pmi_election_watch(pool, m);
  if (pmi_election_lost(pool, m)) return 0;
  uint64_t changed = pmi_deaths(pool, m);
  if (!pmi_tier_of(pool)->grants) {
    pmi_death_settle_own(pool, m);
    return 0;
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
    const uint64_t sequence = pmi_peek(&bell->sequence);
    if (sequence == m->sequence[node] || (m->dead >> node & 1u)) continue;
    const uint64_t set = (pmi_peek(&bell->wanted) | m->active[node]) & valid;
    m->sequence[node] = sequence;
    for (uint64_t rest = set; rest != 0; rest &= rest - 1)
      pmi_manager_read_request(pool, m, (uint32_t)__builtin_ctzll(rest), node);
    changed |= set;
  }
  return pmi_manager_serve(pool, m, changed);
}

static int begin(pm_pool *pool) {
  pool->manager = calloc(1, sizeof *pool->manager);
  if (pool->manager == NULL) return pmi_error(ENOMEM, "memory: no room for the lock manager");
  const uint64_t now = pmi_now_ns();
  for (uint32_t node = 0; node < PM_NODES_MAX; ++node)
    pool->manager->changed_ns[node] = pool->manager->stepped_ns[node] = now;
  return 0;
}

static int step(pm_pool *pool) {
  int rc = pool->manager == NULL ? begin(pool) : 0;
  if (rc < 0) return rc;
  pmi_manager *m = pool->manager;
  const uint64_t due_ns = pool->params.lease_ns / PMI_LEASE_BEATS;
  if (!pool->leased || pmi_lease_age_ns(pool) >= due_ns || pmi_now_ns() - m->led_ns >= due_ns)
    rc = pmi_election_beat(pool, m, m->acting ? m->term * 2 + 1 : pool->bell.term & ~UINT64_C(1));
  if (rc < 0) return rc;
  if (!m->acting) {
    pmi_election_watch(pool, m);
    if (!pmi_election_try(pool, m)) return 0;
    pmi_manager_rebuild(pool, m);
  }
  return scan(pool, m);
}

int pm_manager_step(pm_pool *pool) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  pthread_mutex_lock(&pool->manager_mutex);
  rc = step(pool);
  pthread_mutex_unlock(&pool->manager_mutex);
  return rc;
}

static void rest(const int *stop, uint64_t ns) {
  for (uint64_t nap; ns != 0 && !__atomic_load_n(stop, __ATOMIC_ACQUIRE); ns -= nap) {
    nap = ns < CALM_NAP_NS_MAX ? ns : CALM_NAP_NS_MAX;
    pmi_sleep_ns(nap);
  }
}

int pm_manager_run(pm_pool *pool, const int *stop) {
  int rc = 0;
  while (rc >= 0 && !__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
    rc = pm_manager_step(pool);
    if (rc != 0) continue;
    if (pool->manager->acting && pmi_tier_of(pool)->grants)
      pm_relax();
    else
      rest(stop, pool->params.lease_ns / CALM_LOOKS);
  }
  pthread_mutex_lock(&pool->manager_mutex);
  if (pool->manager != NULL) pool->manager->acting = 0;
  pmi_lease_end(pool);
  pthread_mutex_unlock(&pool->manager_mutex);
  return rc < 0 ? rc : 0;
}
