/**
 * @file hooks.cpp
 * What the compiler's instrumentation and prismem_hooks.h call: plain accesses, flushes, fences, streaming stores.
 */
#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "prismem_emu_hooks.h"
#include "trace.hpp"
#include "verbs.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define ADDRESS(p) reinterpret_cast<uint64_t>(p)

#define PLAIN_HOOKS(N)                           \
  PRISMEM_EXPORT void __tsan_read##N(void *p) {  \
    hook_load<N>(ADDRESS(p), CALLER);            \
  }                                              \
  PRISMEM_EXPORT void __tsan_write##N(void *p) { \
    hook_store<N>(ADDRESS(p), CALLER);           \
  }
PLAIN_HOOKS(1)
PLAIN_HOOKS(2)
PLAIN_HOOKS(4)
PLAIN_HOOKS(8)

#define WIDE_HOOKS(NAME, BYTES)                              \
  PRISMEM_EXPORT void __tsan_##NAME##read##BYTES(void *p) {  \
    slow_load(ADDRESS(p), BYTES, CALLER, true);              \
  }                                                          \
  PRISMEM_EXPORT void __tsan_##NAME##write##BYTES(void *p) { \
    slow_store(ADDRESS(p), BYTES, CALLER);                   \
  }
// 16-byte moves and everything called unaligned may straddle lines.
WIDE_HOOKS(, 16)
WIDE_HOOKS(unaligned_, 2)
WIDE_HOOKS(unaligned_, 4)
WIDE_HOOKS(unaligned_, 8)
WIDE_HOOKS(unaligned_, 16)

/** Volatile accesses are synchronization, as in the code that people write for such memory; also outside of the pool. */
static void volatile_load(uint64_t address, uint64_t bytes, uint64_t pc) {
  if (g_fast.view_bytes == 0) return;
  Machine &m = *g_machine;
  if (m.exploring) spin_before(*m.current);
  const bool pool = in_view(address);
  if (pool) {
    slow_load(address, bytes, pc, true);
    trace(Event::kAtomicLoad, m.current->host, address - g_fast.view, bytes, pc);
  } else if (in_any_view(address)) {
    foreign_access(address, pc);
  } else {
    count_step();
  }
  sync_acquire(*m.current, address, true);
  if (!m.exploring) return;
  uint64_t value = 0;
  if (pool) memcpy(&value, reinterpret_cast<const void *>(address), std::min<uint64_t>(bytes, sizeof value));
  spin_seen(*m.current, address, pc, value);
}

static void volatile_store(uint64_t address, uint64_t bytes, uint64_t pc) {
  if (g_fast.view_bytes == 0) return;
  if (in_view(address)) {
    slow_store(address, bytes, pc);
    mark_atomic(g_machine->hosts[g_machine->current->host], address - g_fast.view, bytes, false);
    trace(Event::kAtomicStore, g_machine->current->host, address - g_fast.view, bytes, pc);
  } else if (in_any_view(address)) {
    foreign_access(address, pc);
  } else {
    drain_for_store(*g_machine->current);
    count_step();
  }
  g_machine->current->seen.clear();
  sync_release(*g_machine->current, address, false, 0);
}

#define VOLATILE_HOOKS(BYTES)                                           \
  PRISMEM_EXPORT void __tsan_volatile_read##BYTES(void *p) {            \
    volatile_load(ADDRESS(p), BYTES, CALLER);                           \
  }                                                                     \
  PRISMEM_EXPORT void __tsan_volatile_write##BYTES(void *p) {           \
    volatile_store(ADDRESS(p), BYTES, CALLER);                          \
  }                                                                     \
  PRISMEM_EXPORT void __tsan_unaligned_volatile_read##BYTES(void *p) {  \
    volatile_load(ADDRESS(p), BYTES, CALLER);                           \
  }                                                                     \
  PRISMEM_EXPORT void __tsan_unaligned_volatile_write##BYTES(void *p) { \
    volatile_store(ADDRESS(p), BYTES, CALLER);                          \
  }
VOLATILE_HOOKS(1)
VOLATILE_HOOKS(2)
VOLATILE_HOOKS(4)
VOLATILE_HOOKS(8)
VOLATILE_HOOKS(16)

