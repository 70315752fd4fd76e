/**
 * @file digest.h
 * Chained 128-bit block digest over raw token ids.
 */
#ifndef PRISMEM_DIGEST_H
#define PRISMEM_DIGEST_H

#include "pool.h"

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
#endif
