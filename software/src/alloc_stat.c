/*
 * Allocator: questions about what is allocated.
 */
#include "chunk.h"

int pmi_alloc_is_live(pm_pool *pool, uint64_t offset) {
  if (offset < pool->layout.heap || offset % PM_LINE != 0) return 0;
  const uint64_t chunk = (offset - pool->layout.heap) / pool->params.chunk_bytes;
  const uint64_t inside = (offset - pool->layout.heap) % pool->params.chunk_bytes;
  if (chunk >= pool->layout.chunk_count) return 0;
  pmi_acquire(pool, pmi_chunk_at(pool, (uint32_t)chunk), sizeof(pmi_chunk));
  const uint64_t word = pmi_load(&pmi_chunk_at(pool, (uint32_t)chunk)->word);
  const uint64_t size = (uint64_t)PM_LINE << pmi_class_of(word);
  if (pmi_kind_of(word) == CHUNK_RUN) return inside == 0;
  if (pmi_kind_of(word) != CHUNK_SMALL || inside % size != 0) return 0;
  const uint64_t block = inside / size;
  const uint64_t *live = pmi_live_of(pool, (uint32_t)chunk) + block / 64,
                 *freed = pmi_freed_of(pool, (uint32_t)chunk) + block / 64;
  pmi_drop(pool, live, sizeof *live);
  pmi_acquire(pool, freed, sizeof *freed);
  return (int)(((pmi_load(live) & ~pmi_load(freed)) >> block % 64) & 1u);
}

/* Blocks that their owner has not collected yet; their live bits are still set. Under the lock. */
static uint64_t count_freed(pm_pool *pool, uint32_t chunk, uint64_t word) {
  const uint64_t *freed = pmi_freed_of(pool, chunk);
  const uint32_t words = pmi_words_in_bitmap(pool, pmi_class_of(word));
  uint64_t blocks = 0;
  pmi_hold_read_range(pool, &pool->alloc, freed, words * sizeof *freed);
  for (uint32_t w = 0; w < words; ++w) blocks += (uint64_t)__builtin_popcountll(pmi_load(&freed[w]));
  return blocks;
}

int pm_alloc_stat(pm_pool *pool, pm_alloc_info *out) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  *out = (pm_alloc_info){.chunks_total = pool->layout.chunk_count};
  rc = pmi_heap_hold(pool);
  if (rc == 0) {
    pmi_hold_read_range(pool, &pool->alloc, pmi_owners(pool), pool->layout.chunk_count);
    for (uint32_t chunk = 0; chunk < pool->layout.chunk_count; ++chunk) {
      if (pmi_owners(pool)[chunk] == 0) continue;
      out->chunks_used += 1;
      pmi_hold_read(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
      const uint64_t word = pmi_load(&pmi_chunk_at(pool, chunk)->word);
      if (pmi_kind_of(word) != CHUNK_SMALL) {
        out->bytes_live += pool->params.chunk_bytes;
        continue;
      }
      const int own = pmi_owner_of(word) == pool->node;
      if (!own) pmi_acquire(pool, pmi_live_of(pool, chunk), pool->layout.bitmap_bytes);
      const uint64_t size = (uint64_t)PM_LINE << pmi_class_of(word);
      const uint64_t vacant = (pmi_count_free(pool, chunk, pmi_class_of(word)) + count_freed(pool, chunk, word)) * size;
      out->bytes_live += pool->params.chunk_bytes - vacant;
      out->chunks_own += own ? 1u : 0u;
      out->bytes_free_in_own_chunks += own ? vacant : 0;
    }
    rc = pmi_heap_let_go(pool);
  }
  return rc;
}
