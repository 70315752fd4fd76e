/*
 * What the index has told at the return of a call: a committed block is there for whoever hears of it by a flag of the
 * user's own, and the pins of a node that died are gone for every node, not only for the one that repaired.
 */
#include <errno.h>
#include <time.h>

#include "tests.h"

#define LEASE_NS PM_TEST_NS(100000u, 200000000u)
#define SLEEP_LEASES 16u
#define BLOCK_BYTES 256u
#define SLOTS 64u
#define ROUNDS 8u
#define LOCK 5u

static int insert(pm_test_ctx *ctx, pm_digest digest) {
  static _Alignas(64) unsigned char payload[PM_NODES_MAX][BLOCK_BYTES];
  pm_ref ref;
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, 1, pm_digest_root(ctx->pool), &digest, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, ref.offset, payload[ctx->node], BLOCK_BYTES));
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, &ref, 1));
  return 0;
}

typedef struct flags {
  struct {
    uint64_t round, spare[7];
  } node[2]; /* each in a line of its own */
} flags;

static int flag_setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "flags", sizeof(flags));
}

static void raise_flag(flags *f, uint32_t node, uint64_t round) {
  __atomic_store_n(&f->node[node].round, round, __ATOMIC_RELEASE);
  pm_publish(&f->node[node], PM_LINE);
}

static void wait_for_flag(flags *f, uint32_t node, uint64_t round) {
  do {
    pm_relax();
    pm_acquire(&f->node[node], PM_LINE);
  } while (__atomic_load_n(&f->node[node].round, __ATOMIC_ACQUIRE) != round);
}

/* No call of the library stands between the commit and the flag. */
static int flag_worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 2 || ctx->node > 1) return 0;
  flags *f = pm_test_region(ctx, "flags", sizeof *f);
  if (f == NULL) return 1;
  for (uint64_t round = 1; round <= (uint64_t)ROUNDS * ctx->scale; ++round) {
    const pm_digest digest = {.lo = round, .hi = 3};
    if (ctx->node == 0) {
      if (insert(ctx, digest) != 0) return 1;
      raise_flag(f, 0, round);
      wait_for_flag(f, 1, round);
      const pm_ref ref = {.slot = round % SLOTS, .state = PM_REF_HIT};
      PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, &ref, 1));
      continue;
    }
    wait_for_flag(f, 0, round);
    PM_EXPECT(ctx, pm_index_exists(ctx->pool, digest) == 1, "block %llu was committed and is not there",
              (unsigned long long)round);
    raise_flag(f, 1, round);
  }
  return 0;
}

const pm_test pm_test_index_flag = {
    .name = "index_flag",
    .about = "a block is there for whoever sees a flag that was raised after its commit",
    .format = {.index_slots = SLOTS, .block_bytes = BLOCK_BYTES},
    .setup = flag_setup,
    .worker = flag_worker};

/* In the first, a middle and the last line of the pins of a node. */
static const pm_digest pinned[] = {{.lo = 0, .hi = 9}, {.lo = 20, .hi = 9}, {.lo = SLOTS - 1, .hi = 9}};
#define PINNED ((uint32_t)(sizeof pinned / sizeof pinned[0]))

/* Node 0, whose manager leads. */
static int bury(pm_test_ctx *ctx) {
  for (uint32_t i = 0; i < PINNED; ++i) {
    if (insert(ctx, pinned[i]) != 0) return 1;
    const pm_ref ref = {.slot = pinned[i].lo, .state = PM_REF_HIT};
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, &ref, 1));
  }
  if (pm_test_tell(ctx, 1) != 0 || pm_test_hear(ctx, 1) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_recover(ctx->pool, 1));
  return pm_test_tell(ctx, 2);
}

static int die_with_pins(pm_test_ctx *ctx) {
  const uint64_t ns = (uint64_t)LEASE_NS * SLEEP_LEASES;
  const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  pm_ref ref;
  if (pm_test_hear(ctx, 0) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_manager_step(ctx->pool)); /* begins the lease */
  for (uint32_t i = 0; i < PINNED; ++i)
    PM_EXPECT(ctx, pm_index_lookup(ctx->pool, 2, &pinned[i], 1, &ref) == 1, "block %u is not there", i);
  if (pm_test_tell(ctx, 0) != 0) return 1;
  nanosleep(&time, NULL);
  const int rc = pm_lock_acquire(ctx->pool, LOCK, NULL);
  PM_EXPECT(ctx, rc == -ESTALE, "acquire after the lease: %d", rc);
  return 0; /* the harness closes the handle that is fenced off */
}

static int pins_worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 3 || ctx->node > 2) return 0;
  if (ctx->node == 0) return bury(ctx);
  if (ctx->node == 1) return die_with_pins(ctx);
  if (pm_test_hear(ctx, 0) != 0) return 1;
  const int evicted = pm_index_evict(ctx->pool, PINNED);
  PM_EXPECT(ctx, evicted == (int)PINNED, "%d blocks could be evicted", evicted);
  return 0;
}

const pm_test pm_test_lease_pins = {
    .name = "lease_pins",
    .about = "pins of a node that died are gone for every node",
    .format = {.lease_ns = LEASE_NS, .index_slots = SLOTS, .index_capacity = 8, .block_bytes = BLOCK_BYTES},
    .nodes_max = 3,
    .worker = pins_worker};
