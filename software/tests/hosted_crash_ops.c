/*
 * The operations of the crash sweep, what they are prepared with, and what is checked of blocks and of the user's record.
 */
#include <string.h>

#include "hosted_crash.h"

#define BLOCKS 12u /* digests that the test uses */

static pm_digest digest_of(uint32_t block) {
  return (pm_digest){.lo = block + 1, .hi = UINT64_C(0x1234567) * (block + 1)};
}

static const pm_digest root;

static void chain_of(uint32_t first, pm_digest chain[CRASH_CHAIN]) {
  for (uint32_t i = 0; i < CRASH_CHAIN; ++i) chain[i] = digest_of(first + i);
}

int pm_crash_insert(pm_test_ctx *ctx, uint64_t request, uint32_t first) {
  static _Alignas(64) unsigned char payload[CRASH_NODES][CRASH_BLOCK];
  pm_digest chain[CRASH_CHAIN];
  pm_ref refs[CRASH_CHAIN];
  chain_of(first, chain);
  const int hits = pm_index_lookup(ctx->pool, request, chain, CRASH_CHAIN, refs);
  PM_EXPECT_OK(ctx, hits);
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, request, root, chain, CRASH_CHAIN, (size_t)hits, refs));
  for (uint32_t i = 0; i < CRASH_CHAIN; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    pm_test_payload(chain[i], payload[ctx->node], CRASH_BLOCK);
    PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, refs[i].offset, payload[ctx->node], CRASH_BLOCK));
  }
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, refs, CRASH_CHAIN));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, request, refs, CRASH_CHAIN));
  return 0;
}

int pm_crash_check_blocks(pm_test_ctx *ctx, uint32_t *found) {
  static _Alignas(64) unsigned char payload[CRASH_NODES][CRASH_BLOCK];
  *found = 0;
  for (uint32_t block = 0; block < BLOCKS; ++block) {
    const pm_digest digest = digest_of(block);
    pm_ref ref;
    if (pm_index_exists(ctx->pool, digest) != 1) continue;
    const int hits = pm_index_lookup(ctx->pool, 77, &digest, 1, &ref);
    PM_EXPECT_OK(ctx, hits);
    if (hits == 0) continue;
    *found += 1;
    PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, ref.offset, payload[ctx->node], CRASH_BLOCK));
    PM_EXPECT(ctx, pm_test_payload_check(digest, payload[ctx->node], CRASH_BLOCK) < 0, "block %u has wrong bytes",
              block);
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 77, &ref, 1));
  }
  return 0;
}

int pm_crash_lock_step(pm_test_ctx *ctx) {
  crash_record *r = pm_ptr(ctx->pool, pm_crash_run.offsets[0]);
  int fresh = 0;
  const int rc = pm_lock_acquire(ctx->pool, 5, &fresh);
  PM_EXPECT_OK(ctx, rc);
  if (fresh) pm_acquire(r, sizeof *r);
  const uint64_t a = r->a, b = r->b;
  PM_EXPECT(ctx, rc == PM_LOCK_OWNER_DIED || a == b, "the record is half-way (%llu, %llu) and nobody said so",
            (unsigned long long)a, (unsigned long long)b);
  r->a = a + 1;
  pm_publish(&r->a, sizeof r->a);
  r->b = a + 1;
  pm_publish(&r->b, sizeof r->b);
  if (rc == PM_LOCK_OWNER_DIED) PM_EXPECT_OK(ctx, pm_lock_consistent(ctx->pool, 5));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, 5));
  return 0;
}

static int op_lock(pm_test_ctx *ctx) {
  for (int i = 0; i < 3; ++i) {
    if (pm_crash_lock_step(ctx) != 0) return 1;
  }
  return 0;
}

static int op_allocate(pm_test_ctx *ctx) {
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 64, &offset));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 200, &offset));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 9000, &offset));
  return 0;
}

static int prepare_free(pm_test_ctx *ctx) {
  for (int i = 2; i < 4; ++i) PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, i == 2 ? 512 : 9000, &pm_crash_run.offsets[i]));
  return 0;
}

static int op_free(pm_test_ctx *ctx) {
  for (int i = 1; i < 4; ++i) PM_EXPECT_OK(ctx, pm_free(ctx->pool, pm_crash_run.offsets[i]));
  return 0;
}

static int op_put(pm_test_ctx *ctx) {
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, "victim", 6, 4711));
  PM_EXPECT_OK(ctx, pm_get(ctx->pool, "record", 6, &offset, NULL));
  PM_EXPECT_OK(ctx, pm_destroy(ctx->pool, "victim", 6));
  return 0;
}

