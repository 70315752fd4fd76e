/*
 * pm_fsck: what the locks protect. Each structure is checked by itself, then against the others: a payload block is named by
 * exactly one bucket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"
#include "chunk.h"
#include "fsck.h"

static uint64_t word_at(pm_pool *pool, uint32_t chunk) {
  return pmi_load(&pmi_chunk_at(pool, chunk)->word);
}

static int any_bit(const uint64_t *bits, uint64_t words) {
  for (uint64_t w = 0; w < words; ++w) {
    if (pmi_load(&bits[w]) != 0) return 1;
  }
  return 0;
}

static void check_small(pmi_fsck *f, uint32_t chunk, uint64_t word) {
  pm_pool *pool = f->pool;
  const uint32_t class = pmi_class_of(word);
  if (class >= 32 || (uint64_t)PM_LINE << class > pool->params.chunk_bytes / 2) {
    pmi_fsck_found(f, "chunk", "%u: block class %u is larger than half a chunk", chunk, class);
    return;
  }
  const uint64_t *live = pmi_live_of(pool, chunk), *freed = pmi_freed_of(pool, chunk);
  for (uint32_t w = 0; w < pmi_words_in_bitmap(pool, class); ++w) {
    const uint64_t lost = pmi_load(&freed[w]) & ~pmi_load(&live[w]);
    if (lost != 0)
      pmi_fsck_found(f, "block", "chunk %u: blocks 0x%llx of word %u are freed and not allocated", chunk,
                     (unsigned long long)lost, w);
    f->report.blocks_live += (uint64_t)__builtin_popcountll(pmi_load(&live[w]) & ~pmi_load(&freed[w]));
  }
}

/* Returns the chunks that the run covers, the head included. */
static uint32_t check_run(pmi_fsck *f, uint32_t head, uint64_t word) {
  const uint32_t run = pmi_run_of(word);
  uint32_t covered = 1;
  while (covered < run && head + covered < f->pool->layout.chunk_count &&
         pmi_kind_of(word_at(f->pool, head + covered)) == CHUNK_INSIDE)
    covered += 1;
  if (covered != run) pmi_fsck_found(f, "chunk", "%u: a run of %u chunks has only %u", head, run, covered);
  f->report.blocks_live += 1;
  return covered;
}

/* Returns the number of chunks looked at. */
static uint32_t check_chunk(pmi_fsck *f, uint32_t chunk) {
  pm_pool *pool = f->pool;
  const uint64_t word = word_at(pool, chunk);
  switch (pmi_kind_of(word)) {
    case CHUNK_FREE:
      if (any_bit(pmi_live_of(pool, chunk), pool->layout.bitmap_bytes / 8))
        pmi_fsck_found(f, "block", "chunk %u is free and has allocated blocks", chunk);
      return 1;
    case CHUNK_SMALL:
      check_small(f, chunk, word);
      return 1;
    case CHUNK_RUN:
      return check_run(f, chunk, word);
    case CHUNK_INSIDE:
      pmi_fsck_found(f, "chunk", "%u: is lost, part of no run", chunk);
      return 1;
  }
  pmi_fsck_found(f, "chunk", "%u: kind %u is unknown", chunk, (unsigned)pmi_kind_of(word));
  return 1;
}

static void check_chunks(pmi_fsck *f) {
  pm_pool *pool = f->pool;
  for (uint32_t chunk = 0; chunk < pool->layout.chunk_count; chunk += check_chunk(f, chunk)) {
  }
  for (uint32_t chunk = 0; chunk < pool->layout.chunk_count; ++chunk) {
    const uint64_t word = word_at(pool, chunk);
    const int used = pmi_kind_of(word) != CHUNK_FREE;
    const uint32_t owner = used ? pmi_owner_of(word) + 1 : 0;
    f->report.chunks_used += (uint64_t)used;
    if (owner > pool->params.nodes) pmi_fsck_found(f, "chunk", "%u: owner %u is no node", chunk, owner - 1);
    if (pmi_owners(pool)[chunk] != owner)
      pmi_fsck_found(f, "chunk", "%u: its owner is %u by its word and %u by the table", chunk, owner,
                     pmi_owners(pool)[chunk]);
  }
}

static enum pmi_bucket_state state_at(const pm_pool *pool, uint64_t slot) {
  return pmi_state_of(pmi_load(&pmi_bucket_at(pool, slot)->control));
}

static int is_block(const pm_pool *pool, uint64_t slot) {
  const enum pmi_bucket_state state = state_at(pool, slot);
  return state == BUCKET_READY || state == BUCKET_RESERVED || state == BUCKET_EVICTING;
}

/* No free bucket between its home and the block. */
static int is_reachable(const pm_pool *pool, uint64_t slot) {
  uint64_t at = pmi_home_of(pool, pmi_digest_get(&pmi_bucket_at(pool, slot)->digest));
  while (at != slot && state_at(pool, at) != BUCKET_FREE) at = (at + 1) & pmi_slot_mask(pool);
  return at == slot;
}

