/*
 * Leases: who sleeps through its own loses its lock and is kept from writing; lock management goes from node to node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

#define LEASE_NS PM_TEST_NS(100000u, 200000000u)
#define SLEEP_LEASES 4u
#define REOPEN_ROUNDS 100u
#define LOCK 5u

static void sleep_leases(uint32_t quarters) {
  pm_test_sleep((uint64_t)LEASE_NS / 4 * quarters);
}

/* Node 0, whose manager leads: the lock comes with the news of the death, and the id is free afterwards. */
static int inherit(pm_test_ctx *ctx) {
  const pm_signal leading = {.tag = 1};
  pm_signal signal;
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL)); /* or the other's step would make it the leader */
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &leading));
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 1, 0, &signal));
  const int rc = pm_lock_acquire(ctx->pool, LOCK, NULL);
  PM_EXPECT(ctx, rc == PM_LOCK_OWNER_DIED, "acquire: %d %s", rc, pm_error_text());
  PM_EXPECT(ctx, pm_lock_dead(ctx->pool, LOCK) == 2u, "dead: 0x%llx",
            (unsigned long long)pm_lock_dead(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  const int again = pm_lock_acquire(ctx->pool, LOCK, NULL);
  PM_EXPECT(ctx, again == PM_LOCK_OWNER_DIED, "nobody has repaired anything, but acquire says %d", again);
  PM_EXPECT_OK(ctx, pm_lock_consistent(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  const int quiet = pm_lock_acquire(ctx->pool, LOCK, NULL);
  PM_EXPECT(ctx, quiet == 0, "all is repaired, but acquire says %d", quiet);
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  PM_EXPECT(ctx, pm_node_state(ctx->pool, 1) == PM_NODE_DEAD, "node 1 is in state %d", pm_node_state(ctx->pool, 1));
  PM_EXPECT_OK(ctx, pm_recover(ctx->pool, 1));
  return 0;
}

static int sleeper(pm_test_ctx *ctx) {
  const pm_signal asleep = {.tag = 1};
  const pm_open_options options = {.node = ctx->node};
  uint64_t offset;
  pm_signal leading;
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &leading));
  PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool)); /* begins the lease */
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &asleep));
  sleep_leases(4 * SLEEP_LEASES);
  const int released = pm_lock_release(ctx->pool, LOCK);
  PM_EXPECT(ctx, released == -ESTALE, "release after the lease: %d", released);
  const int allocated = pm_alloc(ctx->pool, 64, &offset);
  PM_EXPECT(ctx, allocated == -ESTALE, "alloc after the lease: %d", allocated);
  PM_EXPECT(ctx, strstr(pm_error_text(), "taken for dead") != NULL, "'%s'", pm_error_text());
  pm_pool *again = NULL;
  int rc = -EBUSY;
  for (uint32_t i = 0; i < REOPEN_ROUNDS && rc == -EBUSY; ++i) {
    sleep_leases(1);
    rc = pm_open(ctx->path, &options, &again);
  }
  PM_EXPECT(ctx, rc == 0, "the id cannot be claimed again: %d %s", rc, pm_error_text());
  PM_EXPECT_OK(ctx, pm_lock_acquire(again, LOCK, NULL));
  PM_EXPECT_OK(ctx, pm_lock_release(again, LOCK));
  PM_EXPECT_OK(ctx, pm_close(again));
  return 0; /* the harness closes the handle that is fenced off */
}

static int zombie_worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 2 || ctx->node > 1) return 0;
  return ctx->node == 0 ? inherit(ctx) : sleeper(ctx);
}

#define ZOMBIE_TEST(id, tier)                                                                            \
  const pm_test pm_test_##id = {.name = #id,                                                             \
                                .about = "who sleeps through its lease loses the lock and cannot write", \
                                .format = {.lease_ns = LEASE_NS, .lock_tier = (tier)},                   \
                                .nodes_max = 2,                                                          \
                                .worker = zombie_worker}
ZOMBIE_TEST(lease_zombie, PM_LOCK_QUEUE);
ZOMBIE_TEST(lease_zombie_slots, PM_LOCK_SLOTS);
ZOMBIE_TEST(lease_zombie_bakery, PM_LOCK_BAKERY);

#define STEPS 6u

typedef struct counter {
  uint64_t count, spare[7];
} counter;

static pm_test_manager first_manager;

static int takeover_setup(pm_test_ctx *ctx) {
  pm_test_manager_start(&first_manager, ctx->pool);
  return pm_test_region_make(ctx, "counter", sizeof(counter));
}

static int add(pm_test_ctx *ctx, counter *c, uint32_t steps) {
  for (uint32_t i = 0; i < steps; ++i) {
    int fresh = 0;
    PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, &fresh));
    if (fresh) pm_acquire(c, sizeof *c);
    c->count += 1;
    pm_publish(c, sizeof *c);
    PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  }
  return 0;
}

