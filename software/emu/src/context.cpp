/**
 * @file context.cpp
 * Entering and leaving a thread: what of it the hooks see in `g_fast`, errno, and the counters of its hits.
 */
#include <cxxabi.h>

#include <cerrno>

#include "access.hpp"

namespace prismem {

namespace {

/** Fibers share one thread of the system, so its exceptions are exchanged with them. */
Exceptions &exceptions_here() {
  thread_local Exceptions *const here = reinterpret_cast<Exceptions *>(abi::__cxa_get_globals());
  return *here;
}

}  // namespace

/** Add the hits of the running thread to its host and remember where it was. */
void fold_counters(Thread &thread) {
  Machine &m = *g_machine;
  HostCounters &count = m.hosts[thread.host].count;
  count.loads += g_fast.loads;
  count.stores += g_fast.stores;
  g_fast.loads = g_fast.stores = 0;
  thread.last_offset = g_fast.last_offset;
  thread.last_pc = g_fast.last_pc;
  const uint64_t steps = steps_now();
  if (m.rtl) thread.debt_ps += (steps - thread.step_mark) * m.cfg.access_ps;
  thread.steps += steps - thread.step_mark;
  thread.step_mark = steps;
}

void load_context(Thread &thread) {
  Machine &m = *g_machine;
  Host &host = m.hosts[thread.host];
  m.current = &thread;
  g_fast.view = reinterpret_cast<uint64_t>(host.view);
  g_fast.view_bytes = m.cfg.pool_bytes;
  g_fast.state = host.state;
  g_fast.dirty = host.dirty;
  g_fast.meta = host.meta;
  g_fast.newest = m.newest;
  g_fast.sharers = m.sharers;
  g_fast.others = ~(1ull << host.id);
  g_fast.all_views = reinterpret_cast<uint64_t>(m.hosts[0].view);
  g_fast.all_views_bytes = m.view_stride * m.hosts.size();
  g_fast.last_offset = thread.last_offset;
  g_fast.last_pc = thread.last_pc;
  g_fast.store_armed = 0;
  g_fast.crash_armed = host.crash_at != 0;
  g_fast.actor = thread.actor;
  g_fast.epoch = thread.clock[thread.actor];
  thread.step_mark = steps_now();
  if (m.chooser->by_thread()) arm_budget(thread.step_mark);
  update_gate(thread);
  errno = thread.saved_errno;
  exceptions_here() = thread.exceptions;
}

void clear_context() {
  g_machine->current = nullptr;
  g_fast.view_bytes = 0;
  g_fast.crash_armed = 0;
  g_fast.all_views_bytes = 0;
  g_fast.store_armed = 0;
}

void switch_to(Thread *next) {
  Machine &m = *g_machine;
  Thread &self = *m.current;
  if (next == &self) return;
  fold_counters(self);
  self.saved_errno = errno;
  self.exceptions = exceptions_here();
  ++m.switches;
  if (next != nullptr) {
    note(Decision::kSwitch, static_cast<uint64_t>(self.tid), static_cast<uint64_t>(next->tid), now_ns(), nullptr);
    load_context(*next);
    next->fiber.enter(self.fiber);
  } else {
    clear_context();
    m.main_context.enter(self.fiber);
  }
  load_context(self);
}

void context_suspend() {
  Thread &self = *g_machine->current;
  fold_counters(self);
  self.saved_errno = errno;
  self.exceptions = exceptions_here();
  clear_context();
}

void context_resume(Thread &thread) {
  load_context(thread);
}

void enter_thread(Thread &thread) {
  Machine &m = *g_machine;
  load_context(thread);
  thread.fiber.enter(m.main_context);
}

}  // namespace prismem
