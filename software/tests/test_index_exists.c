/*
 * Prefix index: what a reader without lock makes of a bucket that changes under it.
 */
#include "../src/bucket.h"
#include "tests.h"

#define ROUNDS 120u
#define SLOT 1u

/* Both have the same home. Only the first is ever READY. */
static const pm_digest resident = {.lo = SLOT, .hi = 1}, never_ready = {.lo = SLOT, .hi = 2};

static void store_control(pmi_bucket *bucket, enum pmi_bucket_state state, uint32_t generation) {
  pmi_store(&bucket->control, pmi_control(state, 0, generation));
  pm_publish(bucket, sizeof *bucket);
}

/* The writer's stores, in the order of bucket.c and without what lies between them there, so that a whole change of hands fits
 * between two loads of the reader. */
static void change_hands(pmi_bucket *bucket, uint32_t generation) {
  pmi_digest_set(&bucket->digest, resident);
  store_control(bucket, BUCKET_READY, generation);
  pm_relax();
  store_control(bucket, BUCKET_TOMBSTONE, generation);
  pmi_digest_set(&bucket->digest, never_ready);
  store_control(bucket, BUCKET_RESERVED, generation + 1);
  store_control(bucket, BUCKET_TOMBSTONE, generation + 1);
}

static int exists_worker(pm_test_ctx *ctx) {
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    if (ctx->thread == 0)
      change_hands(pmi_bucket_at(ctx->pool, SLOT), 2 * round + 1);
    else
      PM_EXPECT(ctx, pm_index_exists(ctx->pool, never_ready) == 0, "round %u: a block that was never READY is found",
                round);
  }
  return 0;
}

const pm_test pm_test_index_exists = {.name = "index_exists",
                                      .about = "a bucket that changes hands is not taken for what comes next",
                                      .format = {.index_slots = 8, .block_bytes = 64},
                                      .threads = 2,
                                      .nodes_max = 1,
                                      .worker = exists_worker};

/* Node 1 fills a block that node 0 saw under the lock while it was pending, and turns it READY without the lock: node 0 must not
 * go by what it saw. */
static int pending_filler(pm_test_ctx *ctx, uint64_t round, pm_digest digest) {
  pm_ref ref;
  pm_signal signal = {.tag = round};
  PM_EXPECT(ctx, pm_index_reserve(ctx->pool, round, pm_digest_root(ctx->pool), &digest, 1, 0, &ref) == 1, "reserve: %s",
            pm_error_text());
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &signal));
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &signal));
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, round, &ref, 1));
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &signal));
  return 0;
}

static int pending_waiter(pm_test_ctx *ctx, uint64_t round, pm_digest digest) {
  static const uint32_t expected[] = {PM_REF_PENDING, PM_REF_HIT};
  pm_ref ref;
  for (unsigned i = 0; i < 2; ++i) {
    pm_signal signal = {.tag = round};
    PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 1, 0, &signal));
    PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, round, pm_digest_root(ctx->pool), &digest, 1, 0, &ref));
    PM_EXPECT(ctx, ref.state == expected[i], "round %d: state %u instead of %u", (int)round, ref.state, expected[i]);
    if (i == 0) PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &signal));
  }
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, round, &ref, 1));
  return 0;
}

static int pending_worker(pm_test_ctx *ctx) {
  for (uint64_t round = 0; round < 6 * (uint64_t)ctx->scale && ctx->nodes == 2; ++round) {
    const pm_digest digest = {.lo = round, .hi = round + 1};
    if (ctx->node == 0 && pending_waiter(ctx, round, digest) != 0) return 1;
    if (ctx->node == 1 && pending_filler(ctx, round, digest) != 0) return 1;
  }
  return 0;
}

const pm_test pm_test_index_pending = {.name = "index_pending",
                                       .about = "a block seen pending under the lock is found once it is READY",
                                       .format = {.index_slots = 64, .block_bytes = 64},
                                       .nodes_max = 2,
                                       .worker = pending_worker};
