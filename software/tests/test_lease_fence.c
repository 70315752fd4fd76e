/*
 * What a node does first after it was taken for dead, and before it knows: whatever the call is, it is refused, and nothing of
 * it reaches the pool.
 */
#include <errno.h>

#include "tests.h"

#define LEASE_NS PM_TEST_NS(100000u, 200000000u)
#define SLEEP_LEASES 4u
#define REOPEN_ROUNDS 100u
#define LOCK 5u
#define BLOCK_BYTES 256u

typedef struct sleeper {
  pm_pool *pool;
  uint64_t kept; /* a block of 64 bytes */
  pm_ref ref;
} sleeper;

static const pm_digest present = {.lo = 11, .hi = 5}, absent = {.lo = 12, .hi = 5};

static int allocate(sleeper *s) {
  uint64_t offset;
  return pm_alloc(s->pool, 64, &offset);
}
static int release_block(sleeper *s) {
  return pm_free(s->pool, s->kept);
}
static int look_up(sleeper *s) {
  pm_ref ref;
  return pm_index_lookup(s->pool, 3, &present, 1, &ref);
}
static int commit(sleeper *s) {
  return pm_index_commit(s->pool, &s->ref, 1);
}
static int lock(sleeper *s) {
  return pm_lock_acquire(s->pool, LOCK, NULL);
}
static int put(sleeper *s) {
  return pm_put(s->pool, "late", 4, s->kept);
}

static const struct {
  const char *name;
  int (*call)(sleeper *s);
} calls[] = {{"pm_alloc", allocate},      {"pm_free", release_block}, {"pm_index_lookup", look_up},
             {"pm_index_commit", commit}, {"pm_lock_acquire", lock},  {"pm_put", put}};
#define CALLS ((uint32_t)(sizeof calls / sizeof calls[0]))

static int insert(pm_test_ctx *ctx, pm_pool *pool, pm_digest digest) {
  static _Alignas(64) unsigned char payload[BLOCK_BYTES];
  pm_ref ref;
  PM_EXPECT_OK(ctx, pm_index_reserve(pool, 1, pm_digest_root(pool), &digest, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_test_dma_in(pool, ref.offset, payload, sizeof payload));
  PM_EXPECT_OK(ctx, pm_index_commit(pool, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(pool, 1, &ref, 1));
  return 0;
}

static void sleep_quarters(uint32_t quarters) {
  pm_test_sleep((uint64_t)LEASE_NS / 4 * quarters);
}

/* Node 0, whose manager leads: buries node 1 as often as it dies, but repairs nothing before that one has woken up, so that
 * all it had still seems to be its own. */
static int bury(pm_test_ctx *ctx) {
  const pm_signal go = {.tag = 1};
  pm_signal signal;
  if (insert(ctx, ctx->pool, present) != 0) return 1;
  for (uint32_t i = 0; i < CALLS; ++i) {
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &go));
    PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 1, 0, &signal));
    sleep_quarters(4 * (SLEEP_LEASES + 2));
    PM_EXPECT_OK(ctx, pm_recover(ctx->pool, 1));
    PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  }
  return 0;
}

static int fall_asleep(pm_test_ctx *ctx, sleeper *s, uint32_t number) {
  const pm_signal asleep = {.tag = number};
  pm_signal go;
  PM_EXPECT_OK(ctx, pm_receive(s->pool, 0, 0, &go));
  PM_EXPECT_OK(ctx, pm_manager_step(s->pool)); /* begins the lease */
  PM_EXPECT_OK(ctx, pm_alloc(s->pool, 64, &s->kept));
  PM_EXPECT_OK(ctx, pm_index_reserve(s->pool, 2, pm_digest_root(s->pool), &absent, 1, 0, &s->ref));
  PM_EXPECT(ctx, s->ref.state == PM_REF_RESERVED, "state %u", s->ref.state);
  PM_EXPECT_OK(ctx, pm_send(s->pool, 0, 0, &asleep));
  sleep_quarters(4 * SLEEP_LEASES);
  const int rc = calls[number].call(s);
  PM_EXPECT(ctx, rc == -ESTALE, "%s after the lease: %d", calls[number].name, rc);
  const int next = pm_lock_acquire(s->pool, LOCK, NULL);
  PM_EXPECT(ctx, next == -ESTALE, "the call after that: %d", next);
  return 0;
}

/* Node 1: each call on a handle of its own, which has slept through its lease. */
static int die_often(pm_test_ctx *ctx) {
  const pm_open_options options = {.node = ctx->node};
  sleeper s = {.pool = ctx->pool};
  for (uint32_t i = 0; i < CALLS; ++i) {
    if (fall_asleep(ctx, &s, i) != 0) return 1;
    if (i != 0) PM_EXPECT_OK(ctx, pm_close(s.pool)); /* the harness closes the first one */
    int rc = -EBUSY;
    for (uint32_t round = 0; round < REOPEN_ROUNDS && rc == -EBUSY; ++round) {
      sleep_quarters(1);
      rc = pm_open(ctx->path, &options, &s.pool);
    }
    PM_EXPECT(ctx, rc == 0, "the id cannot be claimed again: %d %s", rc, pm_error_text());
  }
  PM_EXPECT_OK(ctx, pm_close(s.pool));
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 2) return 0;
  return ctx->node == 0 ? bury(ctx) : die_often(ctx);
}

const pm_test pm_test_lease_fence = {
    .name = "lease_fence",
    .about = "the first call of a node that was taken for dead is refused, whatever it is",
    .format = {.lease_ns = LEASE_NS, .index_slots = 16, .block_bytes = BLOCK_BYTES},
    .nodes_max = 2,
    .worker = worker};
