/**
 * @file chooser_seeded.cpp
 * The seeded policies. What a cache does by itself: prefetch lines that others use, evict, let pending flushes retire, move
 * DMA lines. Nearly every fault needs one such event at the right line, so they prefer lines used a moment ago and lines at
 * their first store.
 */
#include <algorithm>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"

namespace prismem {

namespace {

/** Of ten events of the random policy. */
constexpr uint64_t kEventKinds = 10, kFillsBelow = 4, kEvictionsBelow = 7, kRetirementsBelow = 9;
/** The random policy acts at one in so many first stores and committed flushes. */
constexpr uint64_t kFirstStoreOdds = 4, kHuntOdds = 4, kFlushOdds = 8;
/** Attempts to find a line that an event can act on. */
constexpr uint32_t kPickAttempts = 4;
/** Eager policy: mean accesses between two evictions. */
constexpr uint64_t kEagerEventEvery = 2;
/** RTL port without forced switches: accesses after which time passes nevertheless. */
constexpr uint64_t kRtlSliceAccesses = 1000;
/** One in so many forced switches, and each that a cache event asks for, stalls the thread for up to so long. */
constexpr uint64_t kStallOdds = 4, kStallNs = 200;
/** The random policy lets the caches act at one in so many polls. */
constexpr uint64_t kPollEventOdds = 3;
/** One in so many polls may go on at once although others are ready. */
constexpr uint64_t kPollAgainOdds = 4;

Rng &rng() {
  return g_machine->rng;
}

uint64_t pick_line() {
  Machine &m = *g_machine;
  const uint32_t recent = m.recent_count < kRecentLines ? m.recent_count : kRecentLines;
  if (recent != 0 && !rng().one_in(4)) return m.recent[rng().below(recent)];
  if (m.touched_lines.empty()) return kNever;
  return m.touched_lines[rng().below(m.touched_lines.size())];
}

void random_fill() {
  Machine &m = *g_machine;
  Host &host = m.hosts[rng().below(m.hosts.size())];
  for (uint32_t i = 0; i < kPickAttempts; ++i) {
    const uint64_t line = pick_line();
    if (line == kNever || host.state[line] != 0 || (m.touched[line] & ~(1ull << host.id)) == 0) continue;
    act_fill(host, line, 0);
    return;
  }
}

void random_evict() {
  Machine &m = *g_machine;
  Host &host = m.hosts[rng().below(m.hosts.size())];
  for (uint32_t i = 0; i < kPickAttempts; ++i) {
    uint64_t line = pick_line();
    if (i + 1 == kPickAttempts && !host.lines.empty()) line = host.lines[rng().below(host.lines.size())];
    if (line == kNever || !(host.state[line] & kValid)) continue;
    act_evict(host, line);
    return;
  }
}

/** One pending entry of one thread takes effect. */
void retire_one() {
  Machine &m = *g_machine;
  size_t count = 0;
  for (const auto &thread : m.threads) count += !thread->pending.empty();
  if (count == 0) return;
  size_t pick = rng().below(count);
  for (const auto &thread : m.threads) {
    if (thread->pending.empty() || pick-- != 0) continue;
    size_t index = rng().below(thread->pending.size());
    while (!act_retire(*thread, index)) --index;  // the oldest always may
    return;
  }
}

void land_one() {
  Machine &m = *g_machine;
  const size_t count = m.port->waiting();
  if (count == 0) return;
  const Request *request = m.port->waiting_at(rng().below(count));
  act_land(request->host, request->line);
}

class SeededChooser final : public Chooser {
 public:
  void begin() override {
    next_switch_ = next_event_ = hunted_line_ = kNever;
    stall_ = to_other_ = false;
  }

  uint64_t next_stop(uint64_t steps) override {
    if (next_event_ == kNever && event_mean() != 0) next_event_ = steps + rng().countdown(event_mean());
    if (next_switch_ == kNever && switch_mean() != 0) next_switch_ = steps + rng().countdown(switch_mean());
    return std::min(next_event_, next_switch_);
  }

  bool at_stop(uint64_t steps) override {
    if (steps >= next_event_) {
      next_event_ = kNever;
      event();
    }
    const bool forced = steps >= next_switch_;
    if (forced) next_switch_ = kNever;
    return forced;
  }

  void give_way() override {
    Machine &m = *g_machine;
    if (m.rtl) {
      const uint64_t ns = stall_ ? 1 + rng().below(kStallNs) : 1;
      stall_ = false;
      realise_debt(ns);
    } else if (stall_ || (m.cfg.policy != EMU_POLICY_LAZY && rng().one_in(kStallOdds))) {
      stall_ = false;
      const uint64_t ns = 1 + rng().below(kStallNs);
      record(EMU_CHOICE_STALL, static_cast<uint32_t>(m.current->tid), ns);
      m.current->wake_ns = now_ns() + ns;
      block_current(ThreadState::kSleeping, "time");
    } else {
      reschedule(Site::kStep);
    }
  }

  size_t next_ready(Site site) override {
    const Machine &m = *g_machine;
    const bool other = site == Site::kPoll && to_other_;
    const int self = m.current == nullptr ? -1 : m.current->tid;
    size_t index = rng().below(m.ready.size());
    if (other && m.ready.size() > 1 && m.ready[index] == self) index = (index + 1) % m.ready.size();
    return index;
  }

