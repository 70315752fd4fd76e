/**
 * @file engine.hpp
 * Descriptors of the bench's traffic engines, and the lines that they have written.
 */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "prismem_emu.h"

namespace prismem {

/** Lines by place: a hash table with open addressing, since every line of a loaded simulation comes by here. */
class LineStore {
 public:
  using Line = std::array<uint32_t, 16>;

  LineStore() : keys_(kSlotsMin, kNone), lines_(kSlotsMin) {}
  const Line *find(uint64_t key) const;
  Line &at(uint64_t key);

 private:
  static constexpr size_t kSlotsMin = 1024;
  static constexpr uint64_t kNone = ~0ull;
  size_t slot_of(uint64_t key) const;
  void grow();

  std::vector<uint64_t> keys_;
  std::vector<Line> lines_;
  size_t used_ = 0;
};

struct Engines {
  std::map<std::pair<int, int>, emu_engine> by_phase_and_host;
  LineStore store;

  int phases() const;
  bool drives(int host) const;
  const emu_engine *find(int phase, int host) const;
};

}  // namespace prismem
