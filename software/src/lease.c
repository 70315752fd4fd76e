/*
 * The lease of a node: its heartbeat, and how it knows that it may still write.
 *
 * A node with a heartbeat is taken for dead when its doorbell line has not changed for a lease on the clock of whoever
 * watches it; clocks of different hosts are never compared. The node itself stops earlier, on its own clock: within half a
 * lease after a heartbeat that was confirmed it may publish, later it has to beat again and to read its verdict first. The
 * two steps cross like Dekker's: the node publishes the beat, syncs, reads the verdict; who declares it dead publishes the
 * verdict, syncs, reads the beat. At least one of them sees the other.
 *
 * A node that works beats as well when its lease runs short, on whatever thread. That keeps the node alive and says nothing of
 * its lock manager, so the beats of a manager that steps are counted apart (`steps`): by those the others judge a leader.
 *
 * What this cannot cover is a node that stands still for more than half a lease between such a look at the clock and the
 * stores behind it: only the device or the switch can shut such a host out.
 */
#include <errno.h>
#include <time.h>

#include "lease.h"
#include "locktable.h"

uint64_t pmi_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void pmi_sleep_ns(uint64_t ns) {
  const struct timespec time = {.tv_sec = (time_t)(ns / UINT64_C(1000000000)),
                                .tv_nsec = (long)(ns % UINT64_C(1000000000))};
  nanosleep(&time, NULL);
}

/* The doorbell line as this node wants it. Under bell_mutex. */
static void publish_bell(pm_pool *pool) {
  pmi_doorbell *bell = pmi_doorbell_of(pool, pool->node);
  pmi_store(&bell->wanted, pool->bell.wanted);
  pmi_store(&bell->accused, pool->bell.accused);
  pmi_store(&bell->term, pool->bell.term);
  pmi_store(&bell->steps, pool->bell.steps);
  pmi_store(&bell->beat, pool->bell.beat);
  pmi_store(&bell->sequence, pool->bell.sequence);
  pmi_publish(pool, bell, sizeof *bell);
}

void pmi_lease_open(pm_pool *pool) {
  pmi_doorbell *bell = pmi_doorbell_of(pool, pool->node);
  pmi_acquire(pool, bell, sizeof *bell);
  pool->bell.sequence = pmi_load(&bell->sequence) + 1;
  pool->bell.term = pmi_load(&bell->term) & ~UINT64_C(1);
  publish_bell(pool);
}

void pmi_show_life(pm_pool *pool) {
  if (__atomic_load_n(&pool->leased, __ATOMIC_ACQUIRE)) return;
  const uint64_t now = pmi_now_ns();
  if (now < __atomic_load_n(&pool->life_ns, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&pool->life_ns, now + pool->params.lease_ns / PMI_LEASE_BEATS, __ATOMIC_RELAXED);
  pthread_mutex_lock(&pool->bell_mutex);
  pool->bell.sequence += 1;
  publish_bell(pool);
  pthread_mutex_unlock(&pool->bell_mutex);
}

void pmi_ring(pm_pool *pool, uint32_t lock, int wanted) {
  pthread_mutex_lock(&pool->bell_mutex);
  if (wanted)
    pool->bell.wanted |= UINT64_C(1) << lock;
  else
    pool->bell.wanted &= ~(UINT64_C(1) << lock);
  pool->bell.sequence += 1;
  publish_bell(pool);
  pthread_mutex_unlock(&pool->bell_mutex);
}

void pmi_accuse(pm_pool *pool, uint64_t nodes) {
  pthread_mutex_lock(&pool->bell_mutex);
  pool->bell.accused = nodes;
  pool->bell.sequence += 1;
  publish_bell(pool);
  pthread_mutex_unlock(&pool->bell_mutex);
}

int pmi_is_fenced(const pm_pool *pool) {
  return __atomic_load_n(&pool->fenced, __ATOMIC_ACQUIRE) != 0;
}

int pmi_fenced_error(const pm_pool *pool) {
  return pmi_error(ESTALE,
                   "lease: node %u was taken for dead, others own what it held; close the pool and open it again",
                   pool->node);
}

/* Under bell_mutex. */
static int beat(pm_pool *pool) {
  const uint64_t now = pmi_now_ns();
  const pmi_verdict *verdict = pmi_verdict_of(pool, pool->node);
  pool->bell.beat += 1;
  publish_bell(pool);
  pmi_sync(pool);
  pmi_acquire(pool, verdict, sizeof *verdict);
  if (pmi_load(&verdict->dead_epoch) >= pool->claim_epoch && !PM_MUTANT_ON(fence_never)) {
    __atomic_store_n(&pool->fenced, 1, __ATOMIC_RELEASE);
    return pmi_fenced_error(pool);
  }
  __atomic_store_n(&pool->lease_from_ns, now, __ATOMIC_RELEASE);
  return 0;
}

int pmi_beat(pm_pool *pool, uint64_t term) {
  pthread_mutex_lock(&pool->bell_mutex);
  pool->bell.term = term;
  pool->bell.steps += 1;
  __atomic_store_n(&pool->leased, 1, __ATOMIC_RELEASE);
  const int rc = beat(pool);
  pthread_mutex_unlock(&pool->bell_mutex);
  return rc;
}

void pmi_lease_end(pm_pool *pool) {
  pthread_mutex_lock(&pool->bell_mutex);
  if (!pmi_is_fenced(pool)) {
    __atomic_store_n(&pool->leased, 0, __ATOMIC_RELEASE);
    pool->bell.term &= ~UINT64_C(1);
    pool->bell.beat = 0;
    pool->bell.sequence += 1;
    publish_bell(pool);
  }
  pthread_mutex_unlock(&pool->bell_mutex);
}

uint64_t pmi_lease_age_ns(pm_pool *pool) {
  return pmi_now_ns() - __atomic_load_n(&pool->lease_from_ns, __ATOMIC_ACQUIRE);
}

int pmi_fence(pm_pool *pool) {
  if (pmi_is_fenced(pool)) return pmi_fenced_error(pool);
  if (!__atomic_load_n(&pool->leased, __ATOMIC_ACQUIRE)) return 0;
  if (pmi_lease_age_ns(pool) < pool->params.lease_ns / PMI_LEASE_SELF_FENCE) return 0;
  pthread_mutex_lock(&pool->bell_mutex);
  const int rc = pool->leased ? beat(pool) : 0;
  pthread_mutex_unlock(&pool->bell_mutex);
  return rc;
}