/* Node 0 leads and stops in the middle; each of the others stops when it is done, so the lead goes round. */
static int takeover_worker(pm_test_ctx *ctx) {
  pm_test_manager own;
  pm_test_manager *manager = ctx->node == 0 ? &first_manager : &own;
  if (ctx->node != 0) pm_test_manager_start(manager, ctx->pool);
  counter *c = pm_test_region(ctx, "counter", sizeof *c);
  if (c == NULL || add(ctx, c, STEPS) != 0) return 1;
  pm_test_manager_stop(manager);
  return 0;
}

static int takeover_check(pm_test_ctx *ctx) {
  pm_test_manager_start(&first_manager, ctx->pool);
  const counter *c = pm_test_region(ctx, "counter", sizeof *c);
  if (c == NULL) return 1;
  PM_EXPECT(ctx, c->count == (uint64_t)STEPS * ctx->nodes, "count: %llu", (unsigned long long)c->count);
  pm_test_manager_stop(&first_manager);
  return 0;
}

#define TAKEOVER_TEST(id, tier)                                                                        \
  const pm_test pm_test_##id = {.name = #id,                                                           \
                                .about = "every node manages locks; the lead goes round as they stop", \
                                .format = {.lease_ns = LEASE_NS, .lock_tier = (tier)},                 \
                                .no_manager = 1,                                                       \
                                .setup = takeover_setup,                                               \
                                .worker = takeover_worker,                                             \
                                .check = takeover_check}
TAKEOVER_TEST(lease_takeover, PM_LOCK_QUEUE);
TAKEOVER_TEST(lease_takeover_slots, PM_LOCK_SLOTS);

/* Node 0 leads and never steps again, while its wish for the lock makes the node beat. Node 1 is on standby. */
static int standstill_worker(pm_test_ctx *ctx) {
  const pm_signal done = {.tag = 1};
  if (ctx->nodes < 2) return 0;
  if (ctx->node == 0) {
    PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool));
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &done));
    for (uint32_t i = 0; i < STEPS; ++i) {
      PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
      PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
    }
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &done));
    return 0;
  }
  pm_test_manager manager;
  pm_signal signal;
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &signal));
  pm_test_manager_start(&manager, ctx->pool);
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &signal));
  pm_test_manager_stop(&manager);
  return 0;
}

const pm_test pm_test_lease_standstill = {.name = "lease_standstill",
                                          .about = "a leader that works and does not step is followed by another",
                                          .format = {.lease_ns = LEASE_NS, .lock_tier = PM_LOCK_SLOTS},
                                          .nodes_max = 2,
                                          .no_manager = 1,
                                          .worker = standstill_worker};

/* Node 0 holds the lock, node 1 waits until it has no patience any more, node 2 has queued up behind it: it has to wait on.
 * Nobody manages, nobody has a lease. */
static int give_up_holder(pm_test_ctx *ctx, counter *c) {
  const pm_signal taken = {.tag = 1};
  pm_signal given_up;
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  for (uint32_t node = 1; node < 3; ++node) PM_EXPECT_OK(ctx, pm_send(ctx->pool, node, 0, &taken));
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 1, 0, &given_up));
  sleep_leases(4);
  pm_acquire(c, sizeof *c);
  PM_EXPECT(ctx, c->count == 0, "somebody else has the lock as well");
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  return 0;
}

static int give_up_worker(pm_test_ctx *ctx) {
  const pm_signal given_up = {.tag = 1};
  pm_signal taken;
  if (ctx->nodes < 3) return 0;
  counter *c = pm_test_region(ctx, "counter", sizeof *c);
  if (c == NULL) return 1;
  if (ctx->node == 0) return give_up_holder(ctx, c);
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &taken));
  if (ctx->node == 1) {
    const int rc = pm_lock_acquire(ctx->pool, LOCK, NULL);
    PM_EXPECT(ctx, rc == -ETIMEDOUT, "acquire: %d %s", rc, pm_error_text());
    PM_EXPECT(ctx, strstr(pm_error_text(), "no lock manager") != NULL, "'%s'", pm_error_text());
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &given_up));
    return 0;
  }
  sleep_leases(4 * SLEEP_LEASES);
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  pm_acquire(c, sizeof *c);
  c->count += 1;
  pm_publish(c, sizeof *c);
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  return 0;
}

static int give_up_setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "counter", sizeof(counter));
}

#define GIVE_UP_TEST(id, tier)                                                           \
  const pm_test pm_test_##id = {.name = #id,                                             \
                                .about = "a waiter gives up, who is behind it waits on", \
                                .format = {.lease_ns = LEASE_NS, .lock_tier = (tier)},   \
                                .nodes_max = 3,                                          \
                                .no_manager = 1,                                         \
                                .setup = give_up_setup,                                  \
                                .worker = give_up_worker}
GIVE_UP_TEST(lock_give_up, PM_LOCK_QUEUE);
GIVE_UP_TEST(lock_give_up_bakery, PM_LOCK_BAKERY);
