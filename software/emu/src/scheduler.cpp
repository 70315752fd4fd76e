/**
 * @file scheduler.cpp
 * Which thread runs. Everything happens on one operating-system thread: on the functional port a thread that gives up
 * the processor enters its successor directly, on the RTL port it returns to the hardware's tick.
 */
#include <algorithm>
#include <cerrno>

#include "access.hpp"
#include "port.hpp"

namespace prismem {

namespace {

/** Functional port: simulated ns that one poll takes beyond its step. */
constexpr uint64_t kPollNs = 15;
/** Polls, by all threads, between two retirements that time alone brings about. */
constexpr uint64_t kPollsPerRetirement = 32;
/** The random policy lets the caches act at one in so many polls. */
constexpr uint64_t kPollEventOdds = 3;
/** One in so many polls may go on at once although others are ready. */
constexpr uint64_t kPollAgainOdds = 4;

void wake_sleepers() {
  Machine &m = *g_machine;
  const uint64_t now = now_ns();
  for (auto &thread : m.threads) {
    if (thread->state == ThreadState::kSleeping && thread->wake_ns <= now) wake(*thread);
  }
}

void unready(const Thread &thread) {
  std::erase(g_machine->ready, thread.tid);
}

/** Nobody is ready on the functional port: time goes to the next sleeper or delayed event. Ends the run if none. */
void advance_time() {
  Machine &m = *g_machine;
  while (m.ready.empty()) {
    for (Host &host : m.hosts) {
      if (host.dma_active != 0) dma_progress(host, 1 + static_cast<uint32_t>(m.rng.below(kDmaLinesInFlight)));
    }
    const uint64_t next = earliest_wake();
    if (next != kNever) {
      const uint64_t now = now_ns();
      if (next > now) m.now_ns += next - now;
      wake_sleepers();
      continue;
    }
    report_end("deadlock", "deadlock: no thread can ever run again\n");
    end_run(EMU_DEADLOCK);
    return;
  }
}

void fiber_main(void *argument) {
  Thread &thread = *static_cast<Thread *>(argument);
  const int64_t status = thread.external != nullptr ? external_body(thread) : thread.fn(thread.arg);
  thread_return(status);
}

}  // namespace

void report_end(const char *kind, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.time_ns = now_ns();
  fault.message = std::move(message) + waiting_report();
  blame_waiting(fault);
  g_machine->faults.push_back(std::move(fault));
}

void reschedule(bool to_other) {
  Machine &m = *g_machine;
  wake_sleepers();
  if (m.ready.empty()) advance_time();
  Thread &self = *m.current;
  size_t index = m.rng.below(m.ready.size());
  if (to_other && m.ready.size() > 1 && m.ready[index] == self.tid) index = (index + 1) % m.ready.size();
  switch_to(m.threads[static_cast<size_t>(m.ready[index])].get());
}

uint64_t now_ns() {
  const Machine &m = *g_machine;
  if (!m.rtl) return m.now_ns + steps_now();
  if (m.current == nullptr) return m.now_ns;
  return m.now_ns + (m.current->debt_ps + (steps_now() - m.current->step_mark) * m.cfg.access_ps) / 1000;
}

int thread_create(uint32_t host, const char *name, emu_thread_fn fn, void *arg, uint32_t flags) {
  Machine &m = *g_machine;
  auto thread = std::make_unique<Thread>();
  thread->tid = static_cast<int>(m.threads.size());
  thread->named_host = host;
  thread->host = m.cfg.coherent ? 0 : host;
  thread->name = name != nullptr && *name != 0 ? name : "thread" + std::to_string(thread->tid);
  thread->fn = fn;
  thread->arg = arg;
  thread->flags = flags;
  thread->actor = static_cast<uint32_t>(m.hosts.size()) + static_cast<uint32_t>(thread->tid);
  thread->clock.assign(thread->actor + 1, 0);
  thread->clock[thread->actor] = 1;
  if (!thread->fiber.create(fiber_main, thread.get())) return -ENOMEM;
  if (m.current != nullptr && detecting()) sync_fork(*m.current, *thread);
  if (flags & EMU_THREAD_AFTER_CRASH) {
    thread->state = ThreadState::kBlocked;
    thread->wait_for = "the crash of its host";
  } else {
    m.live += (flags & EMU_THREAD_DAEMON) == 0;
    m.ready.push_back(thread->tid);
  }
  const int tid = thread->tid;
  m.threads.push_back(std::move(thread));
  return tid;
}

void block_current(ThreadState state, const char *wait_for) {
  Machine &m = *g_machine;
  Thread &self = *m.current;
  self.state = state;
  self.wait_for = wait_for;
  unready(self);
  if (m.rtl) {
    switch_to(nullptr);
  } else {
    reschedule(false);
  }
}

void wake(Thread &thread) {
  if (thread.state == ThreadState::kReady || thread.state == ThreadState::kDone) return;
  thread.state = ThreadState::kReady;
  g_machine->ready.push_back(thread.tid);
}

void sleep_until(uint64_t wake_at) {
  Machine &m = *g_machine;
  if (m.rtl) realise_debt(0);
  m.current->wake_ns = wake_at;
  block_current(ThreadState::kSleeping, "time");
}

bool realise_debt(uint64_t extra_ns) {
  Machine &m = *g_machine;
  Thread &self = *m.current;
  fold_counters(self);
  const uint64_t ns = self.debt_ps / 1000 + extra_ns;
  self.debt_ps %= 1000;
  if (ns == 0) return false;
  self.wake_ns = m.now_ns + ns;
  block_current(ThreadState::kSleeping, "time");
  return true;
}

void poll_once() {
  Machine &m = *g_machine;
  Thread &self = *m.current;
  g_fast.store_armed = 0;
  ++self.polls;
  count_step();
  if (++m.idle_polls % kPollsPerRetirement == 0) {
    retire_one();
    m.port->progress();
  }
  if (m.cfg.policy == EMU_POLICY_RANDOM && m.cfg.event_every != 0 && m.rng.one_in(kPollEventOdds)) cache_event();
  if (m.rtl) {
    realise_debt(std::max<uint64_t>(m.cfg.pause_ns, 1));
    return;
  }
  m.now_ns += kPollNs;
  for (Host &host : m.hosts) {
    if (host.dma_active != 0 && m.rng.one_in(2)) dma_progress(host, 1 + static_cast<uint32_t>(m.rng.below(8)));
  }
  reschedule(!m.rng.one_in(kPollAgainOdds));
}

void end_run(int state) {
  Machine &m = *g_machine;
  if (m.state == EMU_RUNNING) {
    m.state = state;
    note(Decision::kEnd, static_cast<uint64_t>(state), now_ns(), steps_now(), nullptr);
  }
  if (m.current == nullptr) return;
  unready(*m.current);
  switch_to(nullptr);
  __builtin_unreachable();
}

void thread_return(int64_t status) {
  Machine &m = *g_machine;
  Thread &self = *m.current;
  self.status = status;
  self.state = ThreadState::kDone;
  if (status != 0 && !(self.flags & EMU_THREAD_DAEMON)) {
    Fault fault = fault_here("thread", kNever, 0);
    fault.message = "thread " + std::to_string(self.tid) + " (" + self.name + ") of host " +
                    std::to_string(self.named_host) + " returned " + std::to_string(status);
    blame_failed(fault, self);
    m.faults.push_back(std::move(fault));
    end_run(EMU_FAILED);
  }
  m.live -= (self.flags & EMU_THREAD_DAEMON) == 0;
  unready(self);
  for (const int tid : self.joiners) wake(*m.threads[static_cast<size_t>(tid)]);
  if (m.live == 0 && !m.rtl) {
    fold_counters(self);
    final_writebacks();
    end_run(EMU_DONE);
  }
  if (m.rtl) {
    switch_to(nullptr);
  } else {
    reschedule(false);
  }
  __builtin_unreachable();
}

uint64_t earliest_wake() {
  uint64_t next = kNever;
  for (const auto &thread : g_machine->threads) {
    if (thread->state == ThreadState::kSleeping) next = std::min(next, thread->wake_ns);
  }
  return next;
}

void run_due_threads() {
  Machine &m = *g_machine;
  if (!m.started) {
    m.started = true;
    arm_budget(0);
  }
  wake_sleepers();
  while (!m.ready.empty() && m.state == EMU_RUNNING) {
    const auto next = std::min_element(m.ready.begin(), m.ready.end());
    Thread &thread = *m.threads[static_cast<size_t>(*next)];
    note(Decision::kSwitch, static_cast<uint64_t>(thread.tid), 0, m.now_ns, nullptr);
    ++m.switches;
    enter_thread(thread);
  }
}

void final_writebacks() {
  Machine &m = *g_machine;
  if (m.finished) return;
  m.finished = true;
  for (auto &thread : m.threads) commit_all_pending(*thread);
  while (m.port->progress()) {
  }
  std::vector<size_t> order(m.hosts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[m.rng.below(i)]);
  for (const size_t index : order) {
    Host &host = m.hosts[index];
    const std::vector<uint64_t> lines = host.lines;
    for (const uint64_t line : lines) write_back(host, line, nullptr);
    while (m.port->progress()) {
    }
  }
}

int run_functional() {
  Machine &m = *g_machine;
  m.started = true;
  arm_budget(0);
  if (m.live == 0) {
    m.state = EMU_DONE;
    return m.state;
  }
  const size_t index = m.rng.below(m.ready.size());
  enter_thread(*m.threads[static_cast<size_t>(m.ready[index])]);
  externals_cancel();
  return m.state;
}

}  // namespace prismem
