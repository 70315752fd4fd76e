/*
 * Node ids change hosts. A baton goes round the hosts; whoever has it opens one id to work with and one to manage locks with,
 * so all that a handle takes over from the owner before (doorbell, tickets, sequence numbers, chunks, pins, grants) was
 * written on another host. One lock stays held while its manager moves.
 */
#include <errno.h>

#include "tests.h"

#define LAPS 3u
#define SIGNALS 2u
#define BLOCK_BYTES 256u
#define LOCK_OF_HOSTS 8u /* taken by the handle that each host keeps, released after the manager has gone */
#define LOCK_OF_ID 9u    /* only ever taken by the id that travels */

/* Passed on with the baton as an offset. */
typedef struct shared {
  uint64_t count, mirror; /* under LOCK_OF_HOSTS */
  uint64_t spare[6];
  uint64_t turns, kept[2]; /* under LOCK_OF_ID; blocks of the last two turns */
  uint64_t spare2[5];
} shared;

static int open_id(pm_test_ctx *ctx, uint32_t id, pm_pool **pool) {
  const pm_open_options options = {.node = id};
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, pool));
  return 0;
}

static int make_shared(pm_test_ctx *ctx, pm_pool *pool, pm_signal *baton) {
  static const _Alignas(64) shared zeros;
  PM_EXPECT_OK(ctx, pm_alloc(pool, sizeof zeros, &baton->offset));
  PM_EXPECT_OK(ctx, pm_test_dma_in(pool, baton->offset, &zeros, sizeof zeros));
  return 0;
}

/* The blocks of earlier turns are intact; the older one goes, a new one comes. */
static int use_blocks(pm_test_ctx *ctx, pm_pool *pool, shared *s, uint64_t turn) {
  for (uint64_t back = 1; back <= 2 && back <= turn; ++back) {
    const uint64_t *block = pm_ptr(pool, s->kept[(turn - back) % 2]);
    pm_acquire(block, BLOCK_BYTES);
    PM_EXPECT(ctx, *block == turn - back, "turn %llu: the block of turn %llu holds %llu", (unsigned long long)turn,
              (unsigned long long)(turn - back), (unsigned long long)*block);
  }
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_alloc(pool, BLOCK_BYTES, &offset));
  for (uint64_t back = 1; back <= 2 && back <= turn; ++back)
    PM_EXPECT(ctx, s->kept[(turn - back) % 2] != offset, "turn %llu: block 0x%llx has two owners",
              (unsigned long long)turn, (unsigned long long)offset);
  if (turn >= 2) PM_EXPECT_OK(ctx, pm_free(pool, s->kept[turn % 2]));
  s->kept[turn % 2] = offset;
  uint64_t *block = pm_ptr(pool, offset);
  pm_acquire(block, BLOCK_BYTES);
  *block = turn;
  pm_publish(block, BLOCK_BYTES);
  return 0;
}

static int use_lock(pm_test_ctx *ctx, pm_pool *pool, shared *s, uint64_t turn) {
  int fresh;
  PM_EXPECT_OK(ctx, pm_lock_acquire(pool, LOCK_OF_ID, &fresh));
  if (fresh) pm_acquire(&s->turns, PM_LINE);
  PM_EXPECT(ctx, s->turns == turn, "turn %llu finds %llu turns", (unsigned long long)turn,
            (unsigned long long)s->turns);
  if (use_blocks(ctx, pool, s, turn) != 0) return 1;
  s->turns = turn + 1;
  pm_publish(&s->turns, PM_LINE);
  PM_EXPECT_OK(ctx, pm_lock_release(pool, LOCK_OF_ID));
  return 0;
}

