/**
 * @file scheduler.cpp
 * Which thread runs. Everything happens on one operating-system thread: on the functional port a thread that gives up
 * the processor enters its successor directly, on the RTL port it returns to the hardware's tick.
 */
#include <algorithm>
#include <bit>
#include <cerrno>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"
#include "trace.hpp"

namespace prismem {

namespace {

/** Functional port: simulated ns that one poll takes beyond its step. */
constexpr uint64_t kPollNs = 15;

void wake_sleepers() {
  Machine &m = *g_machine;
  const uint64_t now = now_ns();
  if (m.sleep_known && now < m.sleep_end_ns) return;
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
      if (host.dma_active != 0) m.chooser->at_idle(host);
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

namespace {

/** Synchronizing loads that a spinning loop may go round. */
constexpr size_t kSpinLoads = 4;
/** Loads of one word in a row that are spinning, in a loop that has looked at other words as well. */
constexpr uint64_t kSpinsAmongMany = 8;
/** Exploring: polls in a row, by all threads, without a store or a write to the device: nobody will ever go on. */
constexpr uint64_t kIdlePollsMax = 20000;
/** So many of them by each thread that can run: one that has been held up meanwhile may still change something. */
constexpr uint64_t kOwnPollsMin = 16;

bool all_have_polled() {
  for (const auto &thread : g_machine->threads) {
    const ThreadState state = thread->state;
    const bool waits = state == ThreadState::kBlocked || state == ThreadState::kSleeping || state == ThreadState::kDone;
    if (!waits && thread->polls - thread->polls_at_change < kOwnPollsMin) return false;
  }
  return true;
}

}  // namespace

void check_idle() {
  Machine &m = *g_machine;
  const uint64_t version = g_fast.version + m.progress;
  if (version != m.idle_version) {
    m.idle_version = version;
    m.idle_rounds = 0;
    for (auto &thread : m.threads) thread->polls_at_change = thread->polls;
  } else if (++m.idle_rounds > kIdlePollsMax && all_have_polled()) {
    report_end("stuck", "stuck: all threads poll, and nothing that they wait for can change any more\n");
    end_run(EMU_STUCK);
  }
}

void spin_before(Thread &thread) {
  if (!thread.spins) return;
  thread.spins = false;
  poll_once();
}

void spin_seen(Thread &thread, uint64_t address, uint64_t pc, uint64_t value) {
  for (Seen &seen : thread.seen) {
    if (seen.pc != pc) continue;
    if (seen.value != value) {
      thread.seen.clear();
      return;
    }
    seen.again = address == seen.last ? seen.again + 1 : 0;
    seen.moved |= seen.again == 0;
    seen.last = address;
    thread.spins = !seen.moved || seen.again >= kSpinsAmongMany || (seen.again == 0 && address == seen.first);
    if (std::has_single_bit(++seen.loads)) seen.first = address;
    return;
  }
  if (thread.seen.size() >= kSpinLoads) thread.seen.erase(thread.seen.begin());
  thread.seen.push_back({pc, value, address, address});
}

void report_end(const char *kind, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.time_ns = now_ns();
  fault.message = std::move(message) + waiting_report();
  blame_waiting(fault);
  g_machine->faults.push_back(std::move(fault));
}

namespace {

/** Ask who goes on, among the ready ones; what differs from the plain run is written down. */
Thread &next_thread(Site site) {
  Machine &m = *g_machine;
  const AtSite at(site);
  const size_t index = m.chooser->next_ready(site);
  const int next = m.ready[index];
  if (m.recording) {
    const int plain = site == Site::kStep ? m.current->tid : m.ready[plain_ready()];
    if (next != plain) record(EMU_CHOICE_SWITCH, static_cast<uint32_t>(next), 0);
  }
  return *m.threads[static_cast<size_t>(next)];
}

}  // namespace

void reschedule(Site site) {
  Machine &m = *g_machine;
  wake_sleepers();
  if (m.ready.empty()) {
    const AtSite at(site);
    advance_time();
  }
  switch_to(&next_thread(site));
}

uint64_t now_ns() {
  const Machine &m = *g_machine;
  if (!m.rtl) return m.now_ns + steps_now();
  if (m.current == nullptr) return m.now_ns;
  return m.now_ns + (m.current->debt_ps + (steps_now() - m.current->step_mark) * m.cfg.access_ps) / 1000;
}

void thread_start(Thread &thread) {
  thread.fiber.restart(fiber_main, &thread);
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
  if (!m.spare_fibers.empty()) {
    thread->fiber = std::move(m.spare_fibers.back());
    m.spare_fibers.pop_back();
    thread_start(*thread);
  } else if (!thread->fiber.create(fiber_main, thread.get())) {
    return -ENOMEM;
  }
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
  if (state == ThreadState::kSleeping) m.sleep_end_ns = std::min(m.sleep_end_ns, self.wake_ns);
  if (m.exploring) ++self.steps;  // blocking again without an access in between is another place of the log
  unready(self);
  if (m.rtl) {
    switch_to(nullptr);
  } else {
    reschedule(Site::kBlock);
  }
}

void wake(Thread &thread) {
  if (thread.state == ThreadState::kReady || thread.state == ThreadState::kDone) return;
  g_machine->sleep_known &= thread.state != ThreadState::kSleeping;
  g_machine->progress += thread.state == ThreadState::kBlocked;  // a line or the end of a stall may bring nothing new
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
  self.next_line = kNever;
  count_step();
  ++m.idle_polls;
  if (m.exploring) check_idle();
  {
    const AtSite at(Site::kPoll);
    m.chooser->at_poll();
  }
  if (m.rtl) {
    realise_debt(std::max<uint64_t>(m.cfg.pause_ns, 1));
    return;
  }
  m.now_ns += kPollNs;
  reschedule(Site::kPoll);
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
  ++m.progress;
  trace(Event::kEnd, self.host, kNever);
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
    reschedule(Site::kBlock);
  }
  __builtin_unreachable();
}

uint64_t earliest_wake() {
  Machine &m = *g_machine;
  if (m.sleep_known) return m.sleep_end_ns;
  m.sleep_known = true;
  m.sleep_end_ns = kNever;
  for (const auto &thread : m.threads) {
    if (thread->state == ThreadState::kSleeping) m.sleep_end_ns = std::min(m.sleep_end_ns, thread->wake_ns);
  }
  return m.sleep_end_ns;
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
  const AtSite at(Site::kEnd);
  const auto choose = [&](uint64_t count) {
    const uint64_t value = m.chooser->pick(count);
    if (value != 0) record(EMU_CHOICE_PICK, static_cast<uint32_t>(count), value);
    return value;
  };
  history_check();
  audit(true);
  for (auto &thread : m.threads) commit_all_pending(*thread);
  while (m.port->waiting() != 0) m.port->land(choose(m.port->waiting()));
  std::vector<size_t> order(m.hosts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[i - 1 - choose(i)]);
  for (const size_t index : order) {
    Host &host = m.hosts[index];
    const std::vector<uint64_t> lines = host.lines;
    for (const uint64_t line : lines) write_back(host, line, nullptr);
    while (m.port->waiting() != 0) m.port->land(choose(m.port->waiting()));
  }
  audit(false);
}

int run_functional() {
  Machine &m = *g_machine;
  m.started = true;
  arm_budget(0);
  if (m.live == 0) {
    m.state = EMU_DONE;
    return m.state;
  }
  enter_thread(next_thread(Site::kBlock));
  externals_cancel();
  return m.state;
}

}  // namespace prismem
