/**
 * @file events.cpp
 * What a cache does by itself: prefetch lines that others use, evict, let pending flushes retire, move DMA lines. Nearly
 * every fault needs one such event at the right line, so they prefer lines used a moment ago and lines at their first
 * store.
 */
#include "access.hpp"
#include "port.hpp"

namespace prismem {

namespace {

/** Of ten events of the random policy. */
constexpr uint64_t kEventKinds = 10, kFillsBelow = 4, kEvictionsBelow = 7, kRetirementsBelow = 9;
/** The random policy acts at one in so many first stores and committed flushes. */
constexpr uint64_t kFirstStoreOdds = 4, kHuntOdds = 4, kFlushOdds = 8;
/** Attempts to find a line that an event can act on. */
constexpr uint32_t kPickAttempts = 4;

uint64_t pick_line() {
  Machine &m = *g_machine;
  const uint32_t recent = m.recent_count < kRecentLines ? m.recent_count : kRecentLines;
  if (recent != 0 && !m.rng.one_in(4)) return m.recent[m.rng.below(recent)];
  if (m.touched_lines.empty()) return kNever;
  return m.touched_lines[m.rng.below(m.touched_lines.size())];
}

void random_fill() {
  Machine &m = *g_machine;
  Host &host = m.hosts[m.rng.below(m.hosts.size())];
  for (uint32_t i = 0; i < kPickAttempts; ++i) {
    const uint64_t line = pick_line();
    if (line == kNever || host.state[line] != 0 || (m.touched[line] & ~(1ull << host.id)) == 0) continue;
    note(Decision::kPrefetch, host.id, line, 0, nullptr);
    prefetch_line(host, line);
    return;
  }
}

void random_evict() {
  Machine &m = *g_machine;
  Host &host = m.hosts[m.rng.below(m.hosts.size())];
  for (uint32_t i = 0; i < kPickAttempts; ++i) {
    uint64_t line = pick_line();
    if (i + 1 == kPickAttempts && !host.lines.empty()) line = host.lines[m.rng.below(host.lines.size())];
    if (line == kNever || !(host.state[line] & kValid)) continue;
    note(Decision::kEvict, host.id, line, host.dirty[line], nullptr);
    evict(host, line);
    return;
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
      note(Decision::kEvict, host.id, line, host.dirty[line], nullptr);
      evict(host, line);
      if (m.rng.one_in(2)) stall_now();
      return;
    }
  }
}

/** The line stored to a moment ago leaves before anything else, and others get to see it. */
bool evict_hunted() {
  Machine &m = *g_machine;
  const uint64_t line = m.hunted_line;
  if (line == kNever) return false;
  Host &host = m.hosts[m.hunted_host];
  m.hunted_line = kNever;
  if (host.dirty[line] == 0 || !(host.state[line] & kValid)) return false;
  note(Decision::kEvict, host.id, line, host.dirty[line], nullptr);
  evict(host, line);
  stall_now();
  return true;
}

void warm_others(Host &host, uint64_t line) {
  for (Host &other : g_machine->hosts) {
    if (other.id == host.id || other.state[line] != 0) continue;
    note(Decision::kPrefetch, other.id, line, 1, nullptr);
    prefetch_line(other, line);
  }
}

}  // namespace

void cache_event() {
  Machine &m = *g_machine;
  if (m.cfg.policy == EMU_POLICY_EAGER) {
    evict_dirty();
    if (m.rng.one_in(4)) retire_one();
    if (m.rng.one_in(4)) m.port->progress();
    return;
  }
  if (m.cfg.policy != EMU_POLICY_RANDOM || evict_hunted()) return;
  const uint64_t kind = m.rng.below(kEventKinds);
  if (kind < kFillsBelow) {
    random_fill();
  } else if (kind < kEvictionsBelow) {
    random_evict();
  } else if (kind < kRetirementsBelow) {
    retire_one();
  } else {
    m.port->progress();
    Host &host = m.hosts[m.rng.below(m.hosts.size())];
    if (host.dma_active != 0) dma_progress(host, 1 + static_cast<uint32_t>(m.rng.below(4)));
  }
}

void on_first_store(Host &host, uint64_t line) {
  Machine &m = *g_machine;
  if (m.hosts.size() == 1) return;
  if (m.cfg.policy == EMU_POLICY_WARM) {
    warm_others(host, line);
    return;
  }
  if (m.cfg.policy != EMU_POLICY_RANDOM || m.cfg.event_every == 0) return;
  if (m.rng.one_in(kHuntOdds)) {
    m.hunted_line = line;
    m.hunted_host = host.id;
    hasten_event();
  } else if (m.rng.one_in(kFirstStoreOdds)) {
    Host &other = m.hosts[(host.id + 1 + m.rng.below(m.hosts.size() - 1)) % m.hosts.size()];
    if (other.state[line] != 0) return;
    note(Decision::kPrefetch, other.id, line, 2, nullptr);
    prefetch_line(other, line);
  }
}

void on_flush_commit(Host &host, uint64_t line) {
  Machine &m = *g_machine;
  if (m.cfg.policy != EMU_POLICY_RANDOM || m.cfg.event_every == 0 || !m.rng.one_in(kFlushOdds)) return;
  if (host.state[line] != 0 || (m.touched[line] & ~(1ull << host.id)) == 0) return;
  note(Decision::kPrefetch, host.id, line, 3, nullptr);
  prefetch_line(host, line);
}

}  // namespace prismem