static void check_bucket(pmi_fsck *f, uint64_t slot) {
  pm_pool *pool = f->pool;
  const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  const unsigned long long number = slot;
  switch (state_at(pool, slot)) {
    case BUCKET_FREE:
    case BUCKET_TOMBSTONE:
      return;
    case BUCKET_RESERVED:
      pmi_fsck_found(f, "index", "slot %llu is reserved by node %u, which never filled it", number,
                     pmi_reserver_of(pmi_load(&bucket->control)));
      return;
    case BUCKET_EVICTING:
      pmi_fsck_found(f, "index", "slot %llu: an eviction was left half-way", number);
      return;
    case BUCKET_READY:
      f->report.resident += 1;
      if (bucket->length != pool->params.block_bytes || bucket->offset < pool->layout.heap ||
          bucket->offset > pool->params.pool_bytes - pool->params.block_bytes)
        pmi_fsck_found(f, "index", "slot %llu: its payload 0x%llx lies outside of the heap", number,
                       (unsigned long long)bucket->offset);
      else if (!pmi_alloc_is_live(pool, bucket->offset))
        pmi_fsck_found(f, "index", "slot %llu: its payload 0x%llx is not allocated", number,
                       (unsigned long long)bucket->offset);
      if (!is_reachable(pool, slot)) pmi_fsck_found(f, "index", "slot %llu: no lookup finds it", number);
      return;
  }
  pmi_fsck_found(f, "index", "slot %llu: state %u is unknown", number, (unsigned)state_at(pool, slot));
}

/* The list from the old end: as many as there are blocks, none twice, each answered by its neighbour. */
static void check_list(pmi_fsck *f, uint8_t *listed) {
  pm_pool *pool = f->pool;
  const pmi_index_head *head = pmi_at(pool, pool->layout.index_head);
  const pmi_link *links = pmi_at(pool, pool->layout.links);
  uint64_t blocks = 0, tombstones = 0, last = 0;
  for (uint64_t number = head->oldest; number != 0; number = links[last - 1].younger) {
    if (number > pool->params.index_slots || listed[number - 1] || links[number - 1].older != last) {
      pmi_fsck_found(f, "index", "the replacement list is broken behind slot %llu", (unsigned long long)last);
      break;
    }
    listed[number - 1] = 1;
    last = number;
  }
  for (uint64_t slot = 0; slot < pool->params.index_slots; ++slot) {
    blocks += (uint64_t)is_block(pool, slot);
    tombstones += state_at(pool, slot) == BUCKET_TOMBSTONE;
    if (is_block(pool, slot) != listed[slot])
      pmi_fsck_found(f, "index", "slot %llu is %s the replacement list", (unsigned long long)slot,
                     listed[slot] ? "empty and in" : "missing in");
  }
  if (head->count != blocks || head->tombstones != tombstones)
    pmi_fsck_found(f, "index", "%llu blocks and %llu tombstones, the counters say %llu and %llu",
                   (unsigned long long)blocks, (unsigned long long)tombstones, (unsigned long long)head->count,
                   (unsigned long long)head->tombstones);
}

static int compare(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void check_leak(pmi_fsck *f, uint64_t offset, const uint64_t *named, uint64_t n) {
  if (bsearch(&offset, named, n, sizeof *named, compare) == NULL)
    pmi_fsck_found(f, "leak", "payload block 0x%llx is in no bucket", (unsigned long long)offset);
}

static void check_payload(pmi_fsck *f, uint64_t *named) {
  pm_pool *pool = f->pool;
  uint64_t n = 0;
  for (uint64_t slot = 0; slot < pool->params.index_slots; ++slot) {
    if (is_block(pool, slot)) named[n++] = pmi_bucket_at(pool, slot)->offset;
  }
  qsort(named, n, sizeof *named, compare);
  for (uint64_t i = 1; i < n; ++i) {
    if (named[i] == named[i - 1])
      pmi_fsck_found(f, "block", "payload 0x%llx is in two buckets", (unsigned long long)named[i]);
  }
  for (uint32_t chunk = 0; chunk < pool->layout.chunk_count; ++chunk) {
    const uint64_t word = word_at(pool, chunk);
    const uint32_t class = pmi_class_of(word);
    if (pmi_purpose_of(word) != PURPOSE_PAYLOAD) continue;
    if (pmi_kind_of(word) == CHUNK_RUN) check_leak(f, pmi_block_offset(pool, chunk, 0, 0), named, n);
    if (pmi_kind_of(word) != CHUNK_SMALL || class >= 32) continue;
    for (uint32_t block = 0; block < pmi_blocks_in_chunk(pool, class); ++block) {
      const uint64_t offset = pmi_block_offset(pool, chunk, class, block);
      if (pmi_alloc_is_live(pool, offset)) check_leak(f, offset, named, n);
    }
  }
}

static void check_objects(pmi_fsck *f) {
  const pmi_object *table = pmi_at(f->pool, f->pool->layout.objects);
  for (uint32_t i = 0; i < f->pool->params.objects; ++i) {
    if (table[i].key_bytes == 0) continue;
    f->report.objects += 1;
    if (table[i].key_bytes > PM_KEY_MAX)
      pmi_fsck_found(f, "object", "entry %u: a key of %u bytes", i, table[i].key_bytes);
    for (uint32_t j = 0; j < i; ++j) {
      if (table[i].key_bytes == table[j].key_bytes && table[i].key_bytes <= PM_KEY_MAX &&
          memcmp(table[i].key, table[j].key, table[i].key_bytes) == 0)
        pmi_fsck_found(f, "object", "entries %u and %u have the same key", j, i);
    }
  }
}

int pmi_fsck_data(pmi_fsck *f) {
  const uint64_t slots = f->pool->params.index_slots;
  uint64_t *named = calloc(slots, sizeof *named);
  uint8_t *listed = calloc(slots, sizeof *listed);
  int rc = 0;
  if (named == NULL || listed == NULL) {
    rc = pmi_error(ENOMEM, "memory: no room to check %llu slots", (unsigned long long)slots);
  } else {
    check_chunks(f);
    for (uint64_t slot = 0; slot < slots; ++slot) check_bucket(f, slot);
    check_list(f, listed);
    check_payload(f, named);
    check_objects(f);
  }
  free(named);
  free(listed);
  return rc;
}
