/**
 * @file chooser_replay.cpp
 * Drives a run by a log of choices; where the log says nothing the run is the plain one. An entry whose place the run does
 * not reach, or whose action is impossible there, is passed over, so a log with entries taken away still says one thing.
 */
#include <algorithm>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"

namespace prismem {

namespace {

struct Entry {
  emu_choice choice;
  bool used = false;
};

/** Entries of one thread, in the order of its steps. */
struct Lane {
  std::vector<Entry> entries;
  size_t next = 0;            ///< everything before is used or lies behind the thread
  std::vector<size_t> steps;  ///< entries between two hooked accesses, which the run has to stop for
  size_t next_step = 0;       ///< into these; everything before is used or lies behind
};

class ReplayChooser final : public Chooser {
 public:
  ReplayChooser(const emu_choice *choices, size_t count) : lanes_(EMU_THREADS_MAX + 1) {
    for (size_t i = 0; i < count; ++i) {
      lane_of(choices[i].thread).entries.push_back({choices[i]});
      if (choices[i].kind == EMU_CHOICE_DMA) dma_patience_ = kDmaPatience;
    }
    for (Lane &lane : lanes_) {
      const auto earlier = [](const Entry &a, const Entry &b) { return a.choice.step < b.choice.step; };
      std::stable_sort(lane.entries.begin(), lane.entries.end(), earlier);
      for (size_t i = 0; i < lane.entries.size(); ++i) {
        if (lane.entries[i].choice.site == EMU_SITE_STEP) lane.steps.push_back(i);
      }
    }
  }

  uint64_t next_stop(uint64_t steps) override {
    const Machine &m = *g_machine;
    if (m.current == nullptr) return kNever;
    const uint64_t own = thread_steps(*m.current);
    Lane &lane = running();
    for (; lane.next_step < lane.steps.size(); ++lane.next_step) {
      const Entry &entry = lane.entries[lane.steps[lane.next_step]];
      if (!entry.used && entry.choice.step > own) return steps + entry.choice.step - own;
    }
    return kNever;
  }

  bool at_stop(uint64_t) override {
    act_all();
    Entry *entry = find(EMU_CHOICE_STALL);
    if (entry == nullptr) entry = find(EMU_CHOICE_SWITCH);
    return entry != nullptr;
  }

  void give_way() override {
    Machine &m = *g_machine;
    if (Entry *entry = find(EMU_CHOICE_STALL)) {
      entry->used = true;
      record(EMU_CHOICE_STALL, static_cast<uint32_t>(m.current->tid), entry->choice.value);
      m.current->wake_ns = now_ns() + entry->choice.value;
      block_current(ThreadState::kSleeping, "time");
    } else {
      reschedule(Site::kStep);
    }
  }

  bool by_thread() const override { return true; }

  size_t next_ready(Site site) override {
    const Machine &m = *g_machine;
    if (Entry *entry = find(EMU_CHOICE_SWITCH)) {
      entry->used = true;
      for (size_t i = 0; i < m.ready.size(); ++i) {
        if (static_cast<uint64_t>(m.ready[i]) == entry->choice.target) return i;
      }
      if (site == Site::kStep) {  // the thread that was to go on cannot
        for (size_t i = 0; i < m.ready.size(); ++i) {
          if (m.ready[i] == m.current->tid) return i;
        }
      }
    }
    return plain_ready();
  }

  void at_poll() override {
    const Machine &m = *g_machine;
    const bool acted = act_all();
    if (!acted && m.idle_polls % kPollsPerRetirement == 0) retire_by_time(dma_patience_ == kPollsPerRetirement);
  }

  void at_first_store(Host &host, uint64_t line) override { act_fills(host, line, false); }
  void at_commit(Host &host, uint64_t line) override { act_fills(host, line, true); }

  bool clwb_keeps(uint64_t line) override {
    Entry *entry = find(EMU_CHOICE_CLWB);
    if (entry != nullptr && entry->choice.value != line) entry = nullptr;
    if (entry != nullptr) entry->used = true;
    return entry == nullptr;
  }

  uint64_t pick(uint64_t count) override {
    Entry *entry = find(EMU_CHOICE_PICK);
    if (entry == nullptr) return 0;
    entry->used = true;
    return std::min(entry->choice.value, count - 1);
  }

