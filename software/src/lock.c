/*
 * Two-tier lock, the node's side.
 *
 * Local tier: a mutex a lock in DRAM, so that at most one thread of a node goes for the global lock. Global tier: the node
 * writes a ticket into its request line, rings its doorbell line and polls its grant line, which the lock manager writes
 * (manager.c). Each line has one writer. The states of the paper are in the pair of lines: IDLE is a request without the
 * waiting bit, WAITING a ticket that is not granted, LOCKED one that is. A ticket is used once, so a grant that arrives late
 * for an old request grants nothing.
 *
 * A poll acquires the grant line, or it would read its own copy for ever. A node that keeps the lock for its next local
 * waiter does so at most PMI_HANDOVERS_MAX times, then the other nodes have their turn.
 *
 * A grant also says which nodes died and may have left the protected data half-way. Whoever gets such a grant repairs it and
 * says so with the release; if it dies as well, the next one hears of both.
 */
#include <errno.h>
#include <string.h>

#include "hold.h"
#include "lease.h"
#include "locktable.h"

#define PMI_HANDOVERS_MAX 8u

int pmi_locks_open(pm_pool *pool) {
  pthread_mutexattr_t checked;
  pthread_mutexattr_init(&checked);
  pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
  for (uint32_t i = 0; i < PM_LOCKS_MAX; ++i) pthread_mutex_init(&pool->locks[i].mutex, &checked);
  pthread_mutexattr_destroy(&checked);
  pthread_mutex_init(&pool->bell_mutex, NULL);
  pthread_mutex_init(&pool->manager_mutex, NULL);
  return 0;
}

void pmi_locks_close(pm_pool *pool) {
  for (uint32_t i = 0; i < PM_LOCKS_MAX; ++i) pthread_mutex_destroy(&pool->locks[i].mutex);
  pthread_mutex_destroy(&pool->bell_mutex);
  pthread_mutex_destroy(&pool->manager_mutex);
}

int pmi_locks_held(const pm_pool *pool) {
  for (uint32_t i = 0; i < pool->params.locks; ++i) {
    if (__atomic_load_n(&pool->locks[i].held, __ATOMIC_ACQUIRE)) return 1;
  }
  return 0;
}

/* Who waits looks now and then whether anybody grants at all. */
typedef struct patience {
  uint64_t look_ns;  /* time of the next look */
  uint64_t pulse;    /* what the doorbells of acting managers said at the last look */
  uint32_t silences; /* looks since that changed */
} patience;

/* Changes whenever an acting manager beats or another one takes over; 0 while nobody acts. */
static uint64_t manager_pulse(pm_pool *pool) {
  uint64_t pulse = 0;
  pmi_acquire(pool, pmi_doorbell_of(pool, 0), pool->params.nodes * sizeof(pmi_doorbell));
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
    const uint64_t term = pmi_peek(&bell->term);
    if (term & 1u) pulse += term * UINT64_C(0x9E3779B97F4A7C15) + pmi_peek(&bell->beat);
  }
  return pulse;
}

static int out_of_patience(pm_pool *pool, patience *p) {
  const uint64_t now = pmi_now_ns();
  if (p->look_ns == 0) p->look_ns = now + pool->params.lease_ns;
  if (now < p->look_ns) return 0;
  p->look_ns = now + pool->params.lease_ns;
  const uint64_t pulse = manager_pulse(pool);
  p->silences = pulse != 0 && pulse != p->pulse ? 0 : p->silences + 1;
  p->pulse = pulse;
  return p->silences >= PMI_LEASE_PATIENCE;
}

static void withdraw(pm_pool *pool, uint32_t lock) {
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  pmi_store(&request->word, pool->locks[lock].ticket * 2);
  pmi_publish(pool, request, 2 * sizeof(uint64_t));
  pmi_ring(pool, lock, 0);
}

static int wait_for_grant(pm_pool *pool, uint32_t lock, const pmi_grant *grant) {
  patience p = {0};
  for (;;) {
    pmi_acquire(pool, grant, sizeof *grant);
    if (pmi_load(&grant->ticket) == pool->locks[lock].ticket) return pmi_fence(pool);
    const int rc = pmi_fence(pool);
    if (rc < 0) return rc;
    if (out_of_patience(pool, &p)) {
      withdraw(pool, lock);
      return pmi_error(ETIMEDOUT, "lock: %u: no lock manager for %u leases of %llu ns; run pm_manager_run on a node",
                       lock, PMI_LEASE_PATIENCE, (unsigned long long)pool->params.lease_ns);
    }
    pm_relax();
  }
}

/* *fresh: whether another node held the lock since this one did. */
static int global_acquire(pm_pool *pool, uint32_t lock, int *fresh) {
  pmi_lock_local *local = &pool->locks[lock];
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  const pmi_grant *grant = pmi_grant_of(pool, lock, pool->node);
  int rc = pmi_fence(pool);
  if (rc < 0) return rc;
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
  rc = wait_for_grant(pool, lock, grant);
  if (rc < 0) return rc;
  pmi_count(pool, locks_global, 1);
  local->tenure = grant->tenure;
  local->dead = grant->dead;
  local->repaired = 0;
  *fresh = first || local->dead != 0 || grant->previous != pool->node + 1u;
  return 0;
}

