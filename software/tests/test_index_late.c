/*
 * A commit that comes too late: its node was taken for dead meanwhile. It is refused whether the reservation was given
 * away already, which the bucket tells, or is about to be, which the lease tells.
 */
#include <errno.h>

#include "tests.h"

#define LEASE_NS PM_TEST_NS(100000u, 200000000u)
#define BLOCK_BYTES 256u
#define QUIET_ID 1u  /* has no lease; somebody asks for its death */
#define LEASED_ID 2u /* sleeps through its lease */

static const pm_digest late = {.lo = 3, .hi = 1}, other = {.lo = 3, .hi = 2};

static int tell(pm_test_ctx *ctx, pm_pool *pool, uint32_t node) {
  const pm_signal signal = {.tag = 1};
  PM_EXPECT_OK(ctx, pm_send(pool, node, 0, &signal));
  return 0;
}

static int hear(pm_test_ctx *ctx, pm_pool *pool, uint32_t node) {
  pm_signal signal;
  PM_EXPECT_OK(ctx, pm_receive(pool, node, 0, &signal));
  return 0;
}

static int open_id(pm_test_ctx *ctx, uint32_t id, pm_pool **pool) {
  const pm_open_options options = {.node = id};
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, pool));
  return 0;
}

static int setup(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES,
                                    .nodes = 3,
                                    .lease_ns = LEASE_NS,
                                    .index_slots = 16,
                                    .block_bytes = BLOCK_BYTES};
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  return 0;
}

/* Gives the reservation of the first id to another block; lets the second one die and repairs nothing. */
static int outlive(pm_test_ctx *ctx, pm_pool *pool) {
  pm_ref ref;
  if (hear(ctx, pool, QUIET_ID) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_recover(pool, QUIET_ID));
  PM_EXPECT_OK(ctx, pm_index_reserve(pool, 1, pm_digest_root(pool), &other, 1, 0, &ref));
  if (tell(ctx, pool, QUIET_ID) != 0 || hear(ctx, pool, LEASED_ID) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_index_commit(pool, &ref, 1));
  PM_EXPECT(ctx, pm_index_exists(pool, other) == 1, "the block is lost");
  PM_EXPECT_OK(ctx, pm_index_release(pool, 1, &ref, 1));
  while (pm_node_state(pool, LEASED_ID) != PM_NODE_DEAD) pm_relax();
  return tell(ctx, pool, LEASED_ID);
}

static int commit_late(pm_test_ctx *ctx, pm_pool *pool, int leased) {
  pm_ref ref;
  if (leased) PM_EXPECT_OK(ctx, pm_manager_step(pool));
  PM_EXPECT_OK(ctx, pm_index_reserve(pool, 2, pm_digest_root(pool), &late, 1, 0, &ref));
  PM_EXPECT(ctx, ref.state == PM_REF_RESERVED, "state %u", ref.state);
  if (tell(ctx, pool, 0) != 0 || hear(ctx, pool, 0) != 0) return 1;
  const int rc = pm_index_commit(pool, &ref, 1);
  PM_EXPECT(ctx, rc == -ESTALE, "commit: %d %s", rc, rc < 0 ? pm_error_text() : "");
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  static pm_pool *dead[2]; /* handles that cannot be closed in good order, and are not */
  pm_test_manager manager;
  pm_pool *pool;
  if (ctx->nodes < 2 || ctx->node > 1) return 0;
  if (ctx->node == 0) {
    if (open_id(ctx, 0, &pool) != 0) return 1;
    pm_test_manager_start(&manager, pool);
    const int failed = outlive(ctx, pool);
    pm_test_manager_stop(&manager);
    if (failed) return 1;
    PM_EXPECT_OK(ctx, pm_close(pool));
    return 0;
  }
  if (open_id(ctx, QUIET_ID, &dead[0]) != 0 || commit_late(ctx, dead[0], 0) != 0) return 1;
  if (open_id(ctx, LEASED_ID, &dead[1]) != 0 || commit_late(ctx, dead[1], 1) != 0) return 1;
  const int closed = pm_close(dead[1]); /* it knows that it is fenced off */
  PM_EXPECT(ctx, closed == 0, "close: %d", closed);
  return 0;
}

const pm_test pm_test_index_late = {.name = "index_late",
                                    .about = "the commit of a node that was taken for dead is refused",
                                    .nodes_max = 2,
                                    .bare = 1,
                                    .setup = setup,
                                    .worker = worker};
