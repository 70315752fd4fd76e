/**
 * @file index.h
 * Prefix index: fixed hash table in the pool, block digest -> payload, longest-prefix lookup, pins, LRU eviction.
 *
 * States of a bucket: FREE -> RESERVED (one node fills it) -> READY -> EVICTING -> tombstone or FREE. Readers never take a
 * lock; whoever holds a pin may read the payload; after a payload copy pm_index_check() tells whether it was the right one.
 * Pins are counted by (node, request); the node's share stands in the pool in lines that only this node writes.
 */
#ifndef PRISMEM_INDEX_H
#define PRISMEM_INDEX_H

#include "digest.h"
#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct pm_ref {
  uint64_t slot;       /**< bucket number */
  uint64_t offset;     /**< payload in the pool */
  uint32_t generation; /**< of the bucket, never repeated while the pool lives */
  uint32_t state;      /**< enum pm_ref_state */
} pm_ref;

enum pm_ref_state {
  PM_REF_NONE = 0,
  PM_REF_HIT = 1,      /**< resident and pinned */
  PM_REF_RESERVED = 2, /**< this caller fills it: DMA, then pm_index_commit; pinned */
  PM_REF_PENDING = 3   /**< another caller is filling it; not pinned */
};

/** Longest resident prefix of the chain[0..n): pins it for `request`, fills refs[0..k) and returns k. Lock-free; moves
 *  nothing in the replacement list. */
int pm_index_lookup(pm_pool *pool, uint64_t request, const pm_digest *chain, size_t n, pm_ref *refs);

/** Make room for the rest of a chain whose first `hits` blocks refs[0..hits) came from pm_index_lookup: blocks that are
 *  absent become RESERVED with payload memory, first to last, evicting the least recently used unpinned block when the index
 *  or the pool is full; blocks that are present are pinned (HIT) or PENDING. `root` is the digest of the empty prefix.
 *  Then the whole chain moves to the young end of the replacement list, last block first, so that a parent is never older
 *  than its child. Returns the number of RESERVED blocks; hits == n only moves the chain. -ENOSPC: no block can be evicted
 *  (what was reserved so far is undone, pins of refs[0..hits) stay). */
int pm_index_reserve(pm_pool *pool, uint64_t request, pm_digest root, const pm_digest *chain, size_t n, size_t hits,
                     pm_ref *refs);

/** The payload of the RESERVED refs is complete in the device: publish them READY (state becomes HIT, the pin stays).
 *  Others in the array are left alone. -ESTALE: a generation differs. */
int pm_index_commit(pm_pool *pool, pm_ref *refs, size_t n);
/** Give up RESERVED refs: bucket and memory are freed. */
int pm_index_abort(pm_pool *pool, uint64_t request, pm_ref *refs, size_t n);
/** 0: the block of `ref` still is what it was, its bytes are right. -ESTALE: it was evicted; drop the bytes. */
int pm_index_check(pm_pool *pool, const pm_ref *ref);
/** Drop the pins of HIT refs. -EPROTO: `request` does not hold that pin (an underflow is an error, never clamped). */
int pm_index_release(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n);
/** 1 resident, 0 not; takes no pin. */
int pm_index_exists(pm_pool *pool, pm_digest digest);
/** Evict up to n unpinned blocks, oldest first; returns how many. */
int pm_index_evict(pm_pool *pool, size_t n);

typedef struct pm_index_info {
  uint64_t slots, capacity, resident, tombstones, reserved;
  uint64_t inserts, evictions; /**< since the pool was formatted */
  uint64_t probe_max;
} pm_index_info;
/** Takes the index lock. */
int pm_index_stat(pm_pool *pool, pm_index_info *out);
/** Full audit under the index lock: links of the replacement list, states, digests reachable by probing, payload inside
 *  live allocations, no pin on a FREE bucket. 0 or -EUCLEAN with pm_error_text() naming the first fault. */
int pm_index_audit(pm_pool *pool);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