  void at_poll() override {
    Machine &m = *g_machine;
    if (m.idle_polls % kPollsPerRetirement == 0) {
      retire_one();
      land_one();
    }
    if (m.cfg.policy == EMU_POLICY_RANDOM && m.cfg.event_every != 0 && rng().one_in(kPollEventOdds)) event();
    if (m.rtl) return;
    for (Host &host : m.hosts) {
      if (host.dma_active != 0 && rng().one_in(2)) dma_progress(host, 1 + static_cast<uint32_t>(rng().below(8)));
    }
    to_other_ = !rng().one_in(kPollAgainOdds);
  }

  void at_first_store(Host &host, uint64_t line) override {
    Machine &m = *g_machine;
    if (m.hosts.size() == 1) return;
    if (m.cfg.policy == EMU_POLICY_WARM) {
      for (Host &other : m.hosts) {
        if (other.id != host.id && other.state[line] == 0) act_fill(other, line, 1);
      }
      return;
    }
    if (m.cfg.policy != EMU_POLICY_RANDOM || m.cfg.event_every == 0) return;
    if (rng().one_in(kHuntOdds)) {
      hunted_line_ = line;
      hunted_host_ = host.id;
      hasten_event();
    } else if (rng().one_in(kFirstStoreOdds)) {
      Host &other = m.hosts[(host.id + 1 + rng().below(m.hosts.size() - 1)) % m.hosts.size()];
      if (other.state[line] == 0) act_fill(other, line, 2);
    }
  }

  void at_commit(Host &host, uint64_t line) override {
    const Machine &m = *g_machine;
    if (m.cfg.policy != EMU_POLICY_RANDOM || m.cfg.event_every == 0 || !rng().one_in(kFlushOdds)) return;
    if (host.state[line] != 0 || (m.touched[line] & ~(1ull << host.id)) == 0) return;
    act_fill(host, line, 3);
  }

  bool clwb_keeps(uint64_t) override { return rng().one_in(2); }
  uint64_t pick(uint64_t count) override { return rng().below(count); }

  void at_dma_poll(Host &host) override {
    if (rng().one_in(2)) dma_progress(host, 1 + static_cast<uint32_t>(rng().below(8)));
  }

  void at_idle(Host &host) override { dma_progress(host, 1 + static_cast<uint32_t>(rng().below(kDmaLinesInFlight))); }

 private:
  static uint64_t event_mean() {
    const emu_config &cfg = g_machine->cfg;
    if (cfg.policy == EMU_POLICY_EAGER) return kEagerEventEvery;
    return cfg.policy == EMU_POLICY_RANDOM ? cfg.event_every : 0;
  }

  /** On the RTL port a thread that only hits must let time pass now and then, or the others' clock would stand still. */
  static uint64_t switch_mean() {
    const Machine &m = *g_machine;
    return m.cfg.switch_every == 0 && m.rtl ? kRtlSliceAccesses : m.cfg.switch_every;
  }

  void event() {
    Machine &m = *g_machine;
    if (m.cfg.policy == EMU_POLICY_EAGER) {
      evict_dirty();
      if (rng().one_in(4)) retire_one();
      if (rng().one_in(4)) land_one();
      return;
    }
    if (m.cfg.policy != EMU_POLICY_RANDOM || evict_hunted()) return;
    const uint64_t kind = rng().below(kEventKinds);
    if (kind < kFillsBelow) {
      random_fill();
    } else if (kind < kEvictionsBelow) {
      random_evict();
    } else if (kind < kRetirementsBelow) {
      retire_one();
    } else {
      land_one();
      Host &host = m.hosts[rng().below(m.hosts.size())];
      if (host.dma_active != 0) dma_progress(host, 1 + static_cast<uint32_t>(rng().below(4)));
    }
  }

  /** Eager: a dirty line leaves soon after the store. */
  void evict_dirty() {
    Machine &m = *g_machine;
    const uint32_t recent = m.recent_count < kRecentLines ? m.recent_count : kRecentLines;
    for (uint32_t i = 1; i <= recent; ++i) {
      const uint64_t line = m.recent[(m.recent_count - i) % kRecentLines];
      for (Host &host : m.hosts) {
        if (host.dirty[line] == 0 || !(host.state[line] & kValid)) continue;
        act_evict(host, line);
        if (rng().one_in(2)) stall_now();
        return;
      }
    }
  }

  /** The line stored to a moment ago leaves before anything else, and others get to see it. */
  bool evict_hunted() {
    Machine &m = *g_machine;
    const uint64_t line = hunted_line_;
    if (line == kNever) return false;
    Host &host = m.hosts[hunted_host_];
    hunted_line_ = kNever;
    if (host.dirty[line] == 0 || !(host.state[line] & kValid)) return false;
    act_evict(host, line);
    stall_now();
    return true;
  }

  /** Bring the next event close. */
  void hasten_event() {
    if (event_mean() == 0) return;
    const uint64_t steps = steps_now();
    next_event_ = steps + 1 + rng().below(3);
    arm_budget(steps);
  }

  /** The running thread is to stand still for a while, so that the others see what happened. */
  void stall_now() {
    if (g_machine->cfg.switch_every == 0) return;
    next_switch_ = steps_now();
    stall_ = true;
  }

  uint64_t next_switch_ = kNever, next_event_ = kNever;
  bool stall_ = false;             ///< the next forced switch puts the thread to sleep
  bool to_other_ = false;          ///< the poll under way gives the processor to another
  uint64_t hunted_line_ = kNever;  ///< random policy: just stored by `hunted_host_`, to be evicted at the next event
  uint32_t hunted_host_ = 0;
};

}  // namespace

std::unique_ptr<Chooser> make_seeded_chooser() {
  return std::make_unique<SeededChooser>();
}

}  // namespace prismem
