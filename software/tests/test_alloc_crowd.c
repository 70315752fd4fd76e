/*
 * Allocator, everybody at once: blocks and runs of chunks are taken by all nodes side by side and handed to any other node
 * through plain mailboxes, without a lock and without a fence of the library in between; that node frees them at once. And
 * chunks with more blocks than one line of their bitmaps tells of, under an id that goes from host to host.
 */
#include <errno.h>

#include "tests.h"

#define NODES_MAX 4u
#define ROUNDS 24u
#define CHUNK_BYTES 4096u

/* From one node to another: the first line is the sender's, the second the receiver's. */
typedef struct mailbox {
  uint64_t posted, offset, lines, tag, spare[4];
  uint64_t taken, spare2[7];
} mailbox;

typedef struct crowd {
  mailbox box[NODES_MAX][NODES_MAX]; /* [from][to] */
  struct {
    uint64_t over, spare[7];
  } node[NODES_MAX];
} crowd;

static int crowd_setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "crowd", sizeof(crowd));
}

/* Every line of a block carries its tag; tag 0: nobody wrote it. */
static void mark(pm_pool *pool, uint64_t offset, uint64_t lines, uint64_t tag) {
  for (uint64_t i = 0; i < lines; ++i) {
    uint64_t *line = pm_ptr(pool, offset + i * PM_LINE);
    pm_acquire(line, PM_LINE);
    *line = tag + i;
    pm_publish(line, PM_LINE);
  }
}

static int check_and_free(pm_test_ctx *ctx, uint64_t offset, uint64_t lines, uint64_t tag) {
  for (uint64_t i = 0; tag != 0 && i < lines; ++i) {
    const uint64_t *line = pm_ptr(ctx->pool, offset + i * PM_LINE);
    pm_acquire(line, PM_LINE);
    PM_EXPECT(ctx, *line == tag + i, "block 0x%llx line %llu has two owners", (unsigned long long)offset,
              (unsigned long long)i);
  }
  PM_EXPECT_OK(ctx, pm_free(ctx->pool, offset));
  return 0;
}

/* Take what the others have posted. */
static int empty_boxes(pm_test_ctx *ctx, crowd *c) {
  for (uint32_t from = 0; from < ctx->nodes; ++from) {
    mailbox *box = &c->box[from][ctx->node];
    pm_acquire(&box->posted, PM_LINE);
    const uint64_t posted = __atomic_load_n(&box->posted, __ATOMIC_ACQUIRE);
    if (posted == box->taken) continue;
    if (check_and_free(ctx, box->offset, box->lines, box->tag) != 0) return 1;
    __atomic_store_n(&box->taken, posted, __ATOMIC_RELEASE);
    pm_publish(&box->taken, PM_LINE);
  }
  return 0;
}

/* To another node, or, where that one has not emptied its box, back to the pool. */
static int pass_on(pm_test_ctx *ctx, crowd *c, uint64_t offset, uint64_t lines, uint64_t tag) {
  const uint32_t to = (uint32_t)((ctx->node + 1 + pm_test_random(&ctx->seed) % ctx->nodes) % ctx->nodes);
  mailbox *box = &c->box[ctx->node][to];
  if (to == ctx->node) return check_and_free(ctx, offset, lines, tag);
  pm_acquire(&box->taken, PM_LINE);
  if (__atomic_load_n(&box->taken, __ATOMIC_ACQUIRE) != box->posted) return check_and_free(ctx, offset, lines, tag);
  box->offset = offset;
  box->lines = lines;
  box->tag = tag;
  __atomic_store_n(&box->posted, box->posted + 1, __ATOMIC_RELEASE);
  pm_publish(&box->posted, PM_LINE);
  return 0;
}

static int crowd_is_over(pm_test_ctx *ctx, crowd *c) {
  uint32_t over = 0;
  for (uint32_t node = 0; node < ctx->nodes; ++node) {
    pm_acquire(&c->node[node], sizeof c->node[node]);
    over += __atomic_load_n(&c->node[node].over, __ATOMIC_ACQUIRE) != 0;
  }
  return over == ctx->nodes;
}

static int crowd_worker(pm_test_ctx *ctx) {
  static const uint64_t sizes[] = {64, 64, 64, 256, 2048, 9000, 20000};
  crowd *c = pm_test_region(ctx, "crowd", sizeof *c);
  if (c == NULL) return 1;
  for (uint32_t i = 0; i < ROUNDS * ctx->scale; ++i) {
    const uint64_t bytes = sizes[pm_test_random(&ctx->seed) % (sizeof sizes / sizeof sizes[0])];
    const uint64_t tag = bytes == 64 ? 0 : ((uint64_t)ctx->node << 48) + ((uint64_t)(i + 1) << 16);
    const uint64_t lines = (bytes + PM_LINE - 1) / PM_LINE;
    uint64_t offset;
    PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, bytes, &offset));
    if (tag != 0) mark(ctx->pool, offset, lines, tag);
    if (pass_on(ctx, c, offset, lines, tag) != 0 || empty_boxes(ctx, c) != 0) return 1;
  }
  __atomic_store_n(&c->node[ctx->node].over, 1, __ATOMIC_RELEASE);
  pm_publish(&c->node[ctx->node], sizeof c->node[ctx->node]);
  while (!crowd_is_over(ctx, c)) {
    if (empty_boxes(ctx, c) != 0) return 1;
    pm_relax();
  }
  if (empty_boxes(ctx, c) != 0) return 1;
  pm_alloc_info info; /* collects what others freed of this node's chunks so far */
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  return 0;
}

