/**
 * @file sync.cpp
 * Who knows of whom: vector clocks, published by release stores, joined by acquire loads that read such a store.
 *
 * In the pool a clock belongs to one version of one word, since a host may still read an old version; the last
 * kReleasesKept are remembered. In ordinary memory, which is coherent within its host, the word alone is the key.
 * Forgetting an old clock can hide a fault but never invent one.
 */
#include <algorithm>

#include "access.hpp"
#include "trace.hpp"

namespace prismem {

namespace {

struct Release {
  uint64_t version = 0;
  Clock clock;
};
struct SyncWord {
  std::vector<Release> kept;
  uint32_t next = 0;
};

constexpr size_t kLocalWordsMax = 1u << 16;

std::unordered_map<uint64_t, SyncWord> g_pool_words;
std::unordered_map<uint64_t, Clock> g_local_words;

const Clock *find_release(const SyncWord &sync, uint64_t version) {
  for (const Release &release : sync.kept) {
    if (release.version == version) return &release.clock;
  }
  return nullptr;
}

}  // namespace

void clock_join(Clock &into, const Clock &from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void sync_reset() {
  g_pool_words.clear();
  g_local_words.clear();
}

void sync_advance(Thread &thread) {
  const uint32_t epoch = ++thread.clock[thread.actor];
  if (g_machine->current == &thread) g_fast.epoch = epoch;
}

namespace {

void publish(uint64_t address, const Clock &clock, bool keep_sequence, uint64_t replaced_version) {
  if (!in_view(address)) {
    if (g_local_words.size() >= kLocalWordsMax) g_local_words.clear();
    Clock &known = g_local_words[address];
    if (keep_sequence) {
      clock_join(known, clock);
    } else {
      known = clock;
    }
    return;
  }
  const uint64_t word = (address - g_fast.view) >> 3;
  const uint64_t version = g_fast.meta[word].version();
  SyncWord &sync = g_pool_words[word];
  Clock joined;
  if (keep_sequence) {
    if (const Clock *before = find_release(sync, replaced_version)) {
      joined = clock;
      clock_join(joined, *before);
    }
  }
  if (sync.kept.size() < kReleasesKept) sync.kept.emplace_back();
  Release &release = sync.kept[sync.next];
  sync.next = (sync.next + 1) % kReleasesKept;
  release.version = version;
  release.clock = joined.empty() ? clock : joined;
}

}  // namespace

void sync_release(Thread &thread, uint64_t address, bool keep_sequence, uint64_t replaced_version) {
  if (!detecting()) return;
  publish(address, thread.clock, keep_sequence, replaced_version);
  sync_advance(thread);
}

void sync_relaxed_store(Thread &thread, uint64_t address) {
  if (detecting() && !thread.fence_release.empty()) publish(address, thread.fence_release, false, 0);
}

void sync_acquire(Thread &thread, uint64_t address, bool now) {
  if (!detecting()) return;
  const Clock *clock = nullptr;
  if (in_view(address)) {
    const uint64_t word = (address - g_fast.view) >> 3;
    const uint64_t version = g_fast.meta[word].version();
    if (now && word == thread.acquired_word && version == thread.acquired_version && !g_machine->tracing) return;
    const auto it = g_pool_words.find(word);
    if (it != g_pool_words.end()) clock = find_release(it->second, version);
    if (now && clock != nullptr) {
      thread.acquired_word = word;
      thread.acquired_version = version;
    }
  } else {
    const auto it = g_local_words.find(address);
    if (it != g_local_words.end()) clock = &it->second;
  }
  if (clock == nullptr) return;
  if (UNLIKELY(g_machine->tracing) && in_view(address)) {
    trace(Event::kAcquire, thread.host, address - g_fast.view, 0, 0, g_fast.meta[(address - g_fast.view) >> 3].actor());
  }
  clock_join(now ? thread.clock : thread.fence_acquire, *clock);
}

void sync_release_fence(Thread &thread) {
  if (!detecting()) return;
  thread.fence_release = thread.clock;
  sync_advance(thread);
}

void sync_acquire_fence(Thread &thread) {
  if (!detecting()) return;
  clock_join(thread.clock, thread.fence_acquire);
}

void sync_fork(Thread &parent, Thread &child) {
  clock_join(child.clock, parent.clock);
  sync_advance(parent);
}

void sync_join(Thread &thread, const Clock &from) {
  clock_join(thread.clock, from);
}

}  // namespace prismem
