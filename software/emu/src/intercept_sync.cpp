/**
 * @file intercept_sync.cpp
 * Read-write locks, spin locks, barriers, semaphores and once of POSIX among the threads of a host. Time-outs count the
 * machine's time.
 */
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>
#include <unordered_map>

#include "intercept.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

struct RwLock {
  int writer = -1;
  uint32_t readers = 0;
  Waiters waiters;
  Clock written, read;  ///< of those that have released it, by what they held; readers do not wait for readers
};

struct SpinLock {
  int owner = -1;
  Waiters waiters;
  Clock clock;
};

struct Barrier {
  unsigned count = 0, arrived = 0;
  Waiters waiters;
  Clock clock;
};

struct Semaphore {
  unsigned value = 0;
  Waiters waiters;
  Clock clock;
};

/** What a pthread_once_t holds: objects of this kind end without a call, so it has to be kept in them. */
constexpr pthread_once_t kOnceRunning = 1, kOnceDone = 2;

struct Once {
  Waiters waiters;
  Clock clock;
};

std::unordered_map<const void *, RwLock> g_rwlocks;
std::unordered_map<const volatile void *, SpinLock> g_spinlocks;
std::unordered_map<const void *, Barrier> g_barriers;
std::unordered_map<const void *, Semaphore> g_semaphores;
std::unordered_map<const void *, Once> g_onces;

int lock_to_read(RwLock &lock, uint64_t deadline_ns) {
  sync_step();
  if (lock.writer == self().tid) return EDEADLK;
  while (lock.writer >= 0) {
    if (!wait_in(lock.waiters, "a read-write lock", deadline_ns)) return ETIMEDOUT;
  }
  ++lock.readers;
  clock_acquire(lock.written);
  return 0;
}

int lock_to_write(RwLock &lock, uint64_t deadline_ns) {
  sync_step();
  if (lock.writer == self().tid) return EDEADLK;
  while (lock.writer >= 0 || lock.readers != 0) {
    if (!wait_in(lock.waiters, "a read-write lock", deadline_ns)) return ETIMEDOUT;
  }
  lock.writer = self().tid;
  clock_acquire(lock.written);
  clock_acquire(lock.read);
  return 0;
}

int try_result(int result) {
  return result == ETIMEDOUT || result == EDEADLK ? EBUSY : result;
}

int wait_for(Semaphore &semaphore, uint64_t deadline_ns) {
  sync_step();
  while (semaphore.value == 0) {
    if (!wait_in(semaphore.waiters, "a semaphore", deadline_ns)) {
      errno = deadline_ns == 0 ? EAGAIN : ETIMEDOUT;
      return -1;
    }
  }
  --semaphore.value;
  clock_acquire(semaphore.clock);
  return 0;
}

}  // namespace

namespace prismem {

void sync_objects_reset() {
  g_rwlocks.clear();
  g_spinlocks.clear();
  g_barriers.clear();
  g_semaphores.clear();
  g_onces.clear();
}

}  // namespace prismem

PRISMEM_EXPORT int __wrap_pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
  if (!emulated()) return pthread_rwlock_init(lock, attributes);
  refuse_shared("pthread_rwlock_init", lock, CALLER);
  g_rwlocks[lock] = RwLock{};
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_rwlock_destroy(pthread_rwlock_t *lock) {
  if (!emulated()) return pthread_rwlock_destroy(lock);
  const auto it = g_rwlocks.find(lock);
  if (it == g_rwlocks.end()) return 0;
  if (it->second.writer >= 0 || it->second.readers != 0) return EBUSY;
  g_rwlocks.erase(it);
  return 0;
}

#define RWLOCK(CALL, FORWARD, RESULT, ...)                               \
  PRISMEM_EXPORT int __wrap_##CALL(pthread_rwlock_t *lock __VA_ARGS__) { \
    if (!emulated()) return FORWARD;                                     \
    refuse_shared(#CALL, lock, CALLER);                                  \
    RwLock &known = g_rwlocks[lock];                                     \
    return RESULT;                                                       \
  }
#define AND ,
using Time = const struct timespec *;
RWLOCK(pthread_rwlock_rdlock, pthread_rwlock_rdlock(lock), lock_to_read(known, kNever))
RWLOCK(pthread_rwlock_wrlock, pthread_rwlock_wrlock(lock), lock_to_write(known, kNever))
RWLOCK(pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock(lock), try_result(lock_to_read(known, 0)))
RWLOCK(pthread_rwlock_trywrlock, pthread_rwlock_trywrlock(lock), try_result(lock_to_write(known, 0)))
RWLOCK(pthread_rwlock_timedrdlock, pthread_rwlock_timedrdlock(lock, at), lock_to_read(known, to_ns(at)), AND Time at)
RWLOCK(pthread_rwlock_timedwrlock, pthread_rwlock_timedwrlock(lock, at), lock_to_write(known, to_ns(at)), AND Time at)
RWLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_clockrdlock(lock, clock, at), lock_to_read(known, to_ns(at)),
       AND clockid_t clock AND Time at)
RWLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_clockwrlock(lock, clock, at), lock_to_write(known, to_ns(at)),
       AND clockid_t clock AND Time at)

