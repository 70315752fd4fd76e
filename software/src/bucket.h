/*
 * Buckets of the prefix index as the holder of PMI_LOCK_INDEX sees them: probing, taking and retiring a slot, compaction.
 *
 * Control word: state in bits 0..7, node that reserved it in 8..15, generation in 32..63. It is the last word stored whenever
 * a bucket changes hands, so a reader that finds the same control word before and after reading the rest has read one block.
 */
#ifndef PRISMEM_SRC_BUCKET_H
#define PRISMEM_SRC_BUCKET_H

#include "hold.h"
#include "prismem/index.h"

enum pmi_bucket_state {
  BUCKET_FREE = 0,
  BUCKET_RESERVED = 1,
  BUCKET_READY = 2,
  BUCKET_EVICTING = 3,
  BUCKET_TOMBSTONE = 4
};

static inline uint64_t pmi_control(enum pmi_bucket_state state, uint32_t node, uint32_t generation) {
  return (uint64_t)state | (uint64_t)node << 8 | (uint64_t)generation << 32;
}
static inline enum pmi_bucket_state pmi_state_of(uint64_t control) {
  return (enum pmi_bucket_state)(control & 0xff);
}
static inline uint32_t pmi_reserver_of(uint64_t control) {
  return control >> 8 & 0xff;
}
static inline uint32_t pmi_generation_of(uint64_t control) {
  return (uint32_t)(control >> 32);
}
static inline uint64_t pmi_with_state(uint64_t control, enum pmi_bucket_state state) {
  return (control & ~UINT64_C(0xff)) | (uint64_t)state;
}

/* Digests in the pool are read and written word by word: compilers move whole structures in ways that the access hooks of an
 * instrumented build do not see. */
static inline int pmi_digest_is(const pm_digest *stored, pm_digest wanted) {
  if (PM_MUTANT_ON(digest_truncated)) return (uint32_t)stored->lo == (uint32_t)wanted.lo;
  return stored->lo == wanted.lo && stored->hi == wanted.hi;
}
static inline pm_digest pmi_digest_get(const pm_digest *stored) {
  return (pm_digest){.lo = stored->lo, .hi = stored->hi};
}
static inline void pmi_digest_set(pm_digest *stored, pm_digest value) {
  stored->lo = value.lo;
  stored->hi = value.hi;
}

static inline pmi_bucket *pmi_bucket_at(const pm_pool *pool, uint64_t slot) {
  return (pmi_bucket *)pmi_at(pool, pool->layout.buckets) + slot;
}
static inline uint64_t pmi_slot_mask(const pm_pool *pool) {
  return pool->params.index_slots - 1;
}
static inline uint64_t pmi_home_of(const pm_pool *pool, pm_digest digest) {
  const uint32_t unused = 64 - pool->params.place_bits;
  return digest.lo << unused >> unused & pmi_slot_mask(pool);
}

/** batch.c: 0, or -EINVAL when chain `number` of a batch has no memory for its blocks. */
int pmi_chain_check(const pm_chain *chain, size_t number);

/* All below: PMI_LOCK_INDEX is held. */

/** The head line, read. */
pmi_index_head *pmi_index_head_of(pm_pool *pool);
/** Bring the bucket up to date and return its control word. */
uint64_t pmi_bucket_read(pm_pool *pool, uint64_t slot);
/** State of the digest's bucket and *slot, or BUCKET_FREE and the slot where it would go. */
enum pmi_bucket_state pmi_bucket_find(pm_pool *pool, pm_digest digest, pm_digest parent, uint64_t *slot);
/** Fill a free slot or tombstone: RESERVED by this node with the next generation, which is returned. */
uint32_t pmi_bucket_take(pm_pool *pool, uint64_t slot, pm_digest digest, pm_digest parent, uint64_t offset);
/** READY -> EVICTING, unless somebody has pinned it: then it stays READY and the result is 0. *uses gets pmi_use.uses. */
int pmi_bucket_close(pm_pool *pool, uint64_t slot, uint32_t *uses);
/** Store the control word last and publish the bucket at once: readers need no lock to see it. */
void pmi_bucket_store(pm_pool *pool, uint64_t slot, uint64_t control);
/** A bucket that is RESERVED by this node or EVICTING becomes a tombstone, or free where no probe chain passes. */
void pmi_bucket_retire(pm_pool *pool, uint64_t slot);
/** When there are many tombstones: move blocks that nobody has pinned towards their home, free what no chain needs. */
void pmi_bucket_compact(pm_pool *pool);

#endif