static int crowd_check(pm_test_ctx *ctx) {
  pm_alloc_info info;
  const uint64_t region = (sizeof(crowd) + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.bytes_live == region, "%llu bytes are live at the end, %llu are the mailboxes",
            (unsigned long long)info.bytes_live, (unsigned long long)region);
  return 0;
}

const pm_test pm_test_alloc_crowd = {.name = "alloc_crowd",
                                     .about = "all nodes allocate runs and blocks at once and free those of others",
                                     .format = {.chunk_bytes = CHUNK_BYTES, .index_slots = 64},
                                     .nodes_max = NODES_MAX,
                                     .setup = crowd_setup,
                                     .worker = crowd_worker,
                                     .check = crowd_check};

/* An id goes round the hosts with a list of its blocks. In each turn it takes BURST more, which needs a second line of the
 * bitmap from turn 2 on; the host frees, as a stranger, FOREIGN of the newest of the turn before. Nobody looks at the books
 * before the id has, so what the host knows of them is as old as its last turn. */
#define LAPS 2u
#define BURST 300u
#define FOREIGN 40u

typedef struct account {
  uint64_t live, newest[FOREIGN];
} account;

static int wide_setup(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = ctx->nodes + 2, .index_slots = 64};
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  return 0;
}

static int expect_live(pm_test_ctx *ctx, pm_pool *pool, uint64_t blocks) {
  pm_alloc_info info;
  PM_EXPECT_OK(ctx, pm_alloc_stat(pool, &info));
  PM_EXPECT(ctx, info.bytes_live == blocks * PM_LINE + sizeof(uint64_t) * 64, "%llu bytes are live, %llu blocks of 64",
            (unsigned long long)info.bytes_live, (unsigned long long)blocks);
  return 0;
}

static int wide_turn(pm_test_ctx *ctx, pm_pool *home, pm_pool *pool, uint64_t turn, pm_signal *baton) {
  if (turn == 0) PM_EXPECT_OK(ctx, pm_alloc(pool, 64 * sizeof(uint64_t), &baton->offset));
  account *a = pm_ptr(home, baton->offset);
  pm_acquire(a, sizeof *a);
  uint64_t live = turn == 0 ? 0 : a->live;
  for (uint32_t i = 0; turn != 0 && i < FOREIGN; ++i) PM_EXPECT_OK(ctx, pm_free(home, a->newest[i]));
  if (turn != 0) live -= FOREIGN;
  for (uint32_t i = 0; i < BURST; ++i) {
    PM_EXPECT_OK(ctx, pm_alloc(pool, PM_LINE, &a->newest[i % FOREIGN]));
    live += 1;
  }
  a->live = live;
  pm_publish(a, sizeof *a);
  return expect_live(ctx, home, live);
}

static int wide_worker(pm_test_ctx *ctx) {
  const uint64_t turns = (uint64_t)LAPS * ctx->scale * ctx->nodes;
  const pm_open_options travelling = {.node = ctx->nodes}, managing = {.node = ctx->nodes + 1},
                        own = {.node = ctx->node};
  pm_pool *home;
  pm_signal baton = {0};
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &own, &home));
  for (uint64_t turn = ctx->node; turn < turns; turn += ctx->nodes) {
    pm_pool *pool, *manager_pool;
    pm_test_manager manager;
    if (turn != 0 && ctx->nodes > 1)
      PM_EXPECT_OK(ctx, pm_receive(home, (ctx->node + ctx->nodes - 1) % ctx->nodes, 0, &baton));
    PM_EXPECT_OK(ctx, pm_open(ctx->path, &travelling, &pool));
    PM_EXPECT_OK(ctx, pm_open(ctx->path, &managing, &manager_pool));
    pm_test_manager_start(&manager, manager_pool);
    const int failed = wide_turn(ctx, home, pool, turn, &baton);
    pm_test_manager_stop(&manager);
    if (failed) return 1;
    PM_EXPECT_OK(ctx, pm_close(pool));
    PM_EXPECT_OK(ctx, pm_close(manager_pool));
    if (ctx->nodes > 1 && turn + 1 < turns) PM_EXPECT_OK(ctx, pm_send(home, (ctx->node + 1) % ctx->nodes, 0, &baton));
  }
  PM_EXPECT_OK(ctx, pm_close(home));
  return 0;
}

const pm_test pm_test_alloc_wide = {.name = "alloc_wide",
                                    .about = "an id with more blocks than a line of a bitmap goes from host to host",
                                    .bare = 1,
                                    .nodes_max = 3,
                                    .setup = wide_setup,
                                    .worker = wide_worker};