  void at_dma_poll(Host &host) override {
    if (act_all()) {
      idle_dma_polls_ = 0;
    } else if (++idle_dma_polls_ % dma_patience_ == 0) {
      dma_in_order(host);
    }
  }

  void at_idle(Host &host) override {
    if (!act_all()) dma_in_order(host);
  }

 private:
  Lane &lane_of(uint32_t thread) { return lanes_[std::min<size_t>(thread, EMU_THREADS_MAX)]; }

  Lane &running() {
    const Machine &m = *g_machine;
    const bool none = m.current == nullptr || m.site == Site::kEnd;
    return lane_of(none ? EMU_CHOICE_NO_THREAD : static_cast<uint32_t>(m.current->tid));
  }

  /** First unused entry for this place, of this kind or of any that is an action; nullptr if there is none. */
  Entry *find(int kind) {
    const Machine &m = *g_machine;
    Lane &lane = running();
    const uint64_t step = m.current == nullptr || m.site == Site::kEnd ? 0 : thread_steps(*m.current);
    while (lane.next < lane.entries.size() &&
           (lane.entries[lane.next].used || lane.entries[lane.next].choice.step < step)) {
      ++lane.next;
    }
    for (size_t i = lane.next; i < lane.entries.size() && lane.entries[i].choice.step == step; ++i) {
      Entry &entry = lane.entries[i];
      if (entry.used || entry.choice.site != static_cast<uint8_t>(m.site)) continue;
      const int found = entry.choice.kind;
      if (found == kind || (kind == kAnyAction && found >= EMU_CHOICE_FILL && found <= EMU_CHOICE_DMA)) return &entry;
    }
    return nullptr;
  }

  /** Do what the log has for this place. False: it has nothing. */
  bool act_all() {
    bool any = false;
    while (Entry *entry = find(kAnyAction)) {
      entry->used = true;
      any = true;
      act(entry->choice);
    }
    return any;
  }

  /** Fills of the line: into the host's own cache, or into those of others. */
  void act_fills(const Host &host, uint64_t line, bool own) {
    Machine &m = *g_machine;
    for (;;) {
      Entry *entry = find(EMU_CHOICE_FILL);
      if (entry == nullptr || entry->choice.value != line || (entry->choice.target == host.id) != own) return;
      if (m.hosts[entry->choice.target].state[line] != 0) return;  // it is for the next time at this place
      entry->used = true;
      act(entry->choice);
      if (m.state != EMU_RUNNING) return;
    }
  }

  void act(const emu_choice &choice) {
    Machine &m = *g_machine;
    if (choice.kind == EMU_CHOICE_RETIRE) {
      retire(choice);
      return;
    }
    if (choice.target >= m.hosts.size() || choice.value >= m.lines) return;
    Host &host = m.hosts[choice.target];
    const uint64_t line = choice.value;
    if (choice.kind == EMU_CHOICE_FILL) {
      if (host.state[line] == 0) act_fill(host, line, 4);
    } else if (choice.kind == EMU_CHOICE_EVICT) {
      if (host.state[line] & kValid) act_evict(host, line);
    } else if (choice.kind == EMU_CHOICE_LAND) {
      act_land(host.id, line);
    } else if (choice.kind == EMU_CHOICE_DMA) {
      act_dma(host, line);
    }
  }

  void retire(const emu_choice &choice) {
    Machine &m = *g_machine;
    if (choice.target >= m.threads.size()) return;
    Thread &thread = *m.threads[choice.target];
    for (size_t i = 0; i < thread.pending.size(); ++i) {
      const bool fence = thread.pending[i].kind == PendingKind::kStoreFence;
      if (fence != (choice.value == kNever) || (!fence && thread.pending[i].line != choice.value)) continue;
      act_retire(thread, i);
      return;
    }
  }

  static constexpr int kAnyAction = -1;
  std::vector<Lane> lanes_;
  /** A log that moves lines of an engine itself: polls of an engine without one before all of them move. */
  static constexpr uint64_t kDmaPatience = 4096;
  uint64_t dma_patience_ = kPollsPerRetirement;
  uint64_t idle_dma_polls_ = 0;
};

}  // namespace

std::unique_ptr<Chooser> make_replay_chooser(const emu_choice *choices, size_t count) {
  return std::make_unique<ReplayChooser>(choices, count);
}

}  // namespace prismem
