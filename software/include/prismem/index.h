/**
 * @file index.h
 * Prefix index: fixed hash table in the pool, block digest -> payload, longest-prefix lookup, pins, LRU eviction.
 *
 * States of a bucket: FREE -> RESERVED (one node fills it) -> READY -> EVICTING -> tombstone or FREE. Readers never take a
 * lock; whoever holds a pin may read the payload; after a payload copy pm_index_check() tells whether it was the right one.
 * Pins are counted by (node, request); the node's share stands in the pool in lines that only this node writes.
 *
 * @threads any thread; a pin belongs to (node, request), not to a thread.
 * @visibility a commit publishes the entry; the payload must be in the device before (pm_dma_wait), and pinned payload
 *   is read by DMA or behind pm_acquire.
 * @see software/examples/library/kv_cache.py
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

/** @name Batches
 *  Many chains in one call: one fence for the pins of all, one tenure of the index lock. Each function stores a chain's own
 *  outcome in its `result` and returns the sum, or the first error; the other chains are served all the same. @{ */

/** One request of a batch. */
typedef struct pm_chain {
  uint64_t request;         /**< who pins */
  const pm_digest *digests; /**< n of them */
  size_t n;
  pm_ref *refs; /**< n of them */
  size_t hits;  /**< set by lookup, read by reserve: refs[0..hits) are pinned */
  int result;   /**< lookup: hits; reserve: blocks RESERVED; commit, release: 0; or -errno */
} pm_chain;

/** pm_index_lookup of each chain. Returns the hits of all; an error pins nothing. */
int pm_index_lookup_many(pm_pool *pool, pm_chain *chains, size_t count);
/** pm_index_reserve of each chain, in order. A chain with -ENOSPC is undone alone. */
int pm_index_reserve_many(pm_pool *pool, pm_digest root, pm_chain *chains, size_t count);
/** pm_index_commit, pm_index_release of each chain's refs. */
int pm_index_commit_many(pm_pool *pool, pm_chain *chains, size_t count);
int pm_index_release_many(pm_pool *pool, pm_chain *chains, size_t count);
/** pm_index_check of n refs with one fence; -ESTALE names the first that is gone. */
int pm_index_check_many(pm_pool *pool, const pm_ref *refs, size_t n);
/** @} */

/** Transfers that pm_index_fetch keeps in flight. */
#define PM_FETCH_FLIGHT_MAX 64u
/** Copy the payload of n pinned blocks to dst (n * block_bytes, in order), then check every generation. -ESTALE: drop the
 *  bytes. -EINVAL: a ref is not HIT. */
int pm_index_fetch(pm_pool *pool, const pm_ref *refs, size_t n, void *dst);

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
