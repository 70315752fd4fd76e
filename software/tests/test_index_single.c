/*
 * Prefix index on one node: a full table, tombstones, pins and their errors.
 */
#include <errno.h>
#include <string.h>

#include "tests.h"

#define CAPACITY 6u

static pm_digest digest_of(uint64_t number) {
  return (pm_digest){.lo = number, .hi = number * 77 + 1};
}

/* Insert one block without payload; its ref stays pinned. */
static int insert(pm_test_ctx *ctx, uint64_t request, pm_digest digest, pm_ref *ref) {
  const int rc = pm_index_reserve(ctx->pool, request, pm_digest_root(ctx->pool), &digest, 1, 0, ref);
  return rc < 0 ? rc : pm_index_commit(ctx->pool, ref, 1);
}

static int full_setup(pm_test_ctx *ctx) {
  pm_ref refs[CAPACITY], more[3];
  pm_index_info info;
  for (uint64_t i = 0; i < CAPACITY; ++i) PM_EXPECT_OK(ctx, insert(ctx, 1, digest_of(i), &refs[i]));
  const pm_digest chain[3] = {digest_of(0), digest_of(100), digest_of(101)};
  int rc = pm_index_reserve(ctx->pool, 2, pm_digest_root(ctx->pool), chain, 3, 0, more);
  PM_EXPECT(ctx, rc == -ENOSPC, "reserve in a table of pinned blocks: %d", rc);
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, &refs[2], 1));
  rc = pm_index_reserve(ctx->pool, 2, pm_digest_root(ctx->pool), chain, 3, 0, more);
  PM_EXPECT(ctx, rc == -ENOSPC, "two blocks into the place of one: %d", rc);
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.reserved == 0 && info.resident == CAPACITY - 1, "%llu reserved, %llu resident after the undo",
            (unsigned long long)info.reserved, (unsigned long long)info.resident);
  PM_EXPECT_OK(ctx, insert(ctx, 2, digest_of(100), &more[0]));
  PM_EXPECT(ctx, pm_index_exists(ctx->pool, digest_of(2)) == 0, "the evicted block is still there");
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 2, more, 1));
  refs[2].state = PM_REF_NONE;
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, refs, CAPACITY));
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, 100) == CAPACITY, "not all could be evicted");
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  pm_alloc_info memory;
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &memory));
  PM_EXPECT(ctx, memory.bytes_live == 0, "%llu bytes leaked", (unsigned long long)memory.bytes_live);
  return 0;
}

const pm_test pm_test_index_full = {.name = "index_full",
                                    .about = "no room: refused, undone, nothing leaks",
                                    .format = {.index_slots = 8, .index_capacity = CAPACITY, .block_bytes = 64},
                                    .nodes_max = 1,
                                    .setup = full_setup};

/* Few homes, so chains are long; the young half stays, the old half is replaced over and over. */
static int tombstones_setup(pm_test_ctx *ctx) {
  pm_index_info info;
  for (uint64_t i = 0; i < 400 * (uint64_t)ctx->scale; ++i) {
    pm_ref ref;
    const pm_digest digest = {.lo = (i % 5) * 11 + (i << 32), .hi = i};
    PM_EXPECT_OK(ctx, insert(ctx, i, digest, &ref));
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, i, &ref, 1));
    for (uint64_t back = 0; back < 32 && back <= i && i % 16 == 0; ++back) {
      const pm_digest earlier = {.lo = ((i - back) % 5) * 11 + ((i - back) << 32), .hi = i - back};
      const int expected = back < 24;
      PM_EXPECT(ctx, pm_index_exists(ctx->pool, earlier) == expected, "insert %llu: the block %llu inserts back %s",
                (unsigned long long)i, (unsigned long long)back, expected ? "is lost" : "is still there");
    }
    if (i % 64 == 0) PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  }
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.resident == 24, "%llu resident", (unsigned long long)info.resident);
  PM_EXPECT(ctx, info.tombstones <= info.slots / 16 + 1, "%llu tombstones in %llu slots",
            (unsigned long long)info.tombstones, (unsigned long long)info.slots);
  return 0;
}

const pm_test pm_test_index_tombstones = {.name = "index_tombstones",
                                          .about = "churn on few homes: all found, tombstones bounded",
                                          .format = {.index_slots = 64, .index_capacity = 24, .block_bytes = 64},
                                          .nodes_max = 1,
                                          .setup = tombstones_setup};

static int pins_setup(pm_test_ctx *ctx) {
  pm_pool *pool = ctx->pool;
  pm_ref ref, again;
  const pm_digest digest = digest_of(5);
  PM_EXPECT_OK(ctx, insert(ctx, 1, digest, &ref));
  PM_EXPECT(ctx, pm_index_lookup(pool, 2, &digest, 1, &again) == 1, "not found");
  PM_EXPECT(ctx, pm_index_evict(pool, 1) == 0, "a pinned block was evicted");
  PM_EXPECT_OK(ctx, pm_index_release(pool, 1, &ref, 1));
  PM_EXPECT(ctx, pm_index_release(pool, 1, &ref, 1) == -EPROTO, "a pin was dropped twice");
  PM_EXPECT(ctx, pm_index_release(pool, 3, &again, 1) == -EPROTO, "another request's pin was dropped");
  PM_EXPECT(ctx, pm_index_evict(pool, 1) == 0, "a pinned block was evicted");
  PM_EXPECT(ctx, pm_close(pool) == -EBUSY, "closed with pins");
  PM_EXPECT_OK(ctx, pm_index_release(pool, 2, &again, 1));
  PM_EXPECT(ctx, pm_index_evict(pool, 1) == 1, "the block could not be evicted");
  PM_EXPECT(ctx, pm_index_check(pool, &ref) == -ESTALE, "an evicted block passes the check");
  PM_EXPECT_OK(ctx, insert(ctx, 1, digest, &again));
  PM_EXPECT(ctx, again.generation != ref.generation, "generation %u came twice", ref.generation);
  PM_EXPECT(ctx, pm_index_check(pool, &ref) == -ESTALE, "a reused bucket passes the check");
  ref = again;
  ref.state = PM_REF_RESERVED;
  PM_EXPECT(ctx, pm_index_commit(pool, &ref, 1) == -ESTALE, "committed twice");
  PM_EXPECT(ctx, pm_index_lookup(pool, 9, &digest, 1, NULL) == -EINVAL, "lookup without refs");
  for (uint64_t i = 0; i < 300; ++i)
    PM_EXPECT(ctx, pm_index_lookup(pool, i, &digest, 1, &ref) == 1, "request %d", (int)i);
  for (uint64_t i = 0; i < 300; ++i) PM_EXPECT_OK(ctx, pm_index_release(pool, i, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(pool, 1, &again, 1));
  return 0;
}

const pm_test pm_test_index_pins = {.name = "index_pins",
                                    .about = "pins by request, generations, underflow is an error",
                                    .format = {.index_slots = 8, .block_bytes = 64},
                                    .nodes_max = 1,
                                    .setup = pins_setup};
