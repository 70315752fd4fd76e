/*
 * Lock manager: scans the doorbells of all nodes, looks at the request lines of the locks that a changed doorbell names, and
 * writes grant lines.
 *
 * A scan costs one line a node, plus the requests of nodes that rang. Grants go round robin from the last holder, so no
 * waiter is passed more than N-1 times. What the manager remembers in DRAM is a copy of what the request and grant lines
 * say; it is rebuilt from them when a manager starts. One manager a pool at a time.
 */
#include <errno.h>
#include <stdlib.h>

#include "locktable.h"

#define NOBODY UINT32_MAX

typedef struct managed_lock {
  uint32_t holder, last; /* node or NOBODY */
  uint64_t tenure;
  uint64_t request[PM_NODES_MAX]; /* word of the request line as last read */
  uint64_t granted[PM_NODES_MAX]; /* ticket of the last grant */
} managed_lock;

struct pmi_manager {
  uint64_t sequence[PM_NODES_MAX];
  uint64_t active[PM_NODES_MAX]; /* bit l: the node waits for or holds lock l, by its request line as last read */
  managed_lock locks[PM_LOCKS_MAX];
};

void pmi_manager_close(pm_pool *pool) {
  free(pool->manager);
  pool->manager = NULL;
}

static void acquire(pm_pool *pool, const void *p, size_t n) {
  if (!PM_MUTANT_ON(manager_no_invalidate)) pmi_acquire(pool, p, n);
}

static int holds(const managed_lock *lock, uint32_t node) {
  return (lock->request[node] & 1u) && lock->request[node] >> 1 == lock->granted[node];
}

static void note_request(pmi_manager *m, uint32_t lock, uint32_t node, uint64_t word) {
  m->locks[lock].request[node] = word;
  m->active[node] &= ~(UINT64_C(1) << lock);
  m->active[node] |= (word & 1u) << lock;
}

/* Read all request and grant lines once. */
static void rebuild(pm_pool *pool, pmi_manager *m) {
  const pmi_layout *l = &pool->layout;
  pmi_acquire(pool, pmi_at(pool, l->requests), l->lock_table - l->requests);
  for (uint32_t lock = 0; lock < pool->params.locks; ++lock) {
    managed_lock *managed = &m->locks[lock];
    managed->holder = managed->last = NOBODY;
    for (uint32_t node = 0; node < pool->params.nodes; ++node) {
      const pmi_grant *grant = pmi_grant_of(pool, lock, node);
      note_request(m, lock, node, pmi_load(&pmi_request_of(pool, lock, node)->word));
      managed->granted[node] = pmi_load(&grant->ticket);
      if (managed->granted[node] != 0 && grant->tenure > managed->tenure) {
        managed->tenure = grant->tenure;
        managed->last = node;
      }
      if (holds(managed, node)) managed->holder = node;
    }
  }
}

static void grant_to(pm_pool *pool, uint32_t lock, managed_lock *managed, uint32_t node) {
  pmi_grant *grant = pmi_grant_of(pool, lock, node);
  managed->tenure += 1;
  managed->granted[node] = managed->request[node] >> 1;
  grant->tenure = managed->tenure;
  grant->previous = managed->last == NOBODY ? 0 : managed->last + 1u;
  pmi_store(&grant->ticket, managed->granted[node]);
  pmi_publish(pool, grant, sizeof *grant);
  managed->holder = managed->last = node;
}

/* Returns 1 when somebody got the lock. */
static int serve(pm_pool *pool, uint32_t lock, managed_lock *managed) {
  const uint32_t nodes = pool->params.nodes;
  if (managed->holder != NOBODY && !holds(managed, managed->holder)) managed->holder = NOBODY;
  if (managed->holder != NOBODY && !PM_MUTANT_ON(manager_ignores_release)) return 0;
  const uint32_t start = managed->last == NOBODY ? 0 : managed->last + 1;
  for (uint32_t i = 0; i < nodes; ++i) {
    const uint32_t node = (start + i) % nodes;
    if (!(managed->request[node] & 1u) || holds(managed, node)) continue;
    grant_to(pool, lock, managed, node);
    return 1;
  }
  return 0;
}

/* The request lines of one node, of the locks in `set`. */
static void read_requests(pm_pool *pool, pmi_manager *m, uint32_t node, uint64_t set) {
  for (; set != 0; set &= set - 1) {
    const uint32_t lock = (uint32_t)__builtin_ctzll(set);
    const pmi_request *request = pmi_request_of(pool, lock, node);
    acquire(pool, request, sizeof request->word);
    note_request(m, lock, node, pmi_load(&request->word));
  }
}

/* A doorbell that changed names the locks that the node wants now; those it wanted as far as the manager knows are looked at
 * as well. `wanted` may be newer than the sequence number that was read before it, and a request may have been seen and
 * granted before its bell rang, so no comparison of two readings of `wanted` would find every release.
 *
 * All doorbells are dropped with one fence, so one may be old when its turn comes: the next scan sees it. */
static int scan(pm_pool *pool, pmi_manager *m) {
  const uint32_t nodes = pool->params.nodes;
  const uint64_t valid = pool->params.locks == 64 ? UINT64_MAX : (UINT64_C(1) << pool->params.locks) - 1;
  uint64_t changed = 0;
  acquire(pool, pmi_doorbell_of(pool, 0), nodes * sizeof(pmi_doorbell));
  for (uint32_t node = 0; node < nodes; ++node) {
    const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
    const uint64_t sequence = pmi_peek(&bell->sequence);
    if (sequence == m->sequence[node]) continue;
    const uint64_t set = (pmi_peek(&bell->wanted) | m->active[node]) & valid;
    m->sequence[node] = sequence;
    read_requests(pool, m, node, set);
    changed |= set;
  }
  int grants = 0;
  for (; changed != 0; changed &= changed - 1) {
    const uint32_t lock = (uint32_t)__builtin_ctzll(changed);
    grants += serve(pool, lock, &m->locks[lock]);
  }
  return grants;
}

int pm_manager_step(pm_pool *pool) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  pthread_mutex_lock(&pool->manager_mutex);
  if (pool->manager == NULL) {
    pool->manager = calloc(1, sizeof *pool->manager);
    if (pool->manager != NULL) rebuild(pool, pool->manager);
  }
  rc = pool->manager == NULL ? pmi_error(ENOMEM, "memory: no room for the lock manager") : scan(pool, pool->manager);
  pthread_mutex_unlock(&pool->manager_mutex);
  return rc;
}

int pm_manager_run(pm_pool *pool, const int *stop) {
  while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
    const int grants = pm_manager_step(pool);
    if (grants < 0) return grants;
    if (grants == 0) pm_relax();
  }
  return 0;
}