PRISMEM_EXPORT void __tsan_read_range(void *p, unsigned long bytes) {
  slow_load(ADDRESS(p), bytes, CALLER, true);
}
PRISMEM_EXPORT void __tsan_write_range(void *p, unsigned long bytes) {
  slow_store(ADDRESS(p), bytes, CALLER);
}
PRISMEM_EXPORT void prismem_hook_load(const void *p, unsigned long bytes) {
  slow_load(ADDRESS(p), bytes, CALLER, true);
}
PRISMEM_EXPORT void prismem_hook_store(void *p, unsigned long bytes) {
  slow_store(ADDRESS(p), bytes, CALLER);
}
PRISMEM_EXPORT void __tsan_vptr_update(void **p, void *) {
  hook_store<8>(ADDRESS(p), CALLER);
}
PRISMEM_EXPORT void __tsan_vptr_read(void **p) {
  hook_load<8>(ADDRESS(p), CALLER);
}
PRISMEM_EXPORT void __tsan_func_entry(void *) {}
PRISMEM_EXPORT void __tsan_func_exit(void) {}
PRISMEM_EXPORT void __tsan_init(void) {}

PRISMEM_EXPORT void prismem_hook_clflush(const void *p) {
  issue_flush(PendingKind::kFlush, ADDRESS(p), CALLER);
}
PRISMEM_EXPORT void prismem_hook_clflushopt(const void *p) {
  issue_flush(PendingKind::kFlushOpt, ADDRESS(p), CALLER);
}
PRISMEM_EXPORT void prismem_hook_clwb(const void *p) {
  issue_flush(PendingKind::kWriteBack, ADDRESS(p), CALLER);
}
PRISMEM_EXPORT void prismem_hook_sfence(void) {
  issue_store_fence(CALLER);
}
PRISMEM_EXPORT void prismem_hook_lfence(void) {
  g_fast.store_armed = 0;
}

PRISMEM_EXPORT void prismem_hook_mfence(void) {
  if (g_fast.view_bytes == 0) return;
  Thread &thread = *g_machine->current;
  if (!verb_acts(VerbKind::kFullFence, CALLER, thread.pending.empty() && thread.writes_in_flight == 0)) return;
  g_fast.store_armed = 0;
  crash_point();
  thread.next_line = kNever;
  count_step();
  ++g_machine->hosts[thread.host].count.fences;
  trace(Event::kFullFence, thread.host, kNever, 0, CALLER);
  drain_all(thread);
}

PRISMEM_EXPORT void prismem_hook_pause(void) {
  if (g_fast.view_bytes != 0) poll_once();
}

PRISMEM_EXPORT void prismem_hook_prefetch(const void *p) {
  if (!in_view(ADDRESS(p))) return;
  Host &host = g_machine->hosts[g_machine->current->host];
  const uint64_t line = (ADDRESS(p) - g_fast.view) >> kLineShift;
  note_use(host, line);
  prefetch_line(host, line);
}

PRISMEM_EXPORT void prismem_hook_stream(void *p, const void *data, unsigned long bytes) {
  if (in_view(ADDRESS(p))) {
    issue_stream(ADDRESS(p), data, static_cast<uint32_t>(bytes), CALLER);
    return;
  }
  if (in_any_view(ADDRESS(p))) foreign_access(ADDRESS(p), CALLER);
  memcpy(p, data, bytes);
}

PRISMEM_EXPORT void prismem_hook_movdir64b(void *p, const void *source) {
  alignas(64) uint8_t line[kLineBytes];
  if (in_view(ADDRESS(source))) slow_load(ADDRESS(source), kLineBytes, CALLER, true);
  g_fast.store_armed = 0;
  memcpy(line, source, kLineBytes);
  if (in_view(ADDRESS(p))) {
    if (ADDRESS(p) % kLineBytes != 0) {
      Fault fault = fault_here("check", ADDRESS(p) - g_fast.view, CALLER);
      fault.message = "movdir64b to an address that is not a multiple of 64 at \1";
      raise_fault(std::move(fault));
      end_run(EMU_FAULT);
    }
    issue_stream(ADDRESS(p), line, kLineBytes, CALLER);
    return;
  }
  if (in_any_view(ADDRESS(p))) foreign_access(ADDRESS(p), CALLER);
  memcpy(p, line, kLineBytes);
}

PRISMEM_EXPORT unsigned long long prismem_hook_rdtsc(void) {
  return g_machine == nullptr ? 0 : now_ns();
}
