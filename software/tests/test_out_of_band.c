/*
 * Messages that go another way than through the pool: an interrupt, a network card, a file. Whoever has such a message may rely
 * on all that the call before it promised to publish, so that has to be in the device when the call returns.
 *
 * The message is a variable outside of the pool, which emulated hosts share; processes on a file do not, so there the test
 * does nothing.
 */
#include "tests.h"

#define ROUNDS 2u
#define BLOCK_BYTES 64u

static uint64_t message;

static void post(uint64_t number) {
  __atomic_store_n(&message, number, __ATOMIC_RELEASE);
}

static void wait_for(uint64_t number) {
  while (__atomic_load_n(&message, __ATOMIC_ACQUIRE) != number) pm_relax();
}

static int open_id(pm_test_ctx *ctx, uint32_t node, pm_pool **pool) {
  const pm_open_options options = {.node = node};
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, pool));
  return 0;
}

static const pm_digest block = {.lo = 3, .hi = 4};

/* Each step of node 1 is followed by a message; the number says which one. */
enum step { CLOSED = 1, LOOKED, SENT, RECEIVED, COMMITTED, HELD, RESERVED, REFUSED, RELEASED, EVICTED, STEPS };

static int act(pm_test_ctx *ctx, uint64_t base, pm_pool **pool) {
  static const _Alignas(64) unsigned char payload[BLOCK_BYTES];
  const pm_signal signal = {.tag = base};
  pm_ref ref;
  PM_EXPECT_OK(ctx, pm_close(*pool));
  post(base + CLOSED);
  wait_for(base + LOOKED);
  if (open_id(ctx, 1, pool) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_send(*pool, 0, 0, &signal));
  post(base + SENT);
  wait_for(base + RECEIVED);
  PM_EXPECT_OK(ctx, pm_index_reserve(*pool, 1, pm_digest_root(*pool), &block, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_test_dma_in(*pool, ref.offset, payload, sizeof payload));
  PM_EXPECT_OK(ctx, pm_index_commit(*pool, &ref, 1));
  post(base + COMMITTED);
  wait_for(base + HELD);
  PM_EXPECT_OK(ctx, pm_index_release(*pool, 1, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_reserve(*pool, 2, pm_digest_root(*pool), &block, 1, 0, &ref));
  post(base + RESERVED);
  wait_for(base + REFUSED);
  PM_EXPECT_OK(ctx, pm_index_release(*pool, 2, &ref, 1));
  post(base + RELEASED);
  wait_for(base + EVICTED);
  return 0;
}

static int look(pm_test_ctx *ctx, uint64_t base, pm_pool *pool) {
  pm_pool *second;
  pm_signal signal;
  pm_ref ref;
  wait_for(base + CLOSED);
  if (open_id(ctx, 1, &second) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_close(second));
  post(base + LOOKED);
  wait_for(base + SENT);
  PM_EXPECT(ctx, pm_try_receive(pool, 1, 0, &signal) == 1 && signal.tag == base, "the signal is not there");
  post(base + RECEIVED);
  wait_for(base + COMMITTED);
  PM_EXPECT(ctx, pm_index_lookup(pool, 9, &block, 1, &ref) == 1, "the block is not there");
  PM_EXPECT_OK(ctx, pm_index_release(pool, 9, &ref, 1));
  post(base + HELD);
  wait_for(base + RESERVED);
  const int early = pm_index_evict(pool, 1);
  PM_EXPECT(ctx, early == 0, "%d evicted although node 1 has pinned it", early);
  post(base + REFUSED);
  wait_for(base + RELEASED);
  const int evicted = pm_index_evict(pool, 1);
  PM_EXPECT(ctx, evicted == 1, "%d evicted: %s", evicted, pm_error_text());
  post(base + EVICTED);
  return 0;
}

static int setup(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES,
                                    .nodes = 2,
                                    .index_slots = 16,
                                    .block_bytes = BLOCK_BYTES,
                                    .replacement = PM_REPLACE_CLOCK};
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  return 0;
}

static int worker(pm_test_ctx *ctx) {
#ifdef PRISMEM_HOOKED
  pm_pool *pool;
  pm_test_manager manager;
  if (ctx->nodes < 2) return 0;
  if (open_id(ctx, ctx->node, &pool) != 0) return 1;
  if (ctx->node == 0) pm_test_manager_start(&manager, pool);
  int failed = 0;
  for (uint64_t round = 0; !failed && round < ROUNDS * (uint64_t)ctx->scale; ++round)
    failed = ctx->node == 0 ? look(ctx, round * STEPS, pool) : act(ctx, round * STEPS, &pool);
  if (ctx->node == 0) pm_test_manager_stop(&manager);
  if (failed) return 1;
  PM_EXPECT_OK(ctx, pm_close(pool));
#else
  (void)ctx;
  (void)act;
  (void)look;
#endif
  return 0;
}

const pm_test pm_test_out_of_band = {.name = "out_of_band",
                                     .about = "what a call publishes is in the device before a message says so",
                                     .bare = 1,
                                     .nodes_max = 2,
                                     .setup = setup,
                                     .worker = worker};
