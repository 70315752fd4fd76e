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
 */
#include <errno.h>
#include <string.h>

#include "hold.h"
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

/* Tell the manager that the request line of `lock` changed. The doorbell starts from what an earlier owner of the node id
 * left there. */
static void ring(pm_pool *pool, uint32_t lock, int wanted) {
  pmi_doorbell *bell = pmi_doorbell_of(pool, pool->node);
  pthread_mutex_lock(&pool->bell_mutex);
  if (pool->bell_sequence == 0) {
    pmi_acquire(pool, bell, sizeof *bell);
    pool->bell_sequence = pmi_load(&bell->sequence);
  }
  if (wanted)
    pool->bell_wanted |= UINT64_C(1) << lock;
  else
    pool->bell_wanted &= ~(UINT64_C(1) << lock);
  pool->bell_sequence += 1;
  pmi_store(&bell->wanted, pool->bell_wanted);
  pmi_store(&bell->sequence, pool->bell_sequence);
  pmi_publish(pool, bell, sizeof *bell);
  pthread_mutex_unlock(&pool->bell_mutex);
}

/* Returns whether another node held the lock since this one did. */
static int global_acquire(pm_pool *pool, uint32_t lock) {
  pmi_lock_local *local = &pool->locks[lock];
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  const pmi_grant *grant = pmi_grant_of(pool, lock, pool->node);
  const int first = !local->known;
  if (first) {
    pmi_acquire(pool, request, sizeof(uint64_t));
    local->ticket = pmi_load(&request->word) >> 1;
    local->known = 1;
  }
  local->ticket += 1;
  pmi_store(&request->word, local->ticket * 2 + 1);
  pmi_publish(pool, request, sizeof(uint64_t));
  ring(pool, lock, 1);
  for (;;) {
    pmi_acquire(pool, grant, sizeof *grant);
    if (pmi_load(&grant->ticket) == local->ticket) break;
    pm_relax();
  }
  pmi_count(pool, locks_global, 1);
  return first || grant->previous != pool->node + 1u;
}

static void global_release(pm_pool *pool, uint32_t lock) {
  pmi_request *request = pmi_request_of(pool, lock, pool->node);
  pmi_store(&request->word, pool->locks[lock].ticket * 2);
  pmi_publish(pool, request, sizeof(uint64_t));
  ring(pool, lock, 0);
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
  } else {
    from_elsewhere = global_acquire(pool, lock);
    local->kept = 1;
    local->handovers = 0;
  }
  local->owner = pthread_self();
  __atomic_store_n(&local->held, 1, __ATOMIC_RELEASE);
  if (fresh != NULL) *fresh = from_elsewhere;
  return 0;
}

int pm_lock_release(pm_pool *pool, uint32_t lock) {
  const int rc = check_id(pool, lock);
  if (rc < 0) return rc;
  pmi_lock_local *local = &pool->locks[lock];
  if (!__atomic_load_n(&local->held, __ATOMIC_ACQUIRE) || !pthread_equal(local->owner, pthread_self()))
    return pmi_error(EPERM, "lock: %u is not held by this thread", lock);
  const int waiters = __atomic_load_n(&local->waiting, __ATOMIC_ACQUIRE) != 0;
  if (!waiters || local->handovers >= PMI_HANDOVERS_MAX) {
    global_release(pool, lock);
    local->kept = 0;
  }
  __atomic_store_n(&local->held, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&local->mutex);
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
