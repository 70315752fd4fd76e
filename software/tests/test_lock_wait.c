/*
 * Waiting for a lock for many leases: who waits keeps his patience as long as some lock manager steps, whichever node it
 * runs on, hears of a holder that died, and withdraws what it has asked for when it gives up.
 */
#include <errno.h>
#include <time.h>

#include "tests.h"

#define LEASE_NS PM_TEST_NS(40000u, 100000000u)
#define HELD_LEASES 9u /* longer than anybody waits for a lock manager */
#define SEEN_LEASES 2u /* of a manager that steps: it has seen every request that was made before */
#define LOCK 5u
#define INHERITED 40u
#define LEAP 3u /* locks that node 2 leaves out at most, and one */

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_leases(uint64_t leases) {
  pm_test_sleep(leases * LEASE_NS);
}

/* Node 0 holds the lock for long. */
static int hold_long(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  if (pm_test_tell(ctx, 1) != 0) return 1;
  sleep_leases(HELD_LEASES);
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  return pm_test_hear(ctx, 1);
}

static int patience_worker(pm_test_ctx *ctx) {
  const uint32_t last = ctx->nodes - 1;
  pm_test_manager manager;
  if (ctx->nodes < 2) return 0;
  if (ctx->node == 1) {
    for (int turn = 0; turn < (last > 1 ? 2 : 1); ++turn) {
      if (pm_test_hear(ctx, 0) != 0) return 1;
      if (turn == 0) PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool)); /* a lease, which has to outlive the wait */
      PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
      PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
      const int stop = 1;
      if (turn == 0) PM_EXPECT_OK(ctx, pm_manager_run(ctx->pool, &stop)); /* the lease ends */
      if (pm_test_tell(ctx, 0) != 0) return 1;
    }
    return 0;
  }
  if (ctx->node == 0) {
    pm_test_manager_start(&manager, ctx->pool);
    const int failed = hold_long(ctx);
    pm_test_manager_stop(&manager);
    if (failed || last == 1) return failed;
    return pm_test_tell(ctx, last) != 0 || hold_long(ctx) != 0 || pm_test_tell(ctx, last) != 0;
  }
  if (ctx->node != last) return 0;
  if (pm_test_hear(ctx, 0) != 0) return 1;
  pm_test_manager_start(&manager, ctx->pool);
  const int failed = pm_test_hear(ctx, 0);
  pm_test_manager_stop(&manager);
  return failed;
}

#define PATIENCE_TEST(id, tier)                                                                                \
  const pm_test pm_test_##id = {.name = #id,                                                                   \
                                .about = "who waits for long waits on while a lock manager steps on any node", \
                                .format = {.lease_ns = LEASE_NS, .index_slots = 64, .lock_tier = (tier)},      \
                                .no_manager = 1,                                                               \
                                .worker = patience_worker}
PATIENCE_TEST(lock_patience, PM_LOCK_QUEUE);
PATIENCE_TEST(lock_patience_slots, PM_LOCK_SLOTS);

/* Node 1 dies with a row of locks while node 2, on another host than the lock manager, waits for the first of them. Node 2
 * comes to each further one about when the manager buries its holder. */
static int inherit_worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 3 || ctx->node == 0 || ctx->node > 2) return 0;
  if (ctx->node == 1) {
    PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool)); /* begins the lease */
    for (uint32_t lock = LOCK; lock < LOCK + INHERITED; ++lock)
      PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, lock, NULL));
    if (pm_test_tell(ctx, 2) != 0 || pm_test_hear(ctx, 2) != 0) return 1; /* who waits for a signal does not beat */
    for (uint32_t lock = LOCK; lock < LOCK + INHERITED; ++lock) {
      const int released = pm_lock_release(ctx->pool, lock);
      PM_EXPECT(ctx, released == -ESTALE, "release of %u after the lease: %d", lock, released);
    }
    return 0; /* the harness closes the handle that is fenced off */
  }
  if (pm_test_hear(ctx, 1) != 0) return 1;
  for (uint32_t lock = LOCK; lock < LOCK + INHERITED; lock += 1 + (uint32_t)(pm_test_random(&ctx->seed) % LEAP)) {
    const int rc = pm_lock_acquire(ctx->pool, lock, NULL);
    PM_EXPECT(ctx, rc == PM_LOCK_OWNER_DIED, "acquire %u: %d %s", lock, rc, rc < 0 ? pm_error_text() : "");
    PM_EXPECT_OK(ctx, pm_lock_consistent(ctx->pool, lock));
    PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, lock));
  }
  return pm_test_tell(ctx, 1);
}

