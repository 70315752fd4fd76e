/**
 * @file digest.h
 * Chained 128-bit block digest over raw token ids.
 *
 * A block is named by all tokens up to its end: its digest follows from the digest of the block before it and its own
 * token ids. Not cryptographic: it separates prompts, it does not resist an opponent who picks tokens to collide.
 *
 * Definition (all arithmetic modulo 2^64, rotl = rotate left; other languages mirror exactly this):
 *
 *   K1 = 0x9E3779B97F4A7C15   K2 = 0xC2B2AE3D27D4EB4F   K3 = 0x165667B19E3779F9   K4 = 0xD6E8FEB86659FD93
 *   fmix(x):  x ^= x >> 32;  x *= K4;  x ^= x >> 32;  x *= K4;  x ^= x >> 32
 *
 *   chain(parent, tokens[0..n)):
 *     lo = parent.lo ^ (n * K1)
 *     hi = parent.hi ^ (n * K2)
 *     for each pair i = 0, 2, 4, ... < n:
 *       w  = tokens[i] + (tokens[i+1] << 32)                 (tokens[n] counts as 0)
 *       lo = rotl(lo ^ (w * K1), 29) * K2 + hi
 *       hi = rotl(hi ^ rotl(w * K3, 32), 37) * K4 + lo       (with the new lo)
 *     lo += hi;  hi += lo;  lo = fmix(lo);  hi = fmix(hi);  lo += hi;  hi += lo
 *
 *   seed(hash_seed, name_space[16]) = chain({hash_seed, fmix(hash_seed ^ K1)}, the name space as 4 little-endian u32)
 *
 * Each step is a bijection of (lo, hi) for a given w, so no two states fall together before the finish, and the finish is a
 * bijection as well.
 *
 * @threads any thread; pure arithmetic.
 * @visibility nothing is stored.
 * @see software/examples/library/kv_cache.py
 */
#ifndef PRISMEM_DIGEST_H
#define PRISMEM_DIGEST_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct pm_digest {
  uint64_t lo, hi;
} pm_digest;

/** Digest of the empty prefix; follows from the hash seed and the name space in the superblock. */
pm_digest pm_digest_root(const pm_pool *pool);
/** The same without a pool. */
pm_digest pm_digest_seed(uint64_t hash_seed, const uint8_t name_space[16]);
/** Digest of a block whose prefix has the digest `parent`: n token ids (u32, n >= 1). */
pm_digest pm_digest_chain(pm_digest parent, const uint32_t *tokens, size_t n);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
