/*
 * Repair of the prefix index on pools that are broken by hand, in every way that a dead holder of the index lock can leave
 * behind and a few more. Linked with the objects of the library, since repair is no public function: recovery calls it.
 *
 * usage: pm_internal FILE [SEED [ROUNDS]]
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/bucket.h"
#include "../../src/repair.h"
#include "../pm_test.h"

#define BLOCK_BYTES 128u
#define SLOTS 64u
#define CAPACITY 24u
#define BLOCKS 20u
#define LIVING 0u
#define DEAD 1u
#define MANAGER 2u

typedef struct bench {
  pm_test_ctx ctx;
  pm_pool *living, *dead, *keeper;
  pm_test_manager manager;
  uint64_t random;
  pm_digest blocks[BLOCKS];
  pm_ref kept, filling, lost; /* pinned by the living node; being filled by it; being filled by the dead one */
} bench;

int pm_test_fail(const pm_test_ctx *ctx, const void *addr, const char *where, const char *format, ...) {
  va_list args;
  (void)addr;
  printf("FAIL %s: seed %llu: ", where, (unsigned long long)ctx->seed);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  return 1;
}

static pm_digest digest_of(uint64_t number) {
  return (pm_digest){.lo = number % 7, .hi = number + 1}; /* seven homes: chains overlap */
}

static int reserve(bench *b, pm_pool *pool, uint64_t request, pm_digest digest, pm_ref *ref) {
  PM_EXPECT_OK(&b->ctx, pm_index_reserve(pool, request, pm_digest_root(pool), &digest, 1, 0, ref));
  PM_EXPECT(&b->ctx, ref->state == PM_REF_RESERVED, "state %u", ref->state);
  return 0;
}

static int insert(bench *b, pm_pool *pool, pm_digest digest) {
  _Alignas(64) unsigned char payload[BLOCK_BYTES];
  pm_ref ref;
  if (reserve(b, pool, 1, digest, &ref) != 0) return 1;
  pm_test_payload(digest, payload, sizeof payload);
  PM_EXPECT_OK(&b->ctx, pm_test_dma_in(pool, ref.offset, payload, sizeof payload));
  PM_EXPECT_OK(&b->ctx, pm_index_commit(pool, &ref, 1));
  PM_EXPECT_OK(&b->ctx, pm_index_release(pool, 1, &ref, 1));
  return 0;
}

static int open_as(bench *b, uint32_t node, pm_pool **pool) {
  const pm_open_options options = {.node = node};
  PM_EXPECT_OK(&b->ctx, pm_open(b->ctx.path, &options, pool));
  return 0;
}

/* 20 blocks, half inserted by each node; each node pins one and fills another. */
static int make(bench *b, uint32_t replacement) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES,
                                    .nodes = 3,
                                    .index_slots = SLOTS,
                                    .index_capacity = CAPACITY,
                                    .block_bytes = BLOCK_BYTES,
                                    .replacement = replacement};
  pm_ref pinned;
  PM_EXPECT_OK(&b->ctx, pm_format(b->ctx.path, &format));
  if (open_as(b, MANAGER, &b->keeper) != 0 || open_as(b, LIVING, &b->living) != 0 || open_as(b, DEAD, &b->dead) != 0)
    return 1;
  pm_test_manager_start(&b->manager, b->keeper);
  for (uint32_t i = 0; i < BLOCKS; ++i) {
    b->blocks[i] = digest_of(i);
    if (insert(b, i % 2 ? b->living : b->dead, b->blocks[i]) != 0) return 1;
  }
  PM_EXPECT(&b->ctx, pm_index_lookup(b->living, 7, &b->blocks[0], 1, &b->kept) == 1, "block 0 is missing");
  PM_EXPECT(&b->ctx, pm_index_lookup(b->dead, 7, &b->blocks[1], 1, &pinned) == 1, "block 1 is missing");
  return reserve(b, b->living, 8, digest_of(100), &b->filling) || reserve(b, b->dead, 8, digest_of(101), &b->lost);
}

static void unmake(bench *b) {
  pm_test_manager_stop(&b->manager);
  (void)pm_close(b->keeper);
}

static void set_state(bench *b, uint64_t slot, enum pmi_bucket_state state) {
  pmi_bucket *bucket = pmi_bucket_at(b->living, slot);
  bucket->control = pmi_with_state(bucket->control, state);
}

static uint64_t slot_of(bench *b, pm_digest digest) {
  for (uint64_t slot = 0; slot < SLOTS; ++slot) {
    const pmi_bucket *bucket = pmi_bucket_at(b->living, slot);
    if (pmi_state_of(bucket->control) == BUCKET_READY && pmi_digest_is(&bucket->digest, digest)) return slot;
  }
  return SLOTS;
}

