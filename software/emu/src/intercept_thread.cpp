/**
 * @file intercept_thread.cpp
 * POSIX threads of a host as fibers: create, join, exit, values of their own, mutexes, condition variables. Time-outs count
 * the machine's time.
 */
#include <pthread.h>

#include <cerrno>
#include <unordered_map>

#include "intercept.hpp"
#include "program.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

struct Mutex {
  int owner = -1;
  uint32_t depth = 0;
  bool recursive = false;
  Waiters waiters;
  Clock clock;
};

struct Start {
  void *(*fn)(void *);
  void *arg;
  void *result;
};

struct Key {
  void (*destroy)(void *) = nullptr;
  bool used = false;
};

constexpr size_t kKeysMax = 128;

std::unordered_map<const void *, Mutex> g_mutexes;
std::unordered_map<const void *, Waiters> g_conditions;
std::unordered_map<int, Start *> g_starts;
Key g_keys[kKeysMax];
std::map<std::pair<int, pthread_key_t>, void *> g_values;  ///< by thread and key

/** pthread_t of an emulated thread: never a valid one of the system. */
pthread_t handle_of(int tid) {
  return static_cast<pthread_t>(tid) + 1;
}
int tid_of(pthread_t handle) {
  return static_cast<int>(handle) - 1;
}
bool known_thread(int tid) {
  return tid >= 0 && static_cast<size_t>(tid) < g_machine->threads.size();
}

/** Destructors of the running thread's values; they may set further values, so several rounds. */
void destroy_values() {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    bool any = false;
    for (pthread_key_t key = 0; key < kKeysMax; ++key) {
      const auto it = g_values.find({self().tid, key});
      if (it == g_values.end() || it->second == nullptr || g_keys[key].destroy == nullptr) continue;
      void *value = it->second;
      it->second = nullptr;
      any = true;
      g_keys[key].destroy(value);
    }
    if (!any) return;
  }
}

int64_t run_start(void *argument) {
  auto *start = static_cast<Start *>(argument);
  start->result = start->fn(start->arg);
  destroy_values();
  return 0;
}

/** What is known of a mutex; one that was initialized statically is met here first. */
Mutex &known_mutex(const pthread_mutex_t *mutex) {
  const auto [it, fresh] = g_mutexes.try_emplace(mutex);
  if (fresh) it->second.recursive = (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
  return it->second;
}

int lock_mutex(Mutex &mutex, uint64_t deadline_ns) {
  Thread &thread = self();
  sync_step();
  if (mutex.owner == thread.tid) {
    if (!mutex.recursive) return EDEADLK;
    ++mutex.depth;
    return 0;
  }
  while (mutex.owner >= 0) {
    if (!wait_in(mutex.waiters, "a mutex", deadline_ns)) return ETIMEDOUT;
  }
  mutex.owner = thread.tid;
  mutex.depth = 1;
  clock_acquire(mutex.clock);
  return 0;
}

void unlock_mutex(Mutex &mutex) {
  sync_step();
  clock_release(mutex.clock);
  mutex.owner = -1;
  mutex.depth = 0;
  wake_first(mutex.waiters);
}

int wait_on(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns) {
  Mutex &known = known_mutex(mutex);
  if (known.owner != self().tid) return EPERM;
  Waiters &waiters = g_conditions[cond];
  const uint32_t depth = known.depth;
  sync_step();
  clock_release(known.clock);
  known.owner = -1;  // from here to the wait nothing else runs: no signal is missed
  wake_first(known.waiters);
  const bool woken = wait_in(waiters, "a condition", deadline_ns);
  lock_mutex(known, kNever);
  known.depth = depth;
  return woken ? 0 : ETIMEDOUT;
}

}  // namespace

namespace prismem {

void intercept_reset() {
  threads_reset();
  sync_objects_reset();
  cxx_reset();
}

void threads_reset() {
  for (auto &[tid, start] : g_starts) delete start;
  g_starts.clear();
  g_mutexes.clear();
  g_conditions.clear();
  g_values.clear();
  std::fill(std::begin(g_keys), std::end(g_keys), Key{});
}

int start_thread(void *(*fn)(void *), void *arg) {
  Machine &m = *g_machine;
  if (m.threads.size() >= EMU_THREADS_MAX) return -EAGAIN;
  drain_all(self());
  auto *start = new Start{fn, arg, nullptr};
  const std::string name = self().name + "." + std::to_string(m.threads.size());
  const int tid = thread_create(self().named_host, name.c_str(), run_start, start, 0);
  if (tid < 0) {
    delete start;
    return -EAGAIN;
  }
  g_starts[tid] = start;
  sync_step();
  return tid;
}

}  // namespace prismem

PRISMEM_EXPORT int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  if (!emulated()) return pthread_mutex_init(mutex, attributes);
  refuse_shared("pthread_mutex_init", mutex, CALLER);
  g_mutexes.erase(mutex);
  return pthread_mutex_init(mutex, attributes);  // its kind is read when it is first locked
}

PRISMEM_EXPORT int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_mutex_destroy(mutex);
  const auto it = g_mutexes.find(mutex);
  if (it == g_mutexes.end()) return 0;
  if (it->second.owner >= 0) return EBUSY;
  g_mutexes.erase(it);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_mutex_lock(mutex);
  refuse_shared("pthread_mutex_lock", mutex, CALLER);
  return lock_mutex(known_mutex(mutex), kNever);
}

