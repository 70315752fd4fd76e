/**
 * @file chooser_dfs.cpp
 * Depth-first search over every choice of a small program, with a bound on what caches do by themselves: first nothing, then
 * one event, then two. Each execution follows the path of the one before up to its last open choice, and takes the next
 * option there. Sleep sets leave out executions that differ from an earlier one only in the order of independent steps.
 *
 * Options at a step: each thread that can run, each pending flush that may take effect, a fill of an invalid line that another
 * host uses, an eviction of a line that is dirty or stale. A thread that polls is set aside until a store, a write to the
 * device or an event has changed something. The order of the last write-backs is not searched.
 */
#include <algorithm>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"

namespace prismem {

namespace {

/** What may come next. Thread steps are named by their thread alone: what it does next is fixed until it does it. */
struct Option {
  emu_choice_kind
      kind;  ///< SWITCH: the thread `who` makes its step; FILL, EVICT: host `who`; RETIRE: thread `who`; CLWB
  uint32_t who;
  uint64_t line;
  bool operator==(const Option &other) const {
    return kind == other.kind && who == other.who && (kind == EMU_CHOICE_SWITCH || line == other.line);
  }
};

struct Node {
  std::vector<Option> options;
  std::vector<Option> sleep;  ///< covered by earlier paths
  size_t taken = 0;
};

/** What an option does to lines: hosts share nothing but what the device holds. */
struct Effect {
  int thread = -1;  ///< whose steps keep their order
  int host = -1;    ///< -1: unknown, so every host
  uint64_t reads = kNever;
  std::vector<uint64_t> writes;  ///< may reach the device
};

Effect effect_of(const Option &option) {
  const Machine &m = *g_machine;
  Effect effect;
  if (option.kind == EMU_CHOICE_SWITCH || option.kind == EMU_CHOICE_RETIRE) {
    const Thread &thread = *m.threads[option.who];
    effect.thread = thread.tid;
    effect.host = static_cast<int>(thread.host);
    if (option.kind == EMU_CHOICE_RETIRE) {
      effect.writes.push_back(option.line);
      return effect;
    }
    effect.reads = thread.next_line;
    for (const Pending &entry : thread.pending) {  // what is pending may take effect in the same step
      if (entry.kind != PendingKind::kStoreFence) effect.writes.push_back(entry.line);
    }
    return effect;
  }
  if (option.kind != EMU_CHOICE_CLWB) effect.host = static_cast<int>(option.who);
  if (option.kind == EMU_CHOICE_FILL) {
    effect.reads = option.line;
  } else {
    effect.writes.push_back(option.line);
  }
  return effect;
}

bool writes(const Effect &effect, uint64_t line) {
  if (line == kNever || line == kLocalStep) return false;
  if (line == kManyLines) return !effect.writes.empty();
  return std::find(effect.writes.begin(), effect.writes.end(), line) != effect.writes.end();
}

bool independent(const Option &left, const Option &right) {
  const Effect a = effect_of(left), b = effect_of(right);
  if (a.thread >= 0 && a.thread == b.thread) return false;
  if (writes(a, b.reads) || writes(b, a.reads)) return false;
  for (const uint64_t line : a.writes) {
    if (writes(b, line)) return false;
  }
  if (a.host != b.host && a.host >= 0 && b.host >= 0) return true;
  if (a.reads == kNever || b.reads == kNever) return true;
  return a.reads != b.reads && std::max(a.reads, b.reads) < kLocalStep;
}

class DfsChooser final : public Chooser {
 public:
  explicit DfsChooser(uint32_t events_max) : events_max_(events_max) {}

  void begin() override {
    depth_ = 0;
    events_ = 0;
    sleep_.clear();
    waiting_.assign(EMU_THREADS_MAX, kNever);
    if (!path_.empty() && !advance()) path_.clear();
  }

  bool complete() const override { return complete_; }

  uint64_t next_stop(uint64_t steps) override { return steps + 1; }
  bool by_thread() const override { return true; }

  bool at_stop(uint64_t) override {
    next_ = choose(true);
    return next_ != g_machine->current->tid;
  }

  void give_way() override { reschedule(Site::kStep); }

  size_t next_ready(Site site) override {
    const Machine &m = *g_machine;
    const int next = site == Site::kStep ? next_ : choose(false);
    for (size_t i = 0; i < m.ready.size(); ++i) {
      if (m.ready[i] == next) return i;
    }
    return plain_ready();
  }

  void at_poll() override {
    const Machine &m = *g_machine;
    waiting_[static_cast<size_t>(m.current->tid)] = changes(m.current->tid);
    if (m.idle_polls % kPollsPerRetirement == 0) retire_by_time();
  }

  void at_first_store(Host &, uint64_t) override {}
  void at_commit(Host &, uint64_t) override {}

  bool clwb_keeps(uint64_t line) override {
    std::vector<Option> options{{EMU_CHOICE_CLWB, 0, line}, {EMU_CHOICE_CLWB, 1, line}};
    return take(std::move(options)).who == 0;
  }

  uint64_t pick(uint64_t) override { return 0; }
  void at_dma_poll(Host &host) override { dma_in_order(host); }
  void at_idle(Host &host) override { dma_in_order(host); }

