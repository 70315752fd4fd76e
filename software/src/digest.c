/*
 * Chained 128-bit digest; digest.h defines it.
 */
#include "prismem/digest.h"

#include "handle.h"

#define K1 UINT64_C(0x9E3779B97F4A7C15)
#define K2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define K3 UINT64_C(0x165667B19E3779F9)
#define K4 UINT64_C(0xD6E8FEB86659FD93)

static inline uint64_t rotl(uint64_t x, unsigned n) {
  return (x << n) | (x >> (64u - n));
}

static inline uint64_t fmix(uint64_t x) {
  x ^= x >> 32;
  x *= K4;
  x ^= x >> 32;
  x *= K4;
  return x ^ (x >> 32);
}

pm_digest pm_digest_chain(pm_digest parent, const uint32_t *tokens, size_t n) {
  uint64_t lo = parent.lo ^ ((uint64_t)n * K1);
  uint64_t hi = parent.hi ^ ((uint64_t)n * K2);
  for (size_t i = 0; i < n; i += 2) {
    const uint64_t w = tokens[i] | (i + 1 < n ? (uint64_t)tokens[i + 1] << 32 : 0);
    lo = rotl(lo ^ (w * K1), 29) * K2 + hi;
    hi = rotl(hi ^ rotl(w * K3, 32), 37) * K4 + lo;
  }
  lo += hi;
  hi += lo;
  lo = fmix(lo);
  hi = fmix(hi);
  lo += hi;
  hi += lo;
  return (pm_digest){lo, hi};
}

pm_digest pm_digest_seed(uint64_t hash_seed, const uint8_t name_space[16]) {
  uint32_t words[4];
  for (unsigned i = 0; i < 4; ++i) {
    const uint8_t *b = name_space + (size_t)4 * i;
    words[i] = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
  }
  return pm_digest_chain((pm_digest){hash_seed, fmix(hash_seed ^ K1)}, words, 4);
}

pm_digest pm_digest_root(const pm_pool *pool) {
  return pool->root;
}
