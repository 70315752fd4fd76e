/*
 * Allocator: no byte has two owners, blocks of other nodes can be freed, wrong frees are refused, everything comes back.
 */
#include <errno.h>
#include <string.h>

#include "tests.h"

#define ROUNDS 10u
#define KEPT 6u

typedef struct block {
  uint64_t offset, lines, tag;
} block;

/* Each line of a block carries the tag; published, so that another node can look. */
static void mark(pm_pool *pool, const block *b) {
  for (uint64_t i = 0; i < b->lines; ++i) {
    uint64_t *line = pm_ptr(pool, b->offset + i * PM_LINE);
    pm_acquire(line, PM_LINE);
    *line = b->tag + i;
    pm_publish(line, PM_LINE);
  }
}

static int check_and_free(pm_test_ctx *ctx, const block *b) {
  for (uint64_t i = 0; i < b->lines; ++i) {
    const uint64_t *line = pm_ptr(ctx->pool, b->offset + i * PM_LINE);
    pm_acquire(line, PM_LINE);
    PM_EXPECT(ctx, *line == b->tag + i, "block 0x%llx line %llu has two owners", (unsigned long long)b->offset,
              (unsigned long long)i);
  }
  PM_EXPECT_OK(ctx, pm_free(ctx->pool, b->offset));
  return 0;
}

/* Hand a block to the next node, and take the one of the node before. */
static int exchange(pm_test_ctx *ctx, block *b) {
  const uint32_t to = (ctx->node + 1) % ctx->nodes, from = (ctx->node + ctx->nodes - 1) % ctx->nodes;
  pm_signal signal = {.offset = b->offset, .length = b->lines, .tag = b->tag};
  if (ctx->nodes == 1) return 0;
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, to, 0, &signal));
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, from, 0, &signal));
  *b = (block){.offset = signal.offset, .lines = signal.length, .tag = signal.tag};
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  static const uint64_t sizes[] = {64, 128, 200, 512, 4096};
  block kept[KEPT];
  memset(kept, 0, sizeof kept);
  for (uint32_t i = 0; i < ROUNDS * ctx->scale; ++i) {
    block *b = &kept[pm_test_random(&ctx->seed) % KEPT];
    if (b->lines != 0 && check_and_free(ctx, b) != 0) return 1;
    const uint64_t bytes = sizes[pm_test_random(&ctx->seed) % (sizeof sizes / sizeof sizes[0])];
    PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, bytes, &b->offset));
    b->lines = (bytes + PM_LINE - 1) / PM_LINE;
    b->tag = ((uint64_t)ctx->node << 48) + ((uint64_t)ctx->thread << 40) + ((uint64_t)i << 8);
    mark(ctx->pool, b);
    if (ctx->thread == 0 && i % 3 == 0 && exchange(ctx, b) != 0) return 1;
  }
  for (uint32_t i = 0; i < KEPT; ++i) {
    if (kept[i].lines != 0 && check_and_free(ctx, &kept[i]) != 0) return 1;
  }
  pm_alloc_info info; /* collects what others freed of this node's chunks so far */
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  return 0;
}

static int check(pm_test_ctx *ctx) {
  pm_alloc_info info;
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.bytes_live == 0, "%llu bytes are live at the end", (unsigned long long)info.bytes_live);
  PM_EXPECT(ctx, info.chunks_used <= (uint64_t)ctx->nodes * 2 * 4 + 1, "%llu chunks are in use at the end",
            (unsigned long long)info.chunks_used);
  return 0;
}

const pm_test pm_test_alloc_exchange = {.name = "alloc_exchange",
                                        .about = "allocate, mark, hand over, free on another node",
                                        .threads = 2,
                                        .worker = worker,
                                        .check = check};

static int errors_setup(pm_test_ctx *ctx) {
  pm_pool *pool = ctx->pool;
  uint64_t a, b, run;
  PM_EXPECT(ctx, pm_alloc(pool, 0, &a) == -EINVAL, "0 bytes were allocated");
  PM_EXPECT(ctx, pm_alloc(pool, UINT64_C(1) << 40, &a) == -ENOMEM, "more than the pool was allocated");
  PM_EXPECT_OK(ctx, pm_alloc(pool, 4096, &a));
  PM_EXPECT_OK(ctx, pm_alloc(pool, 4096, &b));
  PM_EXPECT(ctx, a % PM_LINE == 0 && b % PM_LINE == 0 && a != b, "0x%llx and 0x%llx", (unsigned long long)a,
            (unsigned long long)b);
  PM_EXPECT(ctx, pm_free(pool, a + 64) == -EINVAL, "the middle of a block was freed");
  PM_EXPECT(ctx, pm_free(pool, 0) == -EINVAL, "the superblock was freed");
  PM_EXPECT_OK(ctx, pm_free(pool, a));
  PM_EXPECT(ctx, pm_free(pool, a) == -EINVAL, "freed twice");
  PM_EXPECT_OK(ctx, pm_alloc(pool, 200000, &run));
  PM_EXPECT(ctx, pm_free(pool, run + 65536) == -EINVAL, "the middle of a run was freed");
  PM_EXPECT_OK(ctx, pm_free(pool, run));
  PM_EXPECT(ctx, pm_free(pool, run) == -EINVAL, "a run was freed twice");
  PM_EXPECT_OK(ctx, pm_free(pool, b));
  pm_alloc_info info;
  PM_EXPECT_OK(ctx, pm_alloc_stat(pool, &info));
  PM_EXPECT(ctx, info.bytes_live == 0 && info.chunks_used == 1, "%llu bytes in %llu chunks are left",
            (unsigned long long)info.bytes_live, (unsigned long long)info.chunks_used);
  uint64_t count = 0;
  while (pm_alloc(pool, 32768, &a) == 0) count += 1;
  PM_EXPECT(ctx, count >= 2 * (info.chunks_total - 1), "only %llu halves of %llu chunks", (unsigned long long)count,
            (unsigned long long)info.chunks_total);
  return 0;
}