static void global_release(pm_pool *pool, uint32_t lock) {
  const pmi_lock_local *local = &pool->locks[lock];
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  if (local->repaired) pmi_store(&request->repaired, local->tenure);
  pmi_store(&request->word, local->ticket * 2);
  pmi_publish(pool, request, 2 * sizeof(uint64_t));
  pmi_ring(pool, lock, 0);
}

static int check_id(const pm_pool *pool, uint32_t lock) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (lock < pool->params.locks) return 0;
  return pmi_error(EINVAL, "lock: %u is outside 0..%u", lock, pool->params.locks - 1);
}

int pm_lock_acquire(pm_pool *pool, uint32_t lock, int *fresh) {
  int rc = check_id(pool, lock);
  if (rc < 0) return rc;
  pmi_lock_local *local = &pool->locks[lock];
  __atomic_fetch_add(&local->waiting, 1, __ATOMIC_ACQ_REL);
  rc = pthread_mutex_lock(&local->mutex);
  __atomic_fetch_sub(&local->waiting, 1, __ATOMIC_ACQ_REL);
  if (rc != 0) return pmi_error(rc, "lock: %u: %s", lock, strerror(rc));
  int from_elsewhere = 0;
  if (local->kept) {
    local->handovers += 1;
    pmi_count(pool, locks_local, 1);
    rc = pmi_fence(pool);
  } else {
    rc = global_acquire(pool, lock, &from_elsewhere);
    local->kept = rc == 0;
    local->handovers = 0;
  }
  if (rc < 0) {
    local->kept = 0;
    pthread_mutex_unlock(&local->mutex);
    return rc;
  }
  local->owner = pthread_self();
  __atomic_store_n(&local->held, 1, __ATOMIC_RELEASE);
  if (fresh != NULL) *fresh = from_elsewhere;
  return local->dead != 0 && !local->repaired ? PM_LOCK_OWNER_DIED : 0;
}

static int check_held(pm_pool *pool, uint32_t lock) {
  if (lock >= pool->params.locks) return check_id(pool, lock);
  pmi_lock_local *local = &pool->locks[lock];
  if (__atomic_load_n(&local->held, __ATOMIC_ACQUIRE) && pthread_equal(local->owner, pthread_self())) return 0;
  return pmi_error(EPERM, "lock: %u is not held by this thread", lock);
}

int pm_lock_release(pm_pool *pool, uint32_t lock) {
  int rc = pmi_usable(pool);
  if (rc < 0 && rc != -ESTALE) return rc;
  rc = check_held(pool, lock);
  if (rc < 0) return rc;
  pmi_lock_local *local = &pool->locks[lock];
  const int waiters = __atomic_load_n(&local->waiting, __ATOMIC_ACQUIRE) != 0;
  rc = pmi_fence(pool);
  if (rc < 0 || !waiters || local->handovers >= PMI_HANDOVERS_MAX) {
    if (rc == 0) global_release(pool, lock);
    local->kept = 0;
  }
  __atomic_store_n(&local->held, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&local->mutex);
  return rc;
}

int pm_lock_consistent(pm_pool *pool, uint32_t lock) {
  int rc = check_id(pool, lock);
  if (rc == 0) rc = check_held(pool, lock);
  if (rc == 0) pool->locks[lock].repaired = 1;
  return rc;
}

uint64_t pm_lock_dead(pm_pool *pool, uint32_t lock) {
  return check_id(pool, lock) == 0 && check_held(pool, lock) == 0 ? pool->locks[lock].dead : 0;
}

int pm_lock_alloc(pm_pool *pool, uint32_t *lock) {
  int rc = pmi_usable(pool);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->meta);
  if (rc < 0) return rc;
  pmi_lock_table *table = pmi_at(pool, pool->layout.lock_table);
  pmi_hold_read(pool, &pool->meta, table);
  uint32_t id = PMI_LOCKS_OWN;
  while (id < pool->params.locks && table->taken[id]) id += 1;
  const int found = id < pool->params.locks;
  if (found) {
    table->taken[id] = 1;
    pmi_hold_changed(pool, &pool->meta, table);
  }
  pmi_hold_end(pool, &pool->meta);
  if (!found) return pmi_error(ENOSPC, "locks: all %u ids are taken", pool->params.locks);
  *lock = id;
  return 0;
}

int pm_lock_free(pm_pool *pool, uint32_t lock) {
  int rc = check_id(pool, lock);
  if (rc == 0 && lock < PMI_LOCKS_OWN) rc = pmi_error(EINVAL, "lock: %u is the library's own", lock);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->meta);
  if (rc < 0) return rc;
  pmi_lock_table *table = pmi_at(pool, pool->layout.lock_table);
  pmi_hold_read(pool, &pool->meta, table);
  const int taken = table->taken[lock];
  if (taken) {
    table->taken[lock] = 0;
    pmi_hold_changed(pool, &pool->meta, table);
  }
  pmi_hold_end(pool, &pool->meta);
  return taken ? 0 : pmi_error(EINVAL, "lock: %u is not allocated", lock);
}