PRISMEM_EXPORT int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock) {
  if (!emulated()) return pthread_rwlock_unlock(lock);
  RwLock &known = g_rwlocks[lock];
  if (known.writer != self().tid && known.readers == 0) return EPERM;
  sync_step();
  if (known.writer == self().tid) {
    known.writer = -1;
    clock_release(known.written);
  } else {
    --known.readers;
    clock_release(known.read);
  }
  if (known.readers == 0) wake_all(known.waiters);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_spin_init(pthread_spinlock_t *lock, int shared) {
  if (!emulated()) return pthread_spin_init(lock, shared);
  refuse_shared("pthread_spin_init", const_cast<int *>(lock), CALLER);
  g_spinlocks[lock] = SpinLock{};
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_spin_destroy(pthread_spinlock_t *lock) {
  if (!emulated()) return pthread_spin_destroy(lock);
  g_spinlocks.erase(lock);
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_spin_lock(pthread_spinlock_t *lock) {
  if (!emulated()) return pthread_spin_lock(lock);
  refuse_shared("pthread_spin_lock", const_cast<int *>(lock), CALLER);
  SpinLock &known = g_spinlocks[lock];
  sync_step();
  if (known.owner == self().tid) return EDEADLK;
  while (known.owner >= 0) wait_in(known.waiters, "a spin lock");
  known.owner = self().tid;
  clock_acquire(known.clock);
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_spin_trylock(pthread_spinlock_t *lock) {
  if (!emulated()) return pthread_spin_trylock(lock);
  refuse_shared("pthread_spin_trylock", const_cast<int *>(lock), CALLER);
  SpinLock &known = g_spinlocks[lock];
  sync_step();
  if (known.owner >= 0) return EBUSY;
  known.owner = self().tid;
  clock_acquire(known.clock);
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_spin_unlock(pthread_spinlock_t *lock) {
  if (!emulated()) return pthread_spin_unlock(lock);
  SpinLock &known = g_spinlocks[lock];
  sync_step();
  known.owner = -1;
  clock_release(known.clock);
  wake_first(known.waiters);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
                                               unsigned count) {
  if (!emulated()) return pthread_barrier_init(barrier, attributes, count);
  refuse_shared("pthread_barrier_init", barrier, CALLER);
  if (count == 0) return EINVAL;
  g_barriers[barrier] = Barrier{};
  g_barriers[barrier].count = count;
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_barrier_destroy(pthread_barrier_t *barrier) {
  if (!emulated()) return pthread_barrier_destroy(barrier);
  g_barriers.erase(barrier);
  return 0;
}
PRISMEM_EXPORT int __wrap_pthread_barrier_wait(pthread_barrier_t *barrier) {
  if (!emulated()) return pthread_barrier_wait(barrier);
  refuse_shared("pthread_barrier_wait", barrier, CALLER);
  Barrier &known = g_barriers[barrier];
  sync_step();
  if (known.count == 0) return EINVAL;
  clock_release(known.clock);
  if (++known.arrived == known.count) {
    known.arrived = 0;
    clock_acquire(known.clock);
    wake_all(known.waiters);
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  wait_in(known.waiters, "a barrier");
  clock_acquire(known.clock);
  return 0;
}

PRISMEM_EXPORT int __wrap_sem_init(sem_t *semaphore, int shared, unsigned value) {
  if (!emulated()) return sem_init(semaphore, shared, value);
  refuse_shared("sem_init", semaphore, CALLER);
  g_semaphores[semaphore] = Semaphore{};
  g_semaphores[semaphore].value = value;
  return 0;
}
PRISMEM_EXPORT int __wrap_sem_destroy(sem_t *semaphore) {
  if (!emulated()) return sem_destroy(semaphore);
  g_semaphores.erase(semaphore);
  return 0;
}
PRISMEM_EXPORT int __wrap_sem_wait(sem_t *semaphore) {
  if (!emulated()) return sem_wait(semaphore);
  refuse_shared("sem_wait", semaphore, CALLER);
  return wait_for(g_semaphores[semaphore], kNever);
}
PRISMEM_EXPORT int __wrap_sem_trywait(sem_t *semaphore) {
  if (!emulated()) return sem_trywait(semaphore);
  refuse_shared("sem_trywait", semaphore, CALLER);
  return wait_for(g_semaphores[semaphore], 0);
}
PRISMEM_EXPORT int __wrap_sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
  if (!emulated()) return sem_timedwait(semaphore, deadline);
  refuse_shared("sem_timedwait", semaphore, CALLER);
  return wait_for(g_semaphores[semaphore], to_ns(deadline));
}
PRISMEM_EXPORT int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
  if (!emulated()) return sem_clockwait(semaphore, clock, deadline);
  refuse_shared("sem_clockwait", semaphore, CALLER);
  return wait_for(g_semaphores[semaphore], to_ns(deadline));
}
PRISMEM_EXPORT int __wrap_sem_post(sem_t *semaphore) {
  if (!emulated()) return sem_post(semaphore);
  refuse_shared("sem_post", semaphore, CALLER);
  Semaphore &known = g_semaphores[semaphore];
  sync_step();
  ++known.value;
  clock_release(known.clock);
  wake_first(known.waiters);
  return 0;
}
PRISMEM_EXPORT int __wrap_sem_getvalue(sem_t *semaphore, int *value) {
  if (!emulated()) return sem_getvalue(semaphore, value);
  refuse_shared("sem_getvalue", semaphore, CALLER);
  sync_step();
  *value = static_cast<int>(g_semaphores[semaphore].value);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_once(pthread_once_t *once, void (*fn)(void)) {
  if (!emulated()) return pthread_once(once, fn);
  Once &known = g_onces[once];
  if (*once == PTHREAD_ONCE_INIT) {
    *once = kOnceRunning;
    known.clock.clear();
    fn();
    *once = kOnceDone;
    clock_release(known.clock);
    wake_all(known.waiters);
    return 0;
  }
  while (*once == kOnceRunning) wait_in(known.waiters, "a routine that runs once");
  clock_acquire(known.clock);
  return 0;
}