#define INHERIT_TEST(id, tier)                                                                             \
  const pm_test pm_test_##id = {                                                                           \
      .name = #id,                                                                                         \
      .about = "a waiter is told that the holder has died",                                                \
      .format = {.lease_ns = LEASE_NS, .index_slots = 64, .lock_tier = (tier), .locks = LOCK + INHERITED}, \
      .nodes_max = 3,                                                                                      \
      .worker = inherit_worker}
INHERIT_TEST(lock_inherit, PM_LOCK_QUEUE);
INHERIT_TEST(lock_inherit_slots, PM_LOCK_SLOTS);
INHERIT_TEST(lock_inherit_bakery, PM_LOCK_BAKERY);

/* Steps the lock manager by hand until the node has something to say. */
static int step_until(pm_test_ctx *ctx, uint32_t node) {
  pm_signal signal;
  int rc;
  do {
    PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool));
    pm_relax();
    rc = pm_try_receive(ctx->pool, node, 0, &signal);
    PM_EXPECT_OK(ctx, rc);
  } while (rc == 0);
  return 0;
}

static int step_for(pm_test_ctx *ctx, uint64_t leases) {
  for (const uint64_t start = now_ns(); now_ns() - start < leases * LEASE_NS;) {
    PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool));
    pm_relax();
  }
  return 0;
}

/* Node 1 gives up before anybody manages, and once more behind node 2 when the manager, which has seen its wish, stands
 * still. Both times the next grant has to pass it. */
static int manage(pm_test_ctx *ctx) {
  if (pm_test_hear(ctx, 1) != 0 || pm_test_tell(ctx, 2) != 0 || step_until(ctx, 2) != 0) return 1;
  if (pm_test_tell(ctx, 1) != 0 || step_for(ctx, SEEN_LEASES) != 0 || pm_test_hear(ctx, 1) != 0) return 1;
  return pm_test_tell(ctx, 2) != 0 || step_until(ctx, 2) != 0 || pm_test_tell(ctx, 1) != 0;
}

static int give_up(pm_test_ctx *ctx) {
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == 1 && pm_test_hear(ctx, 0) != 0) return 1;
    const int rc = pm_lock_acquire(ctx->pool, LOCK, NULL);
    PM_EXPECT(ctx, rc == -ETIMEDOUT, "acquire: %d %s", rc, pm_error_text());
    if (pm_test_tell(ctx, 0) != 0) return 1;
  }
  return pm_test_hear(ctx, 0); /* to close the pool rings the doorbell as well */
}

static int be_granted(pm_test_ctx *ctx) {
  if (pm_test_hear(ctx, 0) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  if (pm_test_tell(ctx, 0) != 0 || pm_test_hear(ctx, 0) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  return pm_test_tell(ctx, 0);
}

static int withdraw_worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 3 || ctx->node > 2) return 0;
  return ctx->node == 0 ? manage(ctx) : ctx->node == 1 ? give_up(ctx) : be_granted(ctx);
}

const pm_test pm_test_lock_withdraw = {.name = "lock_withdraw",
                                       .about = "a waiter gives up, and the manager grants nothing to it any more",
                                       .format = {.lease_ns = LEASE_NS, .index_slots = 64, .lock_tier = PM_LOCK_SLOTS},
                                       .nodes_max = 3,
                                       .no_manager = 1,
                                       .worker = withdraw_worker};
