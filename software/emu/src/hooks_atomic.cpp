/**
 * @file hooks_atomic.cpp
 * Atomic operations, replaced whole: the compiler passes the values. In the pool a locked operation is atomic within its
 * host only, since it acts on the host's own copy; it drains the thread's pending flushes, as does a seq_cst store.
 */
#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "prismem_emu_hooks.h"
#include "trace.hpp"

using namespace prismem;

namespace {

// Memory orders as __tsan_atomic* passes them.
enum Order { kRelaxed = 0, kConsume = 1, kAcquire = 2, kRelease = 3, kAcqRel = 4, kSeqCst = 5 };

/** Consume: what the load has seen announced holds from the next acquire fence on, as with a relaxed one. */
bool acquires(int order) {
  return order == kAcquire || order >= kAcqRel;
}
/** A relaxed load may return an old value by design; any other is held against the stores that come before it. */
bool checked(int order) {
  return order != kRelaxed;
}
bool releases(int order) {
  return order >= kRelease;
}

uint64_t version_at(uint64_t address) {
  return detecting() && in_view(address) ? g_fast.meta[(address - g_fast.view) >> 3].version() : 0;
}

/** Before an atomic operation outside of the pool: only the threads of the host can tell. */
void local_step(Thread &thread) {
  thread.next_line = kLocalStep;
  count_step();
}

template <typename T>
T atomic_load(T *p, int order, uint64_t pc) {
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  if (g_fast.view_bytes == 0) return __atomic_load_n(p, __ATOMIC_SEQ_CST);
  Machine &m = *g_machine;
  if (m.exploring) spin_before(*m.current);
  if (in_any_view(address)) {
    slow_load(address, sizeof(T), pc, checked(order));
    trace(Event::kAtomicLoad, m.current->host, address - g_fast.view, sizeof(T), pc);
  } else {
    g_fast.store_armed = 0;
    local_step(*m.current);
  }
  const T value = *p;
  sync_acquire(*m.current, address, acquires(order));
  if (m.exploring) spin_seen(*m.current, address, pc, static_cast<uint64_t>(value));
  return value;
}

template <typename T>
void atomic_store(T *p, T value, int order, uint64_t pc) {
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  if (g_fast.view_bytes == 0) {
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);
    return;
  }
  Thread &thread = *g_machine->current;
  if (order == kSeqCst) drain_all(thread);
  if (in_any_view(address)) {
    slow_store(address, sizeof(T), pc);
    mark_atomic(g_machine->hosts[thread.host], address - g_fast.view, sizeof(T), false);
    trace(Event::kAtomicStore, thread.host, address - g_fast.view, sizeof(T), pc);
  } else {
    drain_for_store(thread);
    local_step(thread);
    ++g_machine->progress;
  }
  *p = value;
  thread.seen.clear();
  g_fast.store_armed = 0;
  if (releases(order)) {
    sync_release(thread, address, false, 0);
  } else {
    sync_relaxed_store(thread, address);
  }
}

/** Cause of an atomic event in the trace: it has compared before it stored. */
constexpr uint64_t kCompared = 1;

/** Read-modify-write; `apply` gives the new value, or false to leave the old one. Returns the old value. */
template <typename T, typename Apply>
T locked(T *p, int order, uint64_t pc, Apply apply, uint64_t cause = 0) {
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  Thread &thread = *g_machine->current;
  g_fast.store_armed = 0;
  if (g_machine->exploring) spin_before(thread);
  drain_all(thread);
  const bool pool = in_any_view(address);
  if (pool) {
    do {
      slow_load(address, sizeof(T), pc, checked(order));
      if (thread.pending.empty()) break;
      drain_all(thread);
    } while (true);
  } else {
    local_step(thread);
  }
  T old = *p;
  T next = old;
  const bool stores = apply(old, next);
  if (pool && !stores) trace(Event::kAtomicLoad, thread.host, address - g_fast.view, sizeof(T), pc);
  sync_acquire(thread, address, acquires(order));
  if (!stores) {
    if (g_machine->exploring) spin_seen(thread, address, pc, static_cast<uint64_t>(old));
    return old;
  }
  thread.seen.clear();
  if (!pool) ++g_machine->progress;
  const uint64_t replaced = version_at(address);
  if (pool) {
    // Nothing may come between the load and the store: what is due there happens at the next hook. The count of steps
    // goes on as ever, since logs name places by it.
    const uint64_t due = g_machine->step_target;
    if (g_fast.budget < 1) {
      g_machine->step_target += static_cast<uint64_t>(1 - g_fast.budget);
      g_fast.budget = 1;
    }
    const uint64_t later = g_machine->step_target;
    slow_store(address, sizeof(T), pc);
    mark_atomic(g_machine->hosts[thread.host], address - g_fast.view, sizeof(T), true);
    trace(Event::kAtomicUpdate, thread.host, address - g_fast.view, sizeof(T), pc, cause);
    if (g_machine->step_target == later) {
      g_fast.budget -= static_cast<int64_t>(later - due);
      g_machine->step_target = due;
    }
    g_fast.store_armed = 0;
  }
  *p = next;
  if (releases(order)) {
    sync_release(thread, address, true, replaced);
  } else {
    sync_relaxed_store(thread, address);
  }
  return old;
}

}  // namespace

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

