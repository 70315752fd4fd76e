/**
 * @file chooser_pct.cpp
 * Probabilistic concurrency testing: threads have random priorities, the highest runs, and at a few random steps the one that
 * runs falls to the bottom. Each host's cache is one more thread: while its priority is above that of the running thread,
 * it does what it can at every step. A fault that needs d orderings is found with a probability that depends on d and the
 * number of steps, not on how unlikely a blind scheduler finds them.
 */
#include <algorithm>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"

namespace prismem {

namespace {

/** Changes of priority in an execution, at most. */
constexpr uint64_t kChangesMax = 3;
/** Steps that the first execution is taken to have; later ones are taken to be as long as the longest before. */
constexpr uint64_t kFirstSteps = 64;

class PctChooser final : public Chooser {
 public:
  void begin() override {
    const Machine &m = *g_machine;
    longest_ = std::max(longest_, last_steps_);
    thread_.assign(EMU_THREADS_MAX, 0);
    cache_.assign(m.hosts.size(), 0);
    for (uint64_t &priority : thread_) priority = draw();
    for (uint64_t &priority : cache_) priority = draw();
    floor_ = kLowest;
    changes_.clear();
    for (uint64_t i = g_machine->rng.below(kChangesMax + 1); i != 0; --i) {
      changes_.push_back(1 + g_machine->rng.below(longest_));
    }
    std::sort(changes_.begin(), changes_.end(), std::greater<>());
  }

  uint64_t next_stop(uint64_t steps) override {
    last_steps_ = steps;
    const Machine &m = *g_machine;
    if (m.current != nullptr && !above(m.current->tid).empty()) return steps + 1;
    return changes_.empty() ? kNever : changes_.back();
  }

  bool at_stop(uint64_t steps) override {
    Machine &m = *g_machine;
    while (!changes_.empty() && changes_.back() <= steps) {
      changes_.pop_back();
      sink(m.rng.one_in(3) ? &cache_[m.rng.below(cache_.size())] : &thread_[static_cast<size_t>(m.current->tid)]);
    }
    for (const uint32_t host : above(m.current->tid)) event(m.hosts[host]);
    return m.ready[highest()] != m.current->tid;
  }

  void give_way() override { reschedule(Site::kStep); }
  bool by_thread() const override { return true; }
  size_t next_ready(Site) override { return highest(); }

  void at_poll() override {
    Machine &m = *g_machine;
    sink(&thread_[static_cast<size_t>(m.current->tid)]);
    if (m.idle_polls % kPollsPerRetirement == 0) {
      retire_by_time(false);
      for (Host &host : m.hosts) dma_progress(host, kDmaLinesInFlight);
      return;
    }
    Host &host = m.hosts[m.rng.below(m.hosts.size())];
    if (host.dma_active != 0) dma_progress(host, 1 + static_cast<uint32_t>(m.rng.below(8)));
  }

  void at_first_store(Host &, uint64_t) override {}
  void at_commit(Host &, uint64_t) override {}
  bool clwb_keeps(uint64_t) override { return g_machine->rng.one_in(2); }
  uint64_t pick(uint64_t count) override { return g_machine->rng.below(count); }
  void at_dma_poll(Host &host) override {
    if (g_machine->rng.one_in(2)) dma_progress(host, 1 + static_cast<uint32_t>(g_machine->rng.below(8)));
  }
  void at_idle(Host &host) override { dma_progress(host, kDmaLinesInFlight); }

 private:
  static constexpr uint64_t kLowest = 1ull << 32;  ///< priorities below are those of actors that have sunk

  static uint64_t draw() { return kLowest + 1 + (g_machine->rng.next() >> 8); }
  void sink(uint64_t *priority) { *priority = --floor_; }

  size_t highest() const {
    const Machine &m = *g_machine;
    size_t best = 0;
    for (size_t i = 1; i < m.ready.size(); ++i) {
      if (thread_[static_cast<size_t>(m.ready[i])] > thread_[static_cast<size_t>(m.ready[best])]) best = i;
    }
    return best;
  }

  /** Hosts whose caches go before this thread. */
  const std::vector<uint32_t> &above(int tid) {
    above_.clear();
    for (uint32_t host = 0; host < cache_.size(); ++host) {
      if (cache_[host] > thread_[static_cast<size_t>(tid)]) above_.push_back(host);
    }
    return above_;
  }

  /** One thing that the cache can do: write a dirty line back, let a flush take effect, or fetch what others use. */
  void event(Host &host) {
    Machine &m = *g_machine;
    const uint32_t recent = std::min(m.recent_count, kRecentLines);
    for (uint32_t i = 1; i <= recent; ++i) {
      const uint64_t line = m.recent[(m.recent_count - i) % kRecentLines];
      if ((host.state[line] & kValid) && host.dirty[line] != 0) {
        act_evict(host, line);
        return;
      }
    }
    for (auto &thread : m.threads) {
      if (thread->host != host.id || thread->pending.empty()) continue;
      if (act_retire(*thread, m.rng.below(thread->pending.size()))) return;
    }
    for (uint32_t i = 1; i <= recent; ++i) {
      const uint64_t line = m.recent[(m.recent_count - i) % kRecentLines];
      if (host.state[line] != 0 || (m.touched[line] & ~(1ull << host.id)) == 0) continue;
      act_fill(host, line, 5);
      return;
    }
    if (m.port->waiting() != 0) act_land(m.port->waiting_at(0)->host, m.port->waiting_at(0)->line);
  }

  std::vector<uint64_t> thread_, cache_;  ///< priorities; the highest goes first
  std::vector<uint64_t> changes_;         ///< steps, the next one last
  std::vector<uint32_t> above_;
  uint64_t floor_ = kLowest;
  uint64_t longest_ = kFirstSteps, last_steps_ = 0;
};

}  // namespace

std::unique_ptr<Chooser> make_pct_chooser() {
  return std::make_unique<PctChooser>();
}

}  // namespace prismem