 private:
  /** Counts what may give a thread something new to see: stores of other hosts only when they reach the device. */
  uint64_t changes(int tid) const {
    const Machine &m = *g_machine;
    const uint32_t host = m.threads[static_cast<size_t>(tid)]->host;
    const auto here = [&](const auto &thread) { return thread->host == host && thread->state != ThreadState::kDone; };
    const bool alone = std::count_if(m.threads.begin(), m.threads.end(), here) == 1;
    return m.progress + events_ + (alone ? 0 : g_fast.version);
  }

  bool set_aside(int tid) const { return waiting_[static_cast<size_t>(tid)] == changes(tid); }

  /** Next path: the deepest node with an option that is left and does not sleep. False: there is none. */
  bool advance() {
    while (!path_.empty()) {
      Node &node = path_.back();
      node.sleep.push_back(node.options[node.taken]);
      while (++node.taken < node.options.size()) {
        if (!asleep(node.sleep, node.options[node.taken])) return true;
      }
      path_.pop_back();
    }
    complete_ = true;
    return false;
  }

  static bool asleep(const std::vector<Option> &sleep, const Option &option) {
    return std::find(sleep.begin(), sleep.end(), option) != sleep.end();
  }

  /** Follow the path, or make its next node. */
  Option take(std::vector<Option> options) {
    if (depth_ == path_.size()) {
      Node node;
      node.options = std::move(options);
      node.sleep = sleep_;
      while (node.taken < node.options.size() && asleep(node.sleep, node.options[node.taken])) ++node.taken;
      if (node.taken == node.options.size()) end_run(EMU_DONE);  // every continuation has been seen
      path_.push_back(std::move(node));
    }
    const Node &node = path_[depth_++];
    const Option option = node.options[node.taken];
    sleep_.clear();
    for (const Option &other : node.sleep) {
      if (!(other == option) && independent(other, option)) sleep_.push_back(other);
    }
    return option;
  }

  /** Act until a thread is chosen; its number, -1: none. `self`: the running one is at a step and may go on; caches act there only. */
  int choose(bool self) {
    Machine &m = *g_machine;
    for (;;) {
      std::vector<Option> options;
      const int current = m.current == nullptr ? -1 : m.current->tid;
      const auto add_thread = [&](int tid) {
        if (!set_aside(tid)) options.push_back({EMU_CHOICE_SWITCH, static_cast<uint32_t>(tid), 0});
      };
      if (self) add_thread(current);
      std::vector<int> others = m.ready;
      std::sort(others.begin(), others.end());
      for (const int tid : others) {
        if (tid != current) add_thread(tid);
      }
      if (self) add_events(options);
      if (options.empty()) return -1;  // all poll, and nothing changes: time goes by
      const Option option = options.size() == 1 && sleep_.empty() ? options[0] : take(std::move(options));
      if (option.kind == EMU_CHOICE_SWITCH) return static_cast<int>(option.who);
      act(option);
    }
  }

  void add_events(std::vector<Option> &options) const {
    const Machine &m = *g_machine;
    for (const auto &thread : m.threads) {
      for (size_t i = 0; i < thread->pending.size(); ++i) {
        if (thread->pending[i].kind == PendingKind::kStoreFence || !may_commit(*thread, i)) continue;
        options.push_back({EMU_CHOICE_RETIRE, static_cast<uint32_t>(thread->tid), thread->pending[i].line});
      }
    }
    if (events_ >= events_max_) return;
    for (const Host &host : m.hosts) {
      for (const uint64_t line : m.touched_lines) {
        if ((m.touched[line] & ~(1ull << host.id)) == 0) continue;
        const uint8_t state = host.state[line];
        if (state == 0) options.push_back({EMU_CHOICE_FILL, host.id, line});
        if ((state & kValid) && (host.dirty[line] != 0 || (state & kCheck))) {
          options.push_back({EMU_CHOICE_EVICT, host.id, line});
        }
      }
    }
  }

  void act(const Option &option) {
    Machine &m = *g_machine;
    if (option.kind == EMU_CHOICE_RETIRE) {
      Thread &thread = *m.threads[option.who];
      for (size_t i = 0; i < thread.pending.size(); ++i) {
        if (thread.pending[i].line != option.line || thread.pending[i].kind == PendingKind::kStoreFence) continue;
        act_retire(thread, i);
        return;
      }
      return;
    }
    ++events_;
    if (option.kind == EMU_CHOICE_FILL) act_fill(m.hosts[option.who], option.line, 6);
    if (option.kind == EMU_CHOICE_EVICT) act_evict(m.hosts[option.who], option.line);
  }

  const uint32_t events_max_;
  std::vector<Node> path_;
  std::vector<Option> sleep_;      ///< of the node that comes next
  std::vector<uint64_t> waiting_;  ///< by thread: `changes` when it polled in vain
  size_t depth_ = 0;
  uint32_t events_ = 0;
  int next_ = -1;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<Chooser> make_dfs_chooser(uint32_t events_max) {
  return std::make_unique<DfsChooser>(events_max);
}

}  // namespace prismem