static int op_insert(pm_test_ctx *ctx) {
  return pm_crash_insert(ctx, 5, CRASH_CHAIN);
}

static int op_lookup(pm_test_ctx *ctx) {
  uint32_t found;
  return pm_crash_check_blocks(ctx, &found);
}

static int prepare_evict(pm_test_ctx *ctx) {
  return pm_crash_insert(ctx, 6, CRASH_CHAIN);
}

static int op_evict(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_index_evict(ctx->pool, 1));
  return pm_crash_insert(ctx, 5, 2 * CRASH_CHAIN) != 0 || pm_crash_insert(ctx, 5, 3 * CRASH_CHAIN) != 0;
}

static int op_abort(pm_test_ctx *ctx) {
  pm_digest chain[CRASH_CHAIN];
  pm_ref refs[CRASH_CHAIN];
  chain_of(2 * CRASH_CHAIN, chain);
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, 4, root, chain, CRASH_CHAIN, 0, refs));
  PM_EXPECT_OK(ctx, pm_index_abort(ctx->pool, 4, refs, CRASH_CHAIN));
  return 0;
}

/* The victim leads the lock management: host 1 keeps it busy with grants, or with a recovery; its own thread waits. */
static int op_manager(pm_test_ctx *ctx) {
  (void)ctx;
  while (!__atomic_load_n(&pm_crash_run.over, __ATOMIC_ACQUIRE)) pm_relax();
  return 0;
}

static int prepare_recover(pm_test_ctx *ctx) {
  (void)ctx;
  while (!emu_crashed(2)) pm_relax();
  return 0;
}

static int op_recover(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_recover(ctx->pool, 2));
  return 0;
}

static pm_pool *second;

static int op_open(pm_test_ctx *ctx) {
  const pm_open_options options = {.node = CRASH_SECOND};
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &second));
  return 0;
}

static int op_close(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_close(second));
  return 0;
}

#define SMALL_BYTES 64u
#define SMALL_IN_CHUNK 64u

int pm_crash_check_given_back(pm_test_ctx *ctx) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < CRASH_GIVEN_BACK; ++i)
    live += pm_crash_run.given_back[i] != 0 && pm_free(ctx->pool, pm_crash_run.given_back[i]) == 0;
  PM_EXPECT(ctx, live <= 1, "%u blocks are allocated that were given back", live);
  return 0;
}

/* A chunk of the victim is full, and as a stranger, its host frees a few of its blocks. */
static int prepare_collect(pm_test_ctx *ctx) {
  if (op_open(ctx) != 0) return 1;
  for (uint32_t i = 0; i < SMALL_IN_CHUNK; ++i) {
    uint64_t offset;
    PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, SMALL_BYTES, &offset));
    if (i < CRASH_GIVEN_BACK) pm_crash_run.given_back[i] = offset;
  }
  for (uint32_t i = 0; i < CRASH_GIVEN_BACK; ++i) PM_EXPECT_OK(ctx, pm_free(second, pm_crash_run.given_back[i]));
  return 0;
}

static int op_collect(pm_test_ctx *ctx) {
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, SMALL_BYTES, &offset));
  return 0;
}

const crash_operation pm_crash_operations[] = {
    {.name = "lock", .victim = 1, .run = op_lock},
    {.name = "lock_slots", .victim = 1, .tier = PM_LOCK_SLOTS, .run = op_lock},
    {.name = "lock_bakery", .victim = 1, .tier = PM_LOCK_BAKERY, .run = op_lock},
    {.name = "manager", .victim = 0, .tier = PM_LOCK_SLOTS, .run = op_manager},
    {.name = "bury", .victim = 0, .recovers = 1, .prepare = prepare_recover, .run = op_manager},
    {.name = "allocate", .victim = 1, .run = op_allocate},
    {.name = "free", .victim = 1, .prepare = prepare_free, .run = op_free},
    {.name = "collect", .victim = 1, .takes_more = 1, .prepare = prepare_collect, .run = op_collect},
    {.name = "put", .victim = 1, .run = op_put},
    {.name = "insert", .victim = 1, .run = op_insert},
    {.name = "lookup", .victim = 1, .run = op_lookup},
    {.name = "evict", .victim = 1, .prepare = prepare_evict, .run = op_evict},
    {.name = "abort", .victim = 1, .run = op_abort},
    {.name = "recover", .victim = 1, .recovers = 1, .prepare = prepare_recover, .run = op_recover},
    {.name = "open", .victim = 1, .takes_more = 1, .run = op_open},
    {.name = "close", .victim = 1, .takes_more = 1, .prepare = op_open, .run = op_close}};
const uint32_t pm_crash_operation_count = sizeof pm_crash_operations / sizeof pm_crash_operations[0];
