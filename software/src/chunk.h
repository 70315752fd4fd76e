/*
 * Lines of the allocator in the pool: the word of a chunk, its owner and its bitmaps.
 *
 * The words of bitmaps and chunks announce nothing: whoever holds a block learned of it in some ordered way, and the rest
 * happens under the lock. They are atomic because a bit is looked at while its neighbours change.
 *
 * Chunk word: kind in bits 0..7, owner node in 8..15, class in 16..23, chunks of the run in 32..63.
 */
#ifndef PRISMEM_SRC_CHUNK_H
#define PRISMEM_SRC_CHUNK_H

#include "hold.h"

enum chunk_kind { CHUNK_FREE = 0, CHUNK_SMALL = 1, CHUNK_RUN = 2, CHUNK_INSIDE = 3 };

static inline uint64_t pmi_chunk_word(enum chunk_kind kind, uint32_t owner, uint32_t class, uint32_t run) {
  return (uint64_t)kind | (uint64_t)owner << 8 | (uint64_t)class << 16 | (uint64_t)run << 32;
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

#endif
