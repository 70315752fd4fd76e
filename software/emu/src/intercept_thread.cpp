/**
 * @file intercept_thread.cpp
 * POSIX threads of a host as fibers: create, join, mutexes, condition variables. The pthread objects themselves stay
 * untouched; what the emulator knows of them is kept by address. Threads that it does not run use the C library.
 */
#include <pthread.h>

#include <cerrno>
#include <unordered_map>

#include "access.hpp"

using namespace prismem;

namespace {

struct Mutex {
  int owner = -1;
  uint32_t depth = 0;
  bool recursive = false;
  std::deque<int> waiters;
  Clock clock;
};

struct Condition {
  std::deque<int> waiters;
};

struct Start {
  void *(*fn)(void *);
  void *arg;
  void *result;
};

std::unordered_map<const void *, Mutex> g_mutexes;
std::unordered_map<const void *, Condition> g_conditions;
std::unordered_map<int, Start *> g_starts;

bool emulated() {
  return g_fast.view_bytes != 0;
}
Thread &self() {
  return *g_machine->current;
}

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

int64_t run_start(void *argument) {
  auto *start = static_cast<Start *>(argument);
  start->result = start->fn(start->arg);
  return 0;
}

void lock_mutex(Mutex &mutex) {
  Thread &thread = self();
  g_fast.store_armed = 0;
  drain_all(thread);
  count_step();
  while (mutex.owner >= 0) {
    mutex.waiters.push_back(thread.tid);
    block_current(ThreadState::kBlocked, "a mutex");
  }
  mutex.owner = thread.tid;
  mutex.depth = 1;
  if (detecting()) sync_join(thread, mutex.clock);
}

void unlock_mutex(Mutex &mutex) {
  Thread &thread = self();
  g_fast.store_armed = 0;
  drain_all(thread);
  if (detecting()) {
    mutex.clock = thread.clock;
    sync_advance(thread);
  }
  mutex.owner = -1;
  mutex.depth = 0;
  if (!mutex.waiters.empty()) {
    const int next = mutex.waiters.front();
    mutex.waiters.pop_front();
    wake(*g_machine->threads[static_cast<size_t>(next)]);
  }
  count_step();
}

int wait_on(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  const int tid = self().tid;
  unlock_mutex(g_mutexes[mutex]);
  Condition &condition = g_conditions[cond];
  condition.waiters.push_back(tid);
  block_current(ThreadState::kBlocked, "a condition");
  lock_mutex(g_mutexes[mutex]);
  return 0;
}

}  // namespace

namespace prismem {
void intercept_reset() {
  for (auto &[tid, start] : g_starts) delete start;
  g_starts.clear();
  g_mutexes.clear();
  g_conditions.clear();
}
}  // namespace prismem

PRISMEM_EXPORT int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  if (!emulated()) return pthread_mutex_init(mutex, attributes);
  Mutex fresh;
  int type = PTHREAD_MUTEX_DEFAULT;
  if (attributes != nullptr) pthread_mutexattr_gettype(attributes, &type);
  fresh.recursive = type == PTHREAD_MUTEX_RECURSIVE;
  g_mutexes[mutex] = fresh;
  return 0;
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
  Mutex &known = g_mutexes[mutex];
  if (known.owner == self().tid) {
    if (!known.recursive) return EDEADLK;
    ++known.depth;
    return 0;
  }
  lock_mutex(known);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_mutex_trylock(mutex);
  count_step();
  Mutex &known = g_mutexes[mutex];
  if (known.owner == self().tid && known.recursive) {
    ++known.depth;
    return 0;
  }
  if (known.owner >= 0) return EBUSY;
  lock_mutex(known);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (!emulated()) return pthread_mutex_unlock(mutex);
  const auto it = g_mutexes.find(mutex);
  if (it == g_mutexes.end() || it->second.owner != self().tid) return EPERM;
  if (--it->second.depth != 0) return 0;
  unlock_mutex(it->second);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes) {
  if (!emulated()) return pthread_cond_init(cond, attributes);
  g_conditions[cond] = Condition{};
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_destroy(pthread_cond_t *cond) {
  if (!emulated()) return pthread_cond_destroy(cond);
  g_conditions.erase(cond);
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  return emulated() ? wait_on(cond, mutex) : pthread_cond_wait(cond, mutex);
}

PRISMEM_EXPORT int __wrap_pthread_cond_signal(pthread_cond_t *cond) {
  if (!emulated()) return pthread_cond_signal(cond);
  Condition &known = g_conditions[cond];
  if (!known.waiters.empty()) {
    const int next = known.waiters.front();
    known.waiters.pop_front();
    wake(*g_machine->threads[static_cast<size_t>(next)]);
  }
  count_step();
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_cond_broadcast(pthread_cond_t *cond) {
  if (!emulated()) return pthread_cond_broadcast(cond);
  for (const int tid : g_conditions[cond].waiters) wake(*g_machine->threads[static_cast<size_t>(tid)]);
  g_conditions[cond].waiters.clear();
  count_step();
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*fn)(void *),
                                         void *arg) {
  if (!emulated()) return pthread_create(handle, attributes, fn, arg);
  Machine &m = *g_machine;
  if (m.threads.size() >= EMU_THREADS_MAX) return EAGAIN;
  drain_all(self());
  auto *start = new Start{fn, arg, nullptr};
  const std::string name = self().name + "." + std::to_string(m.threads.size());
  const int tid = thread_create(self().named_host, name.c_str(), run_start, start, 0);
  if (tid < 0) {
    delete start;
    return EAGAIN;
  }
  g_starts[tid] = start;
  *handle = handle_of(tid);
  count_step();
  return 0;
}

PRISMEM_EXPORT int __wrap_pthread_join(pthread_t handle, void **result) {
  if (!emulated()) return pthread_join(handle, result);
  const int tid = tid_of(handle);
  if (!known_thread(tid) || g_starts.find(tid) == g_starts.end()) return ESRCH;
  Thread &other = *g_machine->threads[static_cast<size_t>(tid)];
  drain_all(self());
  while (other.state != ThreadState::kDone) {
    other.joiners.push_back(self().tid);
    block_current(ThreadState::kBlocked, "the end of a thread");
  }
  if (detecting()) sync_join(self(), other.clock);
  if (result != nullptr) *result = g_starts[tid]->result;
  return 0;
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

PRISMEM_EXPORT int __wrap_pthread_once(pthread_once_t *once, void (*fn)(void)) {
  if (!emulated()) return pthread_once(once, fn);
  // Fibers of one operating-system thread: a plain flag is enough, and the routine may block in simulated time.
  if (*once == PTHREAD_ONCE_INIT) {
    *once = 2;
    fn();
  }
  return 0;
}