PRISMEM_EXPORT int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline) {
  if (!emulated()) return pthread_mutex_timedlock(mutex, deadline);
  refuse_shared("pthread_mutex_timedlock", mutex, CALLER);
  return lock_mutex(known_mutex(mutex), to_ns(deadline));
}

PRISMEM_EXPORT int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                                  const struct timespec *deadline) {
  if (!emulated()) return pthread_mutex_clocklock(mutex, clock, deadline);
  refuse_shared("pthread_mutex_clocklock", mutex, CALLER);
  return lock_mutex(known_mutex(mutex), to_ns(deadline));
}

PRISMEM_EXPORT int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_mutex_trylock(mutex);
  refuse_shared("pthread_mutex_trylock", mutex, CALLER);
  Mutex &known = known_mutex(mutex);
  const int result = lock_mutex(known, 0);
  return result == ETIMEDOUT || result == EDEADLK ? EBUSY : result;
}

PRISMEM_EXPORT int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_mutex_unlock(mutex);
  const auto it = g_mutexes.find(mutex);
  if (it == g_mutexes.end() || it->second.owner != self().tid) return EPERM;
  if (--it->second.depth == 0) unlock_mutex(it->second);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes) {
  if (!emulated()) return pthread_cond_init(cond, attributes);
  refuse_shared("pthread_cond_init", cond, CALLER);
  g_conditions[cond].clear();
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_destroy(pthread_cond_t *cond) {
  if (!emulated()) return pthread_cond_destroy(cond);
  g_conditions.erase(cond);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_cond_wait(cond, mutex);
  refuse_shared("pthread_cond_wait", cond, CALLER);
  return wait_on(cond, mutex, kNever);
}

PRISMEM_EXPORT int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                                 const struct timespec *deadline) {
  if (!emulated()) return pthread_cond_timedwait(cond, mutex, deadline);
  refuse_shared("pthread_cond_timedwait", cond, CALLER);
  return wait_on(cond, mutex, to_ns(deadline));
}

PRISMEM_EXPORT int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                                 const struct timespec *deadline) {
  if (!emulated()) return pthread_cond_clockwait(cond, mutex, clock, deadline);
  refuse_shared("pthread_cond_clockwait", cond, CALLER);
  return wait_on(cond, mutex, to_ns(deadline));
}

PRISMEM_EXPORT int __wrap_pthread_cond_signal(pthread_cond_t *cond) {
  if (!emulated()) return pthread_cond_signal(cond);
  refuse_shared("pthread_cond_signal", cond, CALLER);
  sync_step();
  wake_first(g_conditions[cond]);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_broadcast(pthread_cond_t *cond) {
  if (!emulated()) return pthread_cond_broadcast(cond);
  refuse_shared("pthread_cond_broadcast", cond, CALLER);
  sync_step();
  wake_all(g_conditions[cond]);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*fn)(void *),
                                         void *arg) {
  if (!emulated()) return pthread_create(handle, attributes, fn, arg);
  const int tid = start_thread(fn, arg);
  if (tid < 0) return -tid;
  *handle = handle_of(tid);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_join(pthread_t handle, void **result) {
  if (!emulated()) return pthread_join(handle, result);
  const int tid = tid_of(handle);
  if (!known_thread(tid) || g_starts.find(tid) == g_starts.end()) return ESRCH;
  if (tid == self().tid) return EDEADLK;
  Thread &other = *g_machine->threads[static_cast<size_t>(tid)];
  drain_all(self());
  while (other.state != ThreadState::kDone) {
    other.joiners.push_back(self().tid);
    block_current(ThreadState::kBlocked, "the end of a thread");
  }
  clock_acquire(other.clock);
  if (result != nullptr) *result = g_starts[tid]->result;
  return 0;
}

PRISMEM_EXPORT void __wrap_pthread_exit(void *result) {
  if (!emulated()) pthread_exit(result);
  destroy_values();
  const auto it = g_starts.find(self().tid);
  if (it != g_starts.end()) it->second->result = result;
  thread_return(0);
}

PRISMEM_EXPORT int __wrap_pthread_detach(pthread_t handle) {
  if (!emulated()) return pthread_detach(handle);
  return known_thread(tid_of(handle)) ? 0 : ESRCH;
}

PRISMEM_EXPORT pthread_t __wrap_pthread_self(void) {
  return emulated() ? handle_of(self().tid) : pthread_self();
}
PRISMEM_EXPORT int __wrap_pthread_equal(pthread_t a, pthread_t b) {
  return a == b;
}

PRISMEM_EXPORT int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) {
  if (!emulated()) return pthread_key_create(key, destroy);
  for (pthread_key_t i = 0; i < kKeysMax; ++i) {
    if (g_keys[i].used) continue;
    g_keys[i] = {destroy, true};
    *key = i;
    return 0;
  }
  return EAGAIN;
}

PRISMEM_EXPORT int __wrap_pthread_key_delete(pthread_key_t key) {
  if (!emulated()) return pthread_key_delete(key);
  if (key >= kKeysMax || !g_keys[key].used) return EINVAL;
  g_keys[key] = Key{};
  std::erase_if(g_values, [&](const auto &value) { return value.first.second == key; });
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
  if (!emulated()) return pthread_setspecific(key, value);
  if (key >= kKeysMax || !g_keys[key].used) return EINVAL;
  g_values[{self().tid, key}] = const_cast<void *>(value);
  return 0;
}

PRISMEM_EXPORT void *__wrap_pthread_getspecific(pthread_key_t key) {
  if (!emulated()) return pthread_getspecific(key);
  const auto it = g_values.find({self().tid, key});
  return it == g_values.end() ? nullptr : it->second;
}