/* The id sends to itself, so both ends of the channel travel. */
static int use_channel(pm_test_ctx *ctx, pm_pool *pool, uint64_t turn) {
  for (uint64_t i = 0; i < SIGNALS; ++i) {
    const uint64_t number = turn * SIGNALS + i + 1;
    pm_signal signal = {.tag = number};
    PM_EXPECT_OK(ctx, pm_send(pool, pm_node(pool), 0, &signal));
    PM_EXPECT_OK(ctx, pm_receive(pool, pm_node(pool), 0, &signal));
    PM_EXPECT(ctx, signal.sequence == number && signal.tag == number, "signal %llu comes with sequence %llu, tag %llu",
              (unsigned long long)number, (unsigned long long)signal.sequence, (unsigned long long)signal.tag);
  }
  return 0;
}

static int use_index(pm_test_ctx *ctx, pm_pool *pool, uint64_t turn) {
  const pm_digest digest = {.lo = turn + 1, .hi = 7}, before = {.lo = turn, .hi = 7};
  pm_ref ref;
  PM_EXPECT(ctx, pm_index_lookup(pool, turn, &before, 1, &ref) == (turn != 0), "turn %llu: the block before is lost",
            (unsigned long long)turn);
  PM_EXPECT_OK(ctx, pm_index_release(pool, turn, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_reserve(pool, turn, pm_digest_root(pool), &digest, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_index_commit(pool, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(pool, turn, &ref, 1));
  return 0;
}

static int take_lock_of_hosts(pm_test_ctx *ctx, pm_pool *home, shared *s, uint64_t turn) {
  int fresh;
  PM_EXPECT_OK(ctx, pm_lock_acquire(home, LOCK_OF_HOSTS, &fresh));
  if (fresh) pm_acquire(s, PM_LINE);
  PM_EXPECT(ctx, s->count == turn && s->mirror == turn, "turn %llu: count %llu, mirror %llu: the lock has two holders",
            (unsigned long long)turn, (unsigned long long)s->count, (unsigned long long)s->mirror);
  s->count = turn + 1;
  return 0;
}

static int use_id(pm_test_ctx *ctx, pm_pool *home, pm_pool *pool, uint64_t turn, pm_signal *baton) {
  if (turn == 0 && make_shared(ctx, pool, baton) != 0) return 1;
  shared *s = pm_ptr(pool, baton->offset);
  if (use_lock(ctx, pool, s, turn) != 0 || use_channel(ctx, pool, turn) != 0 || use_index(ctx, pool, turn) != 0)
    return 1;
  return take_lock_of_hosts(ctx, home, pm_ptr(home, baton->offset), turn);
}

static int one_turn(pm_test_ctx *ctx, pm_pool *home, uint64_t turn, pm_signal *baton) {
  pm_pool *pool, *manager_pool;
  pm_test_manager manager;
  if (open_id(ctx, ctx->nodes, &pool) != 0 || open_id(ctx, ctx->nodes + 1, &manager_pool) != 0) return 1;
  pm_test_manager_start(&manager, manager_pool);
  const int failed = use_id(ctx, home, pool, turn, baton);
  pm_test_manager_stop(&manager);
  if (failed) return 1;
  PM_EXPECT_OK(ctx, pm_close(manager_pool));
  PM_EXPECT_OK(ctx, pm_close(pool));
  baton->tag = turn + 1;
  if (ctx->nodes > 1) PM_EXPECT_OK(ctx, pm_send(home, (ctx->node + 1) % ctx->nodes, 0, baton));
  shared *s = pm_ptr(home, baton->offset);
  pm_relax();
  s->mirror = turn + 1;
  pm_publish(s, PM_LINE);
  PM_EXPECT_OK(ctx, pm_lock_release(home, LOCK_OF_HOSTS));
  return 0;
}

static int setup(pm_test_ctx *ctx) {
  const pm_format_options format = {
      .pool_bytes = PM_TEST_POOL_BYTES, .nodes = ctx->nodes + 2, .index_slots = 64, .block_bytes = BLOCK_BYTES};
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  const uint64_t turns = (uint64_t)LAPS * ctx->scale * ctx->nodes;
  pm_pool *home;
  pm_signal baton = {0};
  if (open_id(ctx, ctx->node, &home) != 0) return 1;
  for (uint64_t turn = ctx->node; turn < turns; turn += ctx->nodes) {
    if (turn != 0 && ctx->nodes > 1)
      PM_EXPECT_OK(ctx, pm_receive(home, (ctx->node + ctx->nodes - 1) % ctx->nodes, 0, &baton));
    PM_EXPECT(ctx, baton.tag == turn, "turn %llu got the baton of %llu", (unsigned long long)turn,
              (unsigned long long)baton.tag);
    if (one_turn(ctx, home, turn, &baton) != 0) return 1;
  }
  /* The last turn's baton reaches node 0, which has no turn left. */
  if (ctx->node == 0 && ctx->nodes > 1) PM_EXPECT_OK(ctx, pm_receive(home, ctx->nodes - 1, 0, &baton));
  PM_EXPECT_OK(ctx, pm_close(home));
  return 0;
}

const pm_test pm_test_node_reuse = {.name = "node_reuse",
                                    .about = "a node id and the lock manager go from host to host",
                                    .bare = 1,
                                    .setup = setup,
                                    .worker = worker};

/* Host 0 formats and never opens; the others wait for the pool and each take an id of their own, all at once and over and over.
 * Two that collide may leave an id unused (claim.c), so there are many. The owner of an id marks a line of that id and round. */
#define CLAIM_ROUNDS 6u

static uint64_t *mark_of(pm_pool *pool, uint32_t round, uint32_t id) {
  return pm_ptr(pool, PM_TEST_POOL_BYTES - ((uint64_t)round * PM_NODES_MAX + id + 1) * PM_LINE);
}

static int wait_for_all(pm_test_ctx *ctx, pm_pool *pool, uint32_t round, uint64_t openers) {
  for (uint64_t seen = 0; seen != openers;) {
    pm_relax();
    seen = 0;
    for (uint32_t id = 0; id < pm_nodes(pool); ++id) {
      const uint64_t *mark = mark_of(pool, round, id);
      pm_acquire(mark, PM_LINE);
      seen += __atomic_load_n(mark, __ATOMIC_ACQUIRE) != 0;
    }
    PM_EXPECT(ctx, seen <= openers, "%llu owners of ids, %llu openers", (unsigned long long)seen,
              (unsigned long long)openers);
  }
  return 0;
}

static int claim_once(pm_test_ctx *ctx, uint32_t round, uint64_t openers) {
  const pm_open_options options = {.node = PM_NODE_ANY};
  pm_pool *pool;
  int rc;
  while ((rc = pm_open(ctx->path, &options, &pool)) == -EAGAIN) pm_relax();
  PM_EXPECT(ctx, rc == 0, "open: %d %s", rc, pm_error_text());
  uint64_t *mark = mark_of(pool, round, pm_node(pool));
  pm_acquire(mark, PM_LINE);
  PM_EXPECT(ctx, *mark == 0, "round %u: id %u is owned by host %llu too", round, pm_node(pool),
            (unsigned long long)*mark - 1);
  __atomic_store_n(mark, ctx->node + 1, __ATOMIC_RELEASE);
  pm_publish(mark, PM_LINE);
  if (wait_for_all(ctx, pool, round, openers) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_close(pool));
  return 0;
}

static int claim_worker(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = PM_NODES_MAX, .index_slots = 64};
  if (ctx->node == 0) PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  if (ctx->node == 0 && ctx->nodes > 1) return 0;
  for (uint32_t round = 0; round < CLAIM_ROUNDS; ++round) {
    if (claim_once(ctx, round, ctx->nodes > 1 ? ctx->nodes - 1 : 1) != 0) return 1;
  }
  return 0;
}

const pm_test pm_test_claim_race = {.name = "claim_race",
                                    .about = "ids claimed by all at once, in a pool whose maker does not open it",
                                    .bare = 1,
                                    .worker = claim_worker};
