/**
 * @file rng.hpp
 * The one random stream of a run: xoshiro256** seeded by splitmix64, and integer-only sampling, so that a seed gives the
 * same run with every compiler and C library (the distributions of <random> do not).
 */
#pragma once

#include <cstdint>

namespace prismem {

inline uint64_t splitmix64(uint64_t &state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

class Rng {
 public:
  explicit Rng(uint64_t seed) {
    for (uint64_t &word : s_) word = splitmix64(seed);
  }

  uint64_t next() {
    const uint64_t result = rotl(s_[1] * 5, 7) * 9;
    const uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotl(s_[3], 45);
    return result;
  }

  /** 0 .. n-1; n is at least 1. */
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }

  bool one_in(uint64_t n) { return below(n) == 0; }

  /** Steps to the next event of a memoryless process with this mean, at least 1: -ln(u) by leading zeros and a linear mantissa. */
  uint64_t countdown(uint64_t mean) {
    const uint64_t u = next() | 1;
    const int zeros = __builtin_clzll(u);
    const uint64_t fraction = 0xffff - (((u << zeros) >> 47) & 0xffff);  // 1 - mantissa, in 1/65536
    const uint64_t log2_q16 = (static_cast<uint64_t>(zeros) << 16) + fraction;
    const uint64_t ln_q16 = (log2_q16 * 45426) >> 16;  // ln 2 in 1/65536
    return 1 + static_cast<uint64_t>((static_cast<unsigned __int128>(ln_q16) * mean) >> 16);
  }

 private:
  static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t s_[4];
};

}  // namespace prismem