/* Half of a move: the block also stands, READY, in a vacant slot nearer to its home. 0 when there is none. */
static int half_move(bench *b, uint64_t from) {
  const pmi_bucket *old = pmi_bucket_at(b->living, from);
  for (uint64_t to = pmi_home_of(b->living, old->digest); to != from; to = (to + 1) % SLOTS) {
    pmi_bucket *bucket = pmi_bucket_at(b->living, to);
    if (pmi_state_of(bucket->control) != BUCKET_TOMBSTONE) continue;
    const uint32_t generation = pmi_generation_of(bucket->control) + 1;
    *bucket = *old;
    bucket->control = pmi_control(BUCKET_READY, LIVING, generation);
    set_state(b, from, BUCKET_EVICTING);
    return 1;
  }
  return 0;
}

static void break_list(bench *b) {
  pmi_link *links = pmi_at(b->living, b->living->layout.links);
  pmi_index_head *head = pmi_at(b->living, b->living->layout.index_head);
  for (unsigned i = 0; i < 12; ++i) {
    links[pm_test_random(&b->random) % SLOTS].older = (uint32_t)(pm_test_random(&b->random) % (UINT64_C(2) * SLOTS));
    links[pm_test_random(&b->random) % SLOTS].younger = (uint32_t)(pm_test_random(&b->random) % (UINT64_C(2) * SLOTS));
  }
  if (pm_test_random(&b->random) % 2) head->youngest = pm_test_random(&b->random) % (UINT64_C(2) * SLOTS);
  head->oldest = pm_test_random(&b->random) % (UINT64_C(2) * SLOTS);
  head->count += pm_test_random(&b->random) % 5;
  head->tombstones += 1 + pm_test_random(&b->random) % 5;
}

static int repair(bench *b, uint64_t dead) {
  PM_EXPECT_OK(&b->ctx, pmi_hold_begin(b->living, &b->living->index));
  const int rc = pmi_index_repair(b->living, dead);
  PM_EXPECT_OK(&b->ctx, pmi_hold_end(b->living, &b->living->index));
  PM_EXPECT(&b->ctx, rc == 0, "repair: %d %s", rc, pm_error_text());
  return 0;
}

/* Every block but those of `gone` is found with its own bytes. */
static int verify_blocks(bench *b, uint64_t gone) {
  _Alignas(64) unsigned char payload[BLOCK_BYTES];
  for (uint32_t i = 0; i < BLOCKS; ++i) {
    pm_ref ref;
    const int hits = pm_index_lookup(b->living, 20, &b->blocks[i], 1, &ref);
    PM_EXPECT(&b->ctx, hits == !(gone >> i & 1u), "block %u: %d hits", i, hits);
    if (hits == 0) continue;
    PM_EXPECT_OK(&b->ctx, pm_test_dma_out(b->living, ref.offset, payload, sizeof payload));
    PM_EXPECT(&b->ctx, pm_test_payload_check(b->blocks[i], payload, sizeof payload) < 0, "block %u: other bytes", i);
    PM_EXPECT_OK(&b->ctx, pm_index_release(b->living, 20, &ref, 1));
  }
  return 0;
}

static int verify_memory(bench *b, uint64_t blocks) {
  pm_alloc_info memory;
  PM_EXPECT_OK(&b->ctx, pm_alloc_stat(b->living, &memory));
  PM_EXPECT(&b->ctx, memory.bytes_live == blocks * BLOCK_BYTES, "%llu bytes are live for %llu blocks",
            (unsigned long long)memory.bytes_live, (unsigned long long)blocks);
  return 0;
}

/* States, links and counters; the dead node's reservation and pin go, those of the living one stay. The memory of the block
 * that the dead node was filling waits for the repair of the allocator. */
