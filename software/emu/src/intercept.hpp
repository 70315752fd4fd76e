/**
 * @file intercept.hpp
 * What the replaced calls of synchronization share. A call acts on what the emulator knows of an object, kept by its
 * address; the object itself stays untouched. Threads that the emulator does not run use the C library.
 */
#pragma once

#include <algorithm>
#include <deque>
#include <string>

#include "access.hpp"

namespace prismem {

inline bool emulated() {
  return g_fast.view_bytes != 0;
}
inline Thread &self() {
  return *g_machine->current;
}

/** Threads that wait for one object, in the order in which they came. */
using Waiters = std::deque<int>;

/** The call reaches into the pool where nobody can follow: ends the run, naming call, place and `why`. */
void refuse_pool(const char *call, const void *memory, uint64_t pc, const char *why);

/** The same for functions that move bytes past the hooks. */
void refuse_copy(const char *call, const void *memory, uint64_t pc);
/** A call that cannot be followed whatever it points to. */
void refuse_call(const char *call, const std::string &why, uint64_t pc);
/** A call that treats the pool as a file. */
void refuse_descriptor(const char *call, uint64_t pc);

/** Descriptors of the pool: far above any that the system gives out; the low bits name the host. */
inline constexpr int kPoolDescriptor = 0x50000000;
inline bool is_pool_descriptor(int fd) {
  return fd >= kPoolDescriptor && fd < kPoolDescriptor + static_cast<int>(EMU_HOSTS_MAX);
}

/** Bytes of the pool as this host sees them: up to `max`, or to a zero that is left out. */
std::string pool_string(const char *from, size_t max, uint64_t pc);
/** Copy into the pool, line by line as memcpy does. */
void pool_write(void *to, const void *from, size_t bytes, uint64_t pc);

/** Objects of the C library in the pool: what they do between hosts is not what they do within one. */
inline void refuse_shared(const char *call, const void *object, uint64_t pc) {
  refuse_pool(call, object, pc,
              "it works among the threads of one host; keep the object in the host's own memory, and between hosts use "
              "loads, stores and flushes");
}

/** Begin of a call with a locked operation in it: pending flushes take effect, and others may run. */
inline void sync_step() {
  Thread &thread = self();
  g_fast.store_armed = 0;
  drain_all(thread);
  thread.next_line = kLocalStep;
  count_step();
}

/** Wait to be woken. False: `deadline_ns` came first. */
inline bool wait_in(Waiters &waiters, const char *what, uint64_t deadline_ns = kNever) {
  Thread &thread = self();
  if (deadline_ns != kNever && deadline_ns <= now_ns()) return false;
  waiters.push_back(thread.tid);
  thread.wake_ns = deadline_ns;
  block_current(deadline_ns == kNever ? ThreadState::kBlocked : ThreadState::kSleeping, what);
  return std::erase(waiters, thread.tid) == 0;
}

inline void wake_first(Waiters &waiters) {
  if (waiters.empty()) return;
  const int next = waiters.front();
  waiters.pop_front();
  ++g_machine->progress;
  wake(*g_machine->threads[static_cast<size_t>(next)]);
}

inline void wake_all(Waiters &waiters) {
  while (!waiters.empty()) wake_first(waiters);
}

/** What this thread has done so far happens before whoever joins the clock. */
inline void clock_release(Clock &clock) {
  if (!detecting()) return;
  clock_join(clock, self().clock);
  sync_advance(self());
}
inline void clock_acquire(const Clock &clock) {
  if (detecting()) sync_join(self(), clock);
}

inline uint64_t to_ns(const struct timespec *ts) {
  return static_cast<uint64_t>(ts->tv_sec) * 1000000000ull + static_cast<uint64_t>(ts->tv_nsec);
}

/** Process numbers of the hosts' programs, and thread numbers. */
inline constexpr int kFirstProcess = 1000;

// intercept_thread.cpp, intercept_sync.cpp, intercept_cxx.cpp: their share of intercept_reset().
void threads_reset();
void sync_objects_reset();
void cxx_reset();

/** A thread of the running thread's host that calls `fn`; its number, -EAGAIN. */
int start_thread(void *(*fn)(void *), void *arg);

}  // namespace prismem
