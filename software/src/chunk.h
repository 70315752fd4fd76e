/*
 * Lines of the allocator in the pool: the word of a chunk, its owner and its bitmaps.
 *
 * The words of bitmaps and chunks announce nothing: whoever holds a block learned of it in some ordered way, and the rest
 * happens under the lock. They are atomic because a bit is looked at while its neighbours change.
 *
 * Chunk word: kind in bits 0..7, owner node in 8..15, class in 16..23, purpose in 24..31, chunks of the run in 32..63.
 */
#ifndef PRISMEM_SRC_CHUNK_H
#define PRISMEM_SRC_CHUNK_H

#include "hold.h"

enum chunk_kind { CHUNK_FREE = 0, CHUNK_SMALL = 1, CHUNK_RUN = 2, CHUNK_INSIDE = 3 };

/* Blocks of one chunk serve one purpose: what callers of pm_alloc asked for is theirs to keep track of; of payload the
 * index does, so a payload block that no bucket names is a leak. */
enum chunk_purpose { PURPOSE_USER = 0, PURPOSE_PAYLOAD = 1, PURPOSES = 2 };

static inline uint64_t pmi_chunk_word(enum chunk_kind kind, uint32_t owner, uint32_t class, enum chunk_purpose purpose,
                                      uint32_t run) {
  return (uint64_t)kind | (uint64_t)owner << 8 | (uint64_t)class << 16 | (uint64_t)purpose << 24 | (uint64_t)run << 32;
}
static inline enum chunk_purpose pmi_purpose_of(uint64_t word) {
  return (enum chunk_purpose)(word >> 24 & 0xff);
}
static inline uint64_t pmi_with_owner(uint64_t word, uint32_t owner) {
  return (word & ~UINT64_C(0xff00)) | (uint64_t)owner << 8;
}
static inline enum chunk_kind pmi_kind_of(uint64_t word) {
  return (enum chunk_kind)(word & 0xff);
}
static inline uint32_t pmi_owner_of(uint64_t word) {
  return word >> 8 & 0xff;
}
static inline uint32_t pmi_class_of(uint64_t word) {
  return word >> 16 & 0xff;
}
static inline uint32_t pmi_run_of(uint64_t word) {
  return (uint32_t)(word >> 32);
}

static inline uint8_t *pmi_owners(pm_pool *pool) {
  return pmi_at(pool, pool->layout.owners);
}
static inline pmi_chunk *pmi_chunk_at(pm_pool *pool, uint32_t chunk) {
  return (pmi_chunk *)pmi_at(pool, pool->layout.chunks) + chunk;
}
static inline uint64_t *pmi_live_of(pm_pool *pool, uint32_t chunk) {
  return pmi_at(pool, pool->layout.live + chunk * pool->layout.bitmap_bytes);
}
static inline uint64_t *pmi_freed_of(pm_pool *pool, uint32_t chunk) {
  return pmi_at(pool, pool->layout.freed + chunk * pool->layout.bitmap_bytes);
}
static inline pmi_freed_count *pmi_freed_count_of(pm_pool *pool, uint32_t node) {
  return (pmi_freed_count *)pmi_at(pool, pool->layout.freed_count) + node;
}

static inline uint32_t pmi_blocks_in_chunk(const pm_pool *pool, uint32_t class) {
  return (uint32_t)(pool->params.chunk_bytes / PM_LINE >> class);
}
static inline uint32_t pmi_words_in_bitmap(const pm_pool *pool, uint32_t class) {
  return (pmi_blocks_in_chunk(pool, class) + 63) / 64;
}
static inline uint32_t pmi_count_free(pm_pool *pool, uint32_t chunk, uint32_t class) {
  const uint64_t *live = pmi_live_of(pool, chunk);
  uint32_t used = 0;
  for (uint32_t w = 0; w < pmi_words_in_bitmap(pool, class); ++w)
    used += (uint32_t)__builtin_popcountll(pmi_load(&live[w]));
  return pmi_blocks_in_chunk(pool, class) - used;
}

/* alloc.c: the heap of this node with PMI_LOCK_ALLOC held, and what others freed collected. */
int pmi_heap_hold(pm_pool *pool);
int pmi_heap_let_go(pm_pool *pool);

/* alloc.c, with the heap's mutex and PMI_LOCK_ALLOC held. */
/* Blocks of the chunk that other nodes have freed are free: returns how many. Its live bitmap has been acquired. */
uint32_t pmi_chunk_collect(pm_pool *pool, uint32_t chunk, uint32_t class);
/* Owner byte and word of a chunk. */
void pmi_chunk_set(pm_pool *pool, uint32_t chunk, uint64_t word);
/* The chunk of small blocks, whose bitmaps are in order, is this node's from now on. */
void pmi_heap_adopt(pm_pool *pool, uint32_t chunk);
/* Where a block lies. */
static inline uint64_t pmi_block_offset(const pm_pool *pool, uint32_t chunk, uint32_t class, uint32_t block) {
  return pool->layout.heap + chunk * pool->params.chunk_bytes + ((uint64_t)block * PM_LINE << class);
}

#endif