const pm_test pm_test_alloc_errors = {.name = "alloc_errors",
                                      .about = "wrong frees are refused, a full pool says so",
                                      .nodes_max = 1,
                                      .setup = errors_setup};

/* A run of more chunks than a hold keeps changed lines for: the set is published in between. It goes round the nodes; each
 * frees what the one before allocated, and takes as much again. */
#define RUN_CHUNK_BYTES 4096u
#define RUN_CHUNKS 600u
#define LAPS 2u

static int runs_worker(pm_test_ctx *ctx) {
  const uint32_t next = (ctx->node + 1) % ctx->nodes, before = (ctx->node + ctx->nodes - 1) % ctx->nodes;
  const uint64_t turns = (uint64_t)LAPS * ctx->scale * ctx->nodes;
  for (uint64_t turn = ctx->node; turn < turns; turn += ctx->nodes) {
    pm_signal signal = {0};
    pm_alloc_info info;
    if (turn != 0) {
      PM_EXPECT_OK(ctx, pm_receive(ctx->pool, before, 0, &signal));
      PM_EXPECT_OK(ctx, pm_free(ctx->pool, signal.offset));
    }
    PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, (uint64_t)RUN_CHUNKS * RUN_CHUNK_BYTES, &signal.offset));
    PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
    PM_EXPECT(ctx, info.chunks_used == RUN_CHUNKS, "turn %llu: %llu chunks are in use", (unsigned long long)turn,
              (unsigned long long)info.chunks_used);
    if (turn + 1 < turns) PM_EXPECT_OK(ctx, pm_send(ctx->pool, next, 0, &signal));
  }
  return 0;
}

const pm_test pm_test_alloc_runs = {.name = "alloc_runs",
                                    .about = "a run of 600 chunks goes round the nodes",
                                    .format = {.chunk_bytes = RUN_CHUNK_BYTES, .index_slots = 64},
                                    .worker = runs_worker};

/* Chunks change owners: in its turn each node takes all blocks that there are and gives them back, so the next one gets chunks
 * whose bitmaps others wrote. */
#define HALF_CHUNK_BYTES (UINT64_C(128) << 10)
#define BLOCKS_MAX 64u

static int take_all(pm_test_ctx *ctx, uint64_t tag) {
  block taken[BLOCKS_MAX];
  pm_alloc_info info;
  uint32_t count = 0;
  while (count < BLOCKS_MAX && pm_alloc(ctx->pool, HALF_CHUNK_BYTES, &taken[count].offset) == 0) {
    taken[count].lines = 1;
    taken[count].tag = tag + count;
    mark(ctx->pool, &taken[count]);
    count += 1;
  }
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  PM_EXPECT(ctx, count >= 2 * (info.chunks_total - ctx->nodes), "only %u halves of %llu chunks", count,
            (unsigned long long)info.chunks_total);
  for (uint32_t i = 0; i < count; ++i) {
    if (check_and_free(ctx, &taken[i]) != 0) return 1;
  }
  return 0;
}

static int migrate_worker(pm_test_ctx *ctx) {
  const uint32_t next = (ctx->node + 1) % ctx->nodes, before = (ctx->node + ctx->nodes - 1) % ctx->nodes;
  const uint64_t turns = (uint64_t)LAPS * ctx->scale * ctx->nodes;
  for (uint64_t turn = ctx->node; turn < turns; turn += ctx->nodes) {
    pm_signal signal = {0};
    if (turn != 0) PM_EXPECT_OK(ctx, pm_receive(ctx->pool, before, 0, &signal));
    if (take_all(ctx, turn << 16) != 0) return 1;
    if (turn + 1 < turns) PM_EXPECT_OK(ctx, pm_send(ctx->pool, next, 0, &signal));
  }
  return 0;
}

const pm_test pm_test_alloc_migrate = {.name = "alloc_migrate",
                                       .about = "all chunks go from node to node",
                                       .format = {.chunk_bytes = 2 * HALF_CHUNK_BYTES, .index_slots = 64},
                                       .worker = migrate_worker};
