/**
 * @file store.hpp
 * The states seen so far: an arena of byte arrays in order of discovery and one flat hash set of their numbers.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "program.hpp"

namespace litmus {

/** Of the arena. A program that needs more is refused rather than cut. */
constexpr size_t kStoreBytesMax = 4ull << 30;

class StateStore {
 public:
  explicit StateStore(size_t state_bytes) : state_bytes_(state_bytes), table_(1u << 12, kEmpty) {}

  size_t size() const { return count_; }
  const uint8_t *at(size_t number) const { return arena_.data() + number * state_bytes_; }

  /** Number of the state and whether it is new. @throws InputError beyond kStoreBytesMax. */
  std::pair<uint32_t, bool> insert(const uint8_t *state) {
    if (2 * (count_ + 1) > table_.size()) grow();
    const uint64_t hashed = hash(state);
    size_t slot = hashed & (table_.size() - 1);
    const uint64_t print = hashed & kPrint;
    while (table_[slot] != kEmpty) {
      const auto number = static_cast<uint32_t>(table_[slot]);
      if ((table_[slot] & kPrint) == print && memcmp(at(number), state, state_bytes_) == 0) return {number, false};
      slot = (slot + 1) & (table_.size() - 1);
    }
    if ((count_ + 1) * state_bytes_ > kStoreBytesMax) {
      throw InputError("more than " + std::to_string(count_) +
                       " states; use fewer threads or lines, or bound the cache events (--bound-cache-events 1)");
    }
    table_[slot] = print | count_;
    arena_.insert(arena_.end(), state, state + state_bytes_);
    return {static_cast<uint32_t>(count_++), true};
  }

 private:
  static constexpr uint64_t kEmpty = ~0ull;
  static constexpr uint64_t kPrint = ~0ull << 32;  ///< part of a table entry that repeats the hash

  uint64_t hash(const uint8_t *state) const {
    uint64_t result = 0x9e3779b97f4a7c15ull;
    for (size_t i = 0; i < state_bytes_; i += 8) {
      uint64_t word;
      memcpy(&word, state + i, 8);
      const auto product = static_cast<unsigned __int128>(result ^ word) * 0xd6e8feb86659fd93ull;
      result = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ (result << 7 | result >> 57);
    }
    result ^= result >> 32;
    return result * 0xbf58476d1ce4e5b9ull ^ result >> 29;
  }

  void grow() {
    std::vector<uint64_t> old(table_.size() * 2, kEmpty);
    old.swap(table_);
    for (const uint64_t item : old) {
      if (item == kEmpty) continue;
      size_t slot = hash(at(static_cast<uint32_t>(item))) & (table_.size() - 1);
      while (table_[slot] != kEmpty) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = item;
    }
  }

  size_t state_bytes_;
  size_t count_ = 0;
  std::vector<uint8_t> arena_;
  std::vector<uint64_t> table_;
};

}  // namespace litmus