static int repair_after_death(bench *b, uint32_t replacement) {
  if (make(b, replacement) != 0) return 1;
  const uint64_t first = 2 + pm_test_random(&b->random) % (BLOCKS - 4);
  for (uint64_t i = first; i < first + 3; ++i) set_state(b, slot_of(b, b->blocks[i]), BUCKET_EVICTING);
  break_list(b);
  PM_EXPECT(&b->ctx, pm_index_audit(b->living) == -EUCLEAN, "the audit does not see what is broken");
  if (repair(b, UINT64_C(1) << DEAD) != 0) return 1;
  PM_EXPECT_OK(&b->ctx, pm_index_audit(b->living));
  if (verify_blocks(b, 0) != 0 || verify_memory(b, BLOCKS + 2) != 0) return 1;
  PM_EXPECT(&b->ctx, pm_index_commit(b->dead, &b->lost, 1) == -ESTALE, "the dead node's block was committed");
  PM_EXPECT(&b->ctx, pm_index_evict(b->living, CAPACITY) == BLOCKS - 1, "the dead node's pin stands");
  PM_EXPECT(&b->ctx, pm_index_exists(b->living, b->blocks[0]) == 1, "the living node's pin is lost");
  PM_EXPECT_OK(&b->ctx, pm_index_commit(b->living, &b->filling, 1));
  PM_EXPECT_OK(&b->ctx, pm_index_release(b->living, 8, &b->filling, 1));
  PM_EXPECT_OK(&b->ctx, pm_index_release(b->living, 7, &b->kept, 1));
  const int evicted = pm_index_evict(b->living, CAPACITY);
  PM_EXPECT(&b->ctx, evicted == 2, "%d evicted of the last two: %s", evicted, pm_error_text());
  PM_EXPECT_OK(&b->ctx, pm_index_audit(b->living));
  if (verify_memory(b, 1) != 0) return 1;
  PM_EXPECT_OK(&b->ctx, pm_close(b->living));
  unmake(b);
  return 0;
}

/* A compaction that died in the middle of moving a block: one of the two buckets goes, the block stays. */
static int repair_half_move(bench *b) {
  if (make(b, PM_REPLACE_LRU) != 0) return 1;
  set_state(b, slot_of(b, b->blocks[3]), BUCKET_TOMBSTONE); /* homes overlap: room in front of others */
  set_state(b, slot_of(b, b->blocks[10]), BUCKET_TOMBSTONE);
  unsigned moved = 0;
  for (uint32_t i = 11; i < BLOCKS; ++i) moved += (unsigned)half_move(b, slot_of(b, b->blocks[i]));
  PM_EXPECT(&b->ctx, moved > 0, "nothing could be moved");
  if (repair(b, UINT64_C(1) << DEAD) != 0) return 1;
  PM_EXPECT_OK(&b->ctx, pm_index_audit(b->living));
  if (verify_blocks(b, 1u << 3 | 1u << 10) != 0) return 1;
  pm_index_info info;
  PM_EXPECT_OK(&b->ctx, pm_index_stat(b->living, &info));
  PM_EXPECT(&b->ctx, info.resident == BLOCKS - 2 && info.reserved == 1, "%llu resident, %llu reserved",
            (unsigned long long)info.resident, (unsigned long long)info.reserved);
  unmake(b);
  return 0;
}

/* What is whole stays as it is, the order of eviction included. */
static int repair_of_whole(bench *b) {
  if (make(b, PM_REPLACE_LRU) != 0) return 1;
  if (repair(b, 0) != 0 || repair(b, 0) != 0) return 1;
  PM_EXPECT_OK(&b->ctx, pm_index_audit(b->living));
  PM_EXPECT(&b->ctx, pm_index_evict(b->living, 3) == 3, "evict: %s", pm_error_text());
  if (verify_blocks(b, 1u << 2 | 1u << 3 | 1u << 4) != 0) return 1; /* 0 and 1 are pinned */
  PM_EXPECT_OK(&b->ctx, pm_index_commit(b->dead, &b->lost, 1));
  unmake(b);
  return 0;
}

/* A READY bucket whose place is no place of the heap is not believed. */
static int repair_of_garbage(bench *b) {
  if (make(b, PM_REPLACE_LRU) != 0) return 1;
  pmi_bucket_at(b->living, slot_of(b, b->blocks[5]))->offset = 64;
  pmi_bucket_at(b->living, slot_of(b, b->blocks[6]))->offset = UINT64_MAX - 63;
  pmi_bucket_at(b->living, slot_of(b, b->blocks[7]))->length = UINT64_C(2) * BLOCK_BYTES;
  set_state(b, slot_of(b, b->blocks[8]), (enum pmi_bucket_state)77);
  if (repair(b, 0) != 0) return 1;
  PM_EXPECT_OK(&b->ctx, pm_index_audit(b->living));
  if (verify_blocks(b, 0xfu << 5) != 0) return 1;
  unmake(b);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: pm_internal FILE [SEED [ROUNDS]]\n");
    return 2;
  }
  const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  const uint64_t rounds = argc > 3 ? strtoull(argv[3], NULL, 0) : 20;
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    bench b = {.ctx = {.path = argv[1], .seed = seed, .nodes = 3}, .random = seed};
    if (repair_after_death(&b, (uint32_t)(seed % 2)) || repair_half_move(&b) || repair_of_whole(&b) ||
        repair_of_garbage(&b))
      return 1;
  }
  printf("ok %llu rounds\n", (unsigned long long)rounds);
  return 0;
}
