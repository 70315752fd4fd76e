/**
 * @file access.hpp
 * One hooked load or store: the inline path for a hit, and the door to the slow path.
 */
#pragma once

#include "modules.hpp"

namespace prismem {

/** Any access: brings the lines into the view, checks and records it. `address` may be anywhere. */
void slow_load(uint64_t address, uint64_t bytes, uint64_t pc, bool checked);
void slow_store(uint64_t address, uint64_t bytes, uint64_t pc);
/** The address is in the view of another host: ends the run. */
void foreign_access(uint64_t address, uint64_t pc);

struct PcCacheEntry {
  uint64_t pc;
  uint32_t id;
};
inline constexpr uint32_t kPcCacheEntries = 4096;
extern PcCacheEntry g_pc_cache[kPcCacheEntries];

inline uint32_t pc_id(uint64_t pc) {
  const PcCacheEntry &entry = g_pc_cache[(pc ^ (pc >> 12)) % kPcCacheEntries];
  return LIKELY(entry.pc == pc) ? entry.id : intern_pc(pc);
}

/** Record one store of the running thread, `bytes` at `offset` (aligned, at most 16), in the shadow. */
template <uint32_t bytes>
inline void shadow_store_aligned(uint64_t offset, uint64_t pc) {
  const uint64_t word = offset >> 3;
  const uint64_t touched = bytes >= 8 ? 0xff : ((1ull << bytes) - 1) << (offset & 7);
  const WordMeta meta{(++g_fast.version << 24) | (touched << 16) | g_fast.actor, g_fast.epoch, pc_id(pc)};
  const uint64_t line = offset >> kLineShift;
  if (UNLIKELY(g_fast.sharers[line] & g_fast.others)) shadow_shared(line, word, word + (bytes == 16));
  g_fast.meta[word] = meta;
  g_fast.newest[word] = meta;
  if (bytes == 16) {
    g_fast.meta[word + 1] = meta;
    g_fast.newest[word + 1] = meta;
  }
}

inline bool in_view(uint64_t address) {
  return address - g_fast.view < g_fast.view_bytes;
}
inline bool in_any_view(uint64_t address) {
  return address - g_fast.all_views < g_fast.all_views_bytes;
}

/** `bytes` is a power of two up to 16 and the address is aligned to it. */
template <uint32_t bytes>
inline void hook_load(uint64_t address, uint64_t pc) {
  const uint64_t offset = address - g_fast.view;
  if (LIKELY(offset < g_fast.view_bytes)) {
    if (LIKELY(g_fast.state[offset >> kLineShift] == kValid && g_fast.budget > 0)) {
      --g_fast.budget;
      ++g_fast.loads;
      g_fast.store_armed = 0;
      g_fast.last_offset = offset;
      g_fast.last_pc = pc;
      return;
    }
    slow_load(address, bytes, pc, true);
  } else if (UNLIKELY(in_any_view(address))) {
    foreign_access(address, pc);
  }
}

template <uint32_t bytes>
inline void hook_store(uint64_t address, uint64_t pc) {
  const uint64_t offset = address - g_fast.view;
  if (LIKELY(offset < g_fast.view_bytes)) {
    const uint64_t line = offset >> kLineShift;
    if (LIKELY((g_fast.state[line] & kValid) && g_fast.dirty[line] != 0 && g_fast.store_gate == 0 &&
               g_fast.budget > 0)) {
      --g_fast.budget;
      ++g_fast.stores;
      g_fast.last_offset = offset;
      g_fast.last_pc = pc;
      g_fast.dirty[line] |= ((1ull << bytes) - 1) << (offset & (kLineBytes - 1));
      if (LIKELY(g_fast.newest != nullptr)) shadow_store_aligned<bytes>(offset, pc);
      g_fast.store_armed = 1;
      return;
    }
    slow_store(address, bytes, pc);
  } else if (UNLIKELY(in_any_view(address))) {
    foreign_access(address, pc);
  }
}

}  // namespace prismem
