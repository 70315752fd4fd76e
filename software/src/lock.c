/*
 * Two-tier lock. Local tier: a mutex a lock in DRAM, so that at most one thread of a node goes for the global lock, which one
 * of the tiers of tier.h brings. A node that keeps the lock for its next local waiter does so at most PMI_HANDOVERS_MAX
 * times, then the other nodes have their turn.
 *
 * With the lock comes the news which nodes died and may have left the protected data half-way. Whoever hears of it repairs it
 * and says so with the release; if it dies as well, the next one hears of both.
 */
#include "prismem/lock.h"

#include <errno.h>
#include <string.h>

#include "hold.h"
#include "lease.h"
#include "locktable.h"
#include "tier.h"

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

/* Changes whenever an acting manager steps or another one takes over; 0 while nobody acts. */
static uint64_t manager_pulse(pm_pool *pool) {
  uint64_t pulse = 0;
  pmi_acquire(pool, pmi_doorbell_of(pool, 0), pool->params.nodes * sizeof(pmi_doorbell));
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_doorbell *bell = pmi_doorbell_of(pool, node);
    const uint64_t term = pmi_peek(&bell->term);
    if (term & 1u) pulse += term * UINT64_C(0x9E3779B97F4A7C15) + pmi_peek(&bell->steps);
  }
  return pulse;
}

int pmi_out_of_patience(pm_pool *pool, pmi_patience *p) {
  const uint64_t now = pmi_now_ns();
  if (p->look_ns == 0) p->look_ns = now + pool->params.lease_ns;
  if (now < p->look_ns) return 0;
  p->look_ns = now + pool->params.lease_ns;
  const uint64_t pulse = manager_pulse(pool);
  p->silences = pulse != 0 && pulse != p->pulse ? 0 : p->silences + 1;
  p->pulse = pulse;
  return p->silences >= PMI_LEASE_PATIENCE;
}

static void note_taken(pmi_lock_local *local, uint64_t from_ns) {
  const uint64_t ns = pmi_now_ns() - from_ns;
  pmi_poke(&local->taken, local->taken + 1);
  pmi_poke(&local->wait_ns, local->wait_ns + ns);
  if (ns > local->wait_ns_max) pmi_poke(&local->wait_ns_max, ns);
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
    pmi_poke(&local->taken_here, local->taken_here + 1);
    pmi_count(pool, locks_local, 1);
    rc = pmi_fence(pool);
  } else {
    const uint64_t from_ns = pmi_now_ns();
    rc = pmi_fence(pool);
    if (rc == 0) rc = pmi_tier_of(pool)->acquire(pool, lock, &from_elsewhere);
    local->kept = rc == 0;
    local->handovers = 0;
    local->repaired = 0;
    if (rc == 0) {
      note_taken(local, from_ns);
      pmi_count(pool, locks_global, 1);
    }
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
  if (rc < 0 || !waiters || (local->handovers >= PMI_HANDOVERS_MAX && !PM_MUTANT_ON(quota_ignored))) {
    if (rc == 0) pmi_tier_of(pool)->release(pool, lock);
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

int pm_lock_stat(pm_pool *pool, uint32_t lock, pm_lock_info *out) {
  const int rc = check_id(pool, lock);
  if (rc < 0) return rc;
  if (out == NULL) return pmi_error(EINVAL, "out: is NULL");
  const pmi_lock_local *local = &pool->locks[lock];
  *out = (pm_lock_info){.queued = __atomic_load_n(&local->queued, __ATOMIC_ACQUIRE),
                        .taken = pmi_peek(&local->taken),
                        .taken_here = pmi_peek(&local->taken_here),
                        .polls = pmi_peek(&local->polls),
                        .wait_ns = pmi_peek(&local->wait_ns),
                        .wait_ns_max = pmi_peek(&local->wait_ns_max)};
  return 0;
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