#define RMW(BITS, T, NAME, EXPRESSION, NATIVE)                                                \
  PRISMEM_EXPORT T __tsan_atomic##BITS##_##NAME(volatile T *p, T operand, int order) {        \
    if (g_fast.view_bytes == 0) return NATIVE(const_cast<T *>(p), operand, __ATOMIC_SEQ_CST); \
    return locked<T>(const_cast<T *>(p), order, CALLER, [&](T old, T &next) {                 \
      next = static_cast<T>(EXPRESSION);                                                      \
      (void)old;                                                                              \
      return true;                                                                            \
    });                                                                                       \
  }

template <typename T>
static bool compare_exchange(T *p, T *expected, T desired, int order, uint64_t pc) {
  if (g_fast.view_bytes == 0) {
    return __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  bool success = false;
  const auto swap = [&](T value, T &next) {
    success = value == *expected;
    next = desired;
    return success;
  };
  const T old = locked<T>(p, order, pc, swap, kCompared);
  if (!success) *expected = old;
  return success;
}

#define ATOMICS(BITS, T)                                                                                              \
  PRISMEM_EXPORT T __tsan_atomic##BITS##_load(const volatile T *p, int order) {                                       \
    return atomic_load<T>(const_cast<T *>(p), order, CALLER);                                                         \
  }                                                                                                                   \
  PRISMEM_EXPORT void __tsan_atomic##BITS##_store(volatile T *p, T value, int order) {                                \
    atomic_store<T>(const_cast<T *>(p), value, order, CALLER);                                                        \
  }                                                                                                                   \
  RMW(BITS, T, exchange, operand, __atomic_exchange_n)                                                                \
  RMW(BITS, T, fetch_add, old + operand, __atomic_fetch_add)                                                          \
  RMW(BITS, T, fetch_sub, old - operand, __atomic_fetch_sub)                                                          \
  RMW(BITS, T, fetch_and, old &operand, __atomic_fetch_and)                                                           \
  RMW(BITS, T, fetch_or, old | operand, __atomic_fetch_or)                                                            \
  RMW(BITS, T, fetch_xor, old ^ operand, __atomic_fetch_xor)                                                          \
  RMW(BITS, T, fetch_nand, ~(old & operand), __atomic_fetch_nand)                                                     \
  PRISMEM_EXPORT int __tsan_atomic##BITS##_compare_exchange_strong(volatile T *p, T *expected, T desired, int order,  \
                                                                   int) {                                             \
    return compare_exchange<T>(const_cast<T *>(p), expected, desired, order, CALLER);                                 \
  }                                                                                                                   \
  PRISMEM_EXPORT int __tsan_atomic##BITS##_compare_exchange_weak(volatile T *p, T *expected, T desired, int order,    \
                                                                 int) {                                               \
    return compare_exchange<T>(const_cast<T *>(p), expected, desired, order, CALLER);                                 \
  }                                                                                                                   \
  PRISMEM_EXPORT T __tsan_atomic##BITS##_compare_exchange_val(volatile T *p, T expected, T desired, int order, int) { \
    compare_exchange<T>(const_cast<T *>(p), &expected, desired, order, CALLER);                                       \
    return expected;                                                                                                  \
  }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
__extension__ typedef unsigned __int128 uint128_t;
ATOMICS(128, uint128_t)

PRISMEM_EXPORT void __tsan_atomic_thread_fence(int order) {
  if (g_fast.view_bytes == 0) return;
  Thread &thread = *g_machine->current;
  if (acquires(order)) sync_acquire_fence(thread);
  if (order == kSeqCst) prismem_hook_mfence();
  if (releases(order)) sync_release_fence(thread);
}

PRISMEM_EXPORT void __tsan_atomic_signal_fence(int) {}
