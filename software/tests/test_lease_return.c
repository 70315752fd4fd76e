/*
 * Lock management comes back to a node that led before: what the others did in between, a death and its repair, is known to it,
 * although its cache holds the lines as it knew them then.
 */
#include <errno.h>

#include "tests.h"

#define LEASE_NS PM_TEST_NS(100000u, 200000000u)
#define LOCK 5u
#define OTHER_LOCK 6u
#define DEAD_NODE 2u

/* With PM_LOCK_SLOTS this node's manager leads when the lock has come. */
static int lead(pm_test_ctx *ctx, pm_test_manager *manager) {
  pm_test_manager_start(manager, ctx->pool);
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, OTHER_LOCK, NULL));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, OTHER_LOCK));
  return 0;
}

static int expect_state(pm_test_ctx *ctx, int expected) {
  const int state = pm_node_state(ctx->pool, DEAD_NODE);
  PM_EXPECT(ctx, state == expected, "node %u is in state %d instead of %d", DEAD_NODE, state, expected);
  return 0;
}

/* Node 0 leads before the death and after it, and repairs. */
static int lead_twice(pm_test_ctx *ctx) {
  pm_test_manager manager;
  if (lead(ctx, &manager) != 0) return 1;
  pm_test_manager_stop(&manager);
  if (pm_test_tell(ctx, 1) != 0 || pm_test_hear(ctx, 1) != 0) return 1;
  pm_test_manager_start(&manager, ctx->pool);
  const int rc = pm_lock_acquire(ctx->pool, LOCK, NULL);
  PM_EXPECT(ctx, rc == PM_LOCK_OWNER_DIED, "acquire: %d %s", rc, pm_error_text());
  PM_EXPECT_OK(ctx, pm_lock_consistent(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_recover(ctx->pool, DEAD_NODE));
  if (expect_state(ctx, PM_NODE_VACANT) != 0) return 1;
  pm_test_manager_stop(&manager);
  return pm_test_tell(ctx, 1);
}

/* Node 1 leads while node 2 dies, and once more after the repair. */
static int lead_between(pm_test_ctx *ctx) {
  pm_test_manager manager;
  if (pm_test_hear(ctx, 0) != 0 || lead(ctx, &manager) != 0 || pm_test_tell(ctx, DEAD_NODE) != 0 ||
      pm_test_hear(ctx, DEAD_NODE) != 0)
    return 1;
  while (pm_node_state(ctx->pool, DEAD_NODE) != PM_NODE_DEAD) pm_relax();
  pm_test_manager_stop(&manager);
  if (pm_test_tell(ctx, 0) != 0 || pm_test_hear(ctx, 0) != 0) return 1;
  if (lead(ctx, &manager) != 0 || expect_state(ctx, PM_NODE_VACANT) != 0) return 1;
  const int rc = pm_lock_acquire(ctx->pool, LOCK, NULL);
  PM_EXPECT(ctx, rc == 0, "all is repaired, but acquire says %d", rc);
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  pm_test_manager_stop(&manager);
  return pm_test_tell(ctx, DEAD_NODE);
}

static int die(pm_test_ctx *ctx) {
  if (pm_test_hear(ctx, 1) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool)); /* begins the lease */
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  if (pm_test_tell(ctx, 1) != 0 || pm_test_hear(ctx, 1) != 0) return 1; /* who waits for a signal does not beat */
  const int rc = pm_lock_release(ctx->pool, LOCK);
  PM_EXPECT(ctx, rc == -ESTALE, "release after the lease: %d", rc);
  return 0; /* the harness closes the handle that is fenced off */
}

static int worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 3 || ctx->node > DEAD_NODE) return 0;
  return ctx->node == 0 ? lead_twice(ctx) : ctx->node == 1 ? lead_between(ctx) : die(ctx);
}

const pm_test pm_test_lease_return = {.name = "lease_return",
                                      .about = "who leads again knows what the manager in between has done",
                                      .format = {.lease_ns = LEASE_NS, .index_slots = 16, .lock_tier = PM_LOCK_SLOTS},
                                      .nodes_max = 3,
                                      .no_manager = 1,
                                      .worker = worker};
