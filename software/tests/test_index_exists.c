/*
 * Prefix index: pm_index_exists against a bucket that changes hands under it.
 */
#include "tests.h"

#define ROUNDS 24u
#define BLOCK_BYTES 64u

/* Both live in the one bucket of their home; only the first ever becomes READY. */
static const pm_digest resident = {.lo = 1, .hi = 1}, never_ready = {.lo = 1, .hi = 2};

static int change_hands(pm_test_ctx *ctx, uint64_t round) {
  pm_ref ref;
  const pm_digest root = pm_digest_root(ctx->pool);
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, round, root, &resident, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, round, &ref, 1));
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, 1) == 1, "evict: %s", pm_error_text());
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, round, root, &never_ready, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_index_abort(ctx->pool, round, &ref, 1));
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  for (uint64_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    if (ctx->node == 0) {
      if (change_hands(ctx, round) != 0) return 1;
    } else {
      for (unsigned i = 0; i < 8; ++i)
        PM_EXPECT(ctx, pm_index_exists(ctx->pool, never_ready) == 0,
                  "round %llu: a block that was never READY is found", (unsigned long long)round);
    }
  }
  return 0;
}

const pm_test pm_test_index_exists = {.name = "index_exists",
                                      .about = "a bucket that changes hands is not taken for what comes next",
                                      .format = {.index_slots = 8, .block_bytes = BLOCK_BYTES},
                                      .worker = worker};
