/*
 * Repair of the allocator. The word of each chunk is the truth, and the live bitmap of a chunk of small blocks; owner bytes
 * and the counts of blocks that others freed follow from them.
 *
 * What a holder of the lock, or an owner of chunks, may leave behind:
 *   claim of a chunk      the word is set or not: a chunk without blocks, which goes back
 *   a run                 some words are set: whatever is not a head with all its chunks behind it goes back, whether the run
 *                         was on its way in or out
 *   free of a foreign     freed bit set, the owner's count not raised: every count is raised, so that owners look
 *   collecting of those   live bit cleared, freed bit not: the freed bit goes
 *   chunks of the dead    become this node's, with the blocks that are live
 * Blocks that a dead node had asked for stay live: only its program knew who else holds them. Payload of the index is the
 * exception, since the buckets tell.
 */
#include <errno.h>
#include <stdlib.h>

#include "bucket.h"
#include "chunk.h"
#include "repair.h"

static uint64_t word_of(pm_pool *pool, uint32_t chunk) {
  pmi_hold_read(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
  return pmi_load(&pmi_chunk_at(pool, chunk)->word);
}

static uint32_t chunks(const pm_pool *pool) {
  return (uint32_t)pool->layout.chunk_count;
}

/* Chunks behind the head of a run that belong to it. */
static uint32_t followers(pm_pool *pool, uint32_t head, uint32_t run) {
  uint32_t n = 0;
  while (n + 1 < run && head + n + 1 < chunks(pool) && pmi_kind_of(word_of(pool, head + n + 1)) == CHUNK_INSIDE) n += 1;
  return n;
}

/* Half-made runs go; whole ones of the dead change hands. */
static void repair_runs(pm_pool *pool, uint64_t dead) {
  for (uint32_t chunk = 0; chunk < chunks(pool);) {
    const uint64_t word = word_of(pool, chunk);
    const enum chunk_kind kind = pmi_kind_of(word);
    const uint32_t run = pmi_run_of(word);
    if (kind != CHUNK_RUN) {
      if (kind != CHUNK_FREE && kind != CHUNK_SMALL) pmi_chunk_set(pool, chunk, CHUNK_FREE);
      chunk += 1;
      continue;
    }
    const uint32_t behind = followers(pool, chunk, run);
    const int whole = run != 0 && behind + 1 == run;
    for (uint32_t i = 0; i <= behind; ++i) {
      const uint64_t part = word_of(pool, chunk + i);
      if (!whole)
        pmi_chunk_set(pool, chunk + i, CHUNK_FREE);
      else if (dead >> pmi_owner_of(part) & 1u)
        pmi_chunk_set(pool, chunk + i, pmi_with_owner(part, pool->node));
    }
    chunk += behind + 1;
  }
}

/* The bitmaps of a chunk whose owner is dead; published before the chunk changes hands. Returns the blocks that are live. */
static uint32_t settle_bitmaps(pm_pool *pool, uint32_t chunk, uint32_t class) {
  pmi_acquire(pool, pmi_live_of(pool, chunk), pool->layout.bitmap_bytes);
  (void)pmi_chunk_collect(pool, chunk, class);
  pmi_hold_publish(pool, &pool->alloc);
  return pmi_blocks_in_chunk(pool, class) - pmi_count_free(pool, chunk, class);
}

static void adopt_small(pm_pool *pool, uint64_t dead) {
  for (uint32_t chunk = 0; chunk < chunks(pool); ++chunk) {
    const uint64_t word = word_of(pool, chunk);
    if (pmi_kind_of(word) != CHUNK_SMALL || !(dead >> pmi_owner_of(word) & 1u)) continue;
    if (settle_bitmaps(pool, chunk, pmi_class_of(word)) == 0) {
      pmi_chunk_set(pool, chunk, CHUNK_FREE);
      continue;
    }
    pmi_chunk_set(pool, chunk, pmi_with_owner(word, pool->node));
    pmi_heap_adopt(pool, chunk);
  }
}

static void rebuild_derived(pm_pool *pool) {
  for (uint32_t chunk = 0; chunk < chunks(pool); ++chunk) pmi_chunk_set(pool, chunk, word_of(pool, chunk));
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    pmi_freed_count *count = pmi_freed_count_of(pool, node);
    pmi_hold_read(pool, &pool->alloc, count);
    count->count += 1;
    pmi_hold_changed(pool, &pool->alloc, count);
  }
}

int pmi_alloc_repair(pm_pool *pool, uint64_t dead_nodes_mask) {
  pool->alloc.epoch += 1; /* no copy from before is trusted */
  repair_runs(pool, dead_nodes_mask);
  adopt_small(pool, dead_nodes_mask);
  rebuild_derived(pool);
  pmi_hold_publish(pool, &pool->alloc);
  return 0;
}

static int compare(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Payload that some bucket names, in order. */
static uint64_t collect_named(pm_pool *pool, uint64_t *named) {
  uint64_t n = 0;
  for (uint64_t slot = 0; slot < pool->params.index_slots; ++slot) {
    const enum pmi_bucket_state state = pmi_state_of(pmi_bucket_read(pool, slot));
    if (state != BUCKET_FREE && state != BUCKET_TOMBSTONE) named[n++] = pmi_bucket_at(pool, slot)->offset;
  }
  qsort(named, n, sizeof *named, compare);
  return n;
}

/* Offsets of allocated payload, at most `room`; returns how many. The heap is held. */
static uint64_t collect_payload(pm_pool *pool, uint64_t *payload, uint64_t room) {
  uint64_t n = 0;
  for (uint32_t chunk = 0; chunk < chunks(pool); ++chunk) {
    const uint64_t word = word_of(pool, chunk);
    if (pmi_purpose_of(word) != PURPOSE_PAYLOAD) continue;
    if (pmi_kind_of(word) == CHUNK_RUN && n < room) payload[n++] = pmi_block_offset(pool, chunk, 0, 0);
    if (pmi_kind_of(word) != CHUNK_SMALL) continue;
    const uint32_t class = pmi_class_of(word);
    for (uint32_t block = 0; block < pmi_blocks_in_chunk(pool, class) && n < room; ++block) {
      const uint64_t offset = pmi_block_offset(pool, chunk, class, block);
      if (pmi_alloc_is_live(pool, offset)) payload[n++] = offset;
    }
  }
  return n;
}

int pmi_alloc_reclaim(pm_pool *pool) {
  const uint64_t slots = pool->params.index_slots, room = (pool->params.pool_bytes / pool->params.block_bytes) + 1;
  uint64_t *named = calloc(slots, sizeof *named), *payload = calloc(room, sizeof *payload);
  int rc = named == NULL || payload == NULL ? pmi_error(ENOMEM, "memory: no room to look for lost payload") : 0;
  if (rc == 0) rc = pmi_heap_hold(pool);
  if (rc == 0) {
    const uint64_t names = collect_named(pool, named), blocks = collect_payload(pool, payload, room);
    rc = pmi_heap_let_go(pool);
    for (uint64_t i = 0; rc == 0 && i < blocks; ++i) {
      if (bsearch(&payload[i], named, names, sizeof *named, compare) == NULL) rc = pm_free(pool, payload[i]);
    }
  }
  free(named);
  free(payload);
  return rc;
}
