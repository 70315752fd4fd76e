/**
 * @file explore.cpp
 * Many executions in one process: the machine goes back to where it was before the first, by undoing only what an
 * execution has touched, and runs again under another chooser.
 */
#include <cerrno>
#include <chrono>
#include <cstring>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"
#include "program.hpp"
#include "trace.hpp"

namespace prismem {

namespace {

/** Weyl step: executions of one seed draw from streams of their own. */
constexpr uint64_t kStreamStep = 0x9E3779B97F4A7C15ull;

uint64_t real_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void restore_line(Machine &m, uint64_t line) {
  const uint64_t word = line * kWordsPerLine;
  memcpy(m.device.data + (line << kLineShift), m.initial.data + (line << kLineShift), kLineBytes);
  m.sharers[line] = m.touched[line] = 0;
  for (Host &host : m.hosts) {
    host.state[line] = 0;
    host.dirty[line] = 0;
    if (m.newest != nullptr) host.superseded[line] = host.locked[line] = 0;
  }
  if (m.newest == nullptr) return;
  memcpy(m.device.meta + word, m.initial.meta + word, kWordsPerLine * sizeof(WordMeta));
  memcpy(m.newest + word, m.initial.meta + word, kWordsPerLine * sizeof(WordMeta));
  memcpy(m.device.landed + word, m.initial.landed + word, kWordsPerLine * sizeof(uint64_t));
}

void restore_host(Host &host) {
  for (Request *request : host.in_flight) free_request(request);
  for (Request *request : host.deferred) free_request(request);
  host.in_flight.clear();
  host.deferred.clear();
  host.lines.clear();
  host.pins.clear();
  host.tickets.clear();
  host.dma_finished.clear();
  host.dma_prefix = host.dma_ordinal = 0;
  host.dma_next_id = 1;
  host.dma_active = host.dma_in_flight = 0;
  host.count = HostCounters{};
  host.events = 0;
  host.crashed = false;
  host.crash_at = host.first_crash_at;
}

void restore_thread(Thread &thread) {
  Machine &m = *g_machine;
  thread.state = ThreadState::kReady;
  thread.flags = thread.first_flags;
  thread.wait_line = kNever;
  thread.status = 0;
  thread.detached = false;
  thread.joiners.clear();
  thread.pending.clear();
  thread.streams = thread.writes_in_flight = 0;
  thread.writes_ordered = false;
  thread.last_offset = kNever;
  thread.last_pc = 0;
  thread.polls = thread.polls_at_change = thread.debt_ps = thread.step_mark = thread.steps = 0;
  thread.clock.assign(thread.actor + 1, 0);
  thread.clock[thread.actor] = 1;
  thread.acquired_word = kNever;
  thread.fence_release.clear();
  thread.fence_acquire.clear();
  thread.seen.clear();
  thread.spins = false;
  thread.next_line = kNever;
  thread.wake_ns = 0;
  thread.saved_errno = 0;
  thread.exceptions = {};
  thread_start(thread);
  if (thread.flags & EMU_THREAD_AFTER_CRASH) {
    thread.state = ThreadState::kBlocked;
    return;
  }
  m.live += (thread.flags & EMU_THREAD_DAEMON) == 0;
  m.ready.push_back(thread.tid);
}

/** Back to the state before the first execution. */
void restart(uint64_t seed) {
  Machine &m = *g_machine;
  for (const uint64_t line : m.touched_lines) restore_line(m, line);
  m.touched_lines.clear();
  m.recent_count = 0;
  m.sleep_known = false;
  for (Host &host : m.hosts) restore_host(host);
  m.port->forget();
  m.rng = Rng(seed);
  m.program_rng = Rng(m.cfg.seed);
  m.state = EMU_RUNNING;
  m.finished = false;
  m.current = nullptr;
  m.ready.clear();
  m.live = 0;
  m.now_ns = m.step_target = m.switches = m.idle_polls = m.digest = 0;
  m.progress = m.idle_rounds = 0;
  m.idle_version = 0;
  m.site = Site::kBlock;
  m.choices.clear();
  m.faults.clear();
  g_fast = Fast{};
  g_fast.version = m.initial_version;
  sync_reset();
  intercept_reset();
  history_reset();
  while (m.threads.size() > m.first_threads) {
    m.spare_fibers.push_back(std::move(m.threads.back()->fiber));
    m.threads.pop_back();
  }
  for (auto &thread : m.threads) restore_thread(*thread);
  programs_restore();
}

/** The first call keeps what every execution starts from. */
int prepare() {
  Machine &m = *g_machine;
  if (m.exploring) return 0;
  if (m.started) {
    set_error("emu_explore, emu_replay: the machine has run already by emu_run");
    return -EINVAL;
  }
  for (auto &thread : m.threads) {
    if (thread->external == nullptr) continue;
    set_error("thread %d is external: only threads of the machine can be started again", thread->tid);
    return -EINVAL;
  }
  if (!m.keep_initial()) {
    set_error("pool_bytes: no address space for a second copy of the pool");
    return -ENOMEM;
  }
  m.first_threads = m.threads.size();
  for (auto &thread : m.threads) thread->first_flags = thread->flags;
  for (Host &host : m.hosts) host.first_crash_at = host.crash_at;
  m.initial_version = g_fast.version;
  m.exploring = m.recording = m.started = true;
  programs_keep();
  return 0;
}

int run_once(uint64_t seed) {
  restart(seed);
  g_machine->chooser->begin();
  if (g_machine->lockstep != nullptr) return EMU_RUNNING;  // the hardware's clock starts it
  return run_functional();
}

int check_call(const void *argument, const char *call) {
  if (g_machine != nullptr && g_machine->lockstep != nullptr && g_machine->exploring) {
    set_error("%s: on the lockstep port a machine runs once", call);
    return -EINVAL;
  }
  if (g_machine != nullptr && !g_machine->rtl && g_machine->current == nullptr && argument != nullptr) return prepare();
  set_error("%s: there is no machine on the functional port, it runs, or an argument is NULL", call);
  return -EINVAL;
}

}  // namespace

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_explore(const emu_explore_config *config, emu_explored *explored) {
  const int error = check_call(config == nullptr ? nullptr : static_cast<const void *>(explored), "emu_explore");
  if (error != 0) return error;
  if (g_machine->lockstep != nullptr) {
    set_error("emu_explore: on the lockstep port only emu_replay runs");
    return -EINVAL;
  }
  if (config->struct_bytes != sizeof *config || config->executions_max == 0 || config->policy > EMU_POLICY_WARM ||
      config->strategy > EMU_STRATEGY_DFS) {
    set_error("struct_bytes: %u is not %zu, or executions_max is 0, or policy %u or strategy %u is unknown",
              config->struct_bytes, sizeof *config, config->policy, config->strategy);
    return -EINVAL;
  }
  Machine &m = *g_machine;
  *explored = emu_explored{};
  m.cfg.policy = config->policy;
  m.cfg.switch_every = config->switch_every;
  m.cfg.event_every = config->event_every;
  m.tracing = false;
  if (config->strategy == EMU_STRATEGY_SEEDED) {
    m.chooser = make_seeded_chooser();
  } else if (config->first == 0 || m.strategy != config->strategy) {  // they go on where the last call has ended
    m.chooser = config->strategy == EMU_STRATEGY_PCT ? make_pct_chooser() : make_dfs_chooser(config->events_max);
  } else {
    m.chooser = std::move(m.search);
  }
  m.strategy = config->strategy;
  const uint64_t end = config->time_ns_max == 0 ? kNever : real_ns() + config->time_ns_max;
  for (uint64_t i = 0; i < config->executions_max; ++i) {
    const int state = run_once(config->seed + (config->first + i + 1) * kStreamStep);
    ++explored->executions;
    explored->steps += steps_now();
    explored->mapped = m.pool_mapped;
    explored->cut += state == EMU_STUCK && m.faults.empty();
    if (!m.faults.empty()) {
      explored->found = 1;
      break;
    }
    if (m.chooser->complete()) {
      explored->complete = 1;
      break;
    }
    if (real_ns() >= end) break;
  }
  if (config->strategy != EMU_STRATEGY_SEEDED) m.search = std::move(m.chooser);
  m.chooser = make_seeded_chooser();
  return 0;
}

PRISMEM_EXPORT int64_t emu_choices(const emu_choice **choices) {
  if (g_machine == nullptr || choices == nullptr) return -EINVAL;
  *choices = g_machine->choices.data();
  return static_cast<int64_t>(g_machine->choices.size());
}

PRISMEM_EXPORT int emu_replay(const emu_choice *choices, uint64_t count, int trace) {
  static const emu_choice none{};
  const int error = check_call(choices == nullptr && count == 0 ? &none : choices, "emu_replay");
  if (error != 0) return error;
  Machine &m = *g_machine;
  m.chooser = make_replay_chooser(choices, count);
  m.tracing = trace != 0;
  trace_clear();
  const int state = run_once(1);
  if (m.lockstep == nullptr) m.tracing = false;
  return state;
}

PRISMEM_EXPORT int emu_fault_key_get(emu_fault_key *key) {
  if (g_machine == nullptr || key == nullptr) return -EINVAL;
  const Machine &m = *g_machine;
  *key = emu_fault_key{};
  key->state = static_cast<uint32_t>(m.state);
  key->digest = m.digest;
  key->offset = kNever;
  if (m.faults.empty()) return 0;
  const Fault &fault = m.faults.front();
  for (const char c : fault.kind) key->kind = key->kind * 31 + static_cast<uint8_t>(c);
  key->place = program_place(pc_of(fault.pc));
  key->other = program_place(pc_of(fault.other_pc));
  key->offset = fault.offset;
  return 0;
}
