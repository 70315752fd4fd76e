/*
 * DMA against the caches: blocks that the CPU left dirty become targets and sources of transfers, on their host and on the
 * next.
 */
#include "tests.h"

#define ROUNDS 4u
#define WORDS 96u /* 12 lines */
#define BYTES (WORDS * sizeof(uint64_t))

static void fill(uint64_t *words, uint64_t tag) {
  for (uint64_t i = 0; i < WORDS; ++i) words[i] = tag + i;
}

static int compare(pm_test_ctx *ctx, const uint64_t *words, uint64_t tag, const char *how) {
  for (uint64_t i = 0; i < WORDS; ++i)
    PM_EXPECT(ctx, words[i] == tag + i, "%s: word %llu is 0x%llx instead of 0x%llx", how, (unsigned long long)i,
              (unsigned long long)words[i], (unsigned long long)(tag + i));
  return 0;
}

static int read_both_ways(pm_test_ctx *ctx, uint64_t offset, uint64_t tag) {
  _Alignas(64) uint64_t buffer[WORDS];
  PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, offset, buffer, BYTES));
  if (compare(ctx, buffer, tag, "read by DMA") != 0) return 1;
  const uint64_t *words = pm_ptr(ctx->pool, offset);
  pm_acquire(words, BYTES);
  return compare(ctx, words, tag, "read by loads");
}

static int make_block(pm_test_ctx *ctx, uint64_t tag, uint64_t *offset) {
  _Alignas(64) uint64_t buffer[WORDS];
  uint64_t first;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, BYTES, &first));
  uint64_t *words = pm_ptr(ctx->pool, first);
  pm_acquire(words, BYTES);
  fill(words, tag + 1000); /* plain stores, not published: the transfer has to see them */
  PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, first, buffer, BYTES));
  if (compare(ctx, buffer, tag + 1000, "dirty lines read by DMA") != 0) return 1;
  fill(words, tag + 2000); /* left dirty */
  PM_EXPECT_OK(ctx, pm_free(ctx->pool, first));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, BYTES, offset));
  PM_EXPECT(ctx, *offset == first, "block 0x%llx came instead of 0x%llx", (unsigned long long)*offset,
            (unsigned long long)first);
  fill(buffer, tag);
  PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, *offset, buffer, BYTES));
  return read_both_ways(ctx, *offset, tag);
}

static int worker(pm_test_ctx *ctx) {
  const uint32_t next = (ctx->node + 1) % ctx->nodes, before = (ctx->node + ctx->nodes - 1) % ctx->nodes;
  for (uint64_t round = 0; round < (uint64_t)ROUNDS * ctx->scale; ++round) {
    const uint64_t tag = (round * ctx->nodes + ctx->node + 1) << 16;
    uint64_t offset;
    if (make_block(ctx, tag, &offset) != 0) return 1;
    pm_signal signal = {.offset = offset, .tag = tag};
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, next, 0, &signal));
    PM_EXPECT_OK(ctx, pm_receive(ctx->pool, before, 0, &signal));
    if (read_both_ways(ctx, signal.offset, signal.tag) != 0) return 1;
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, before, 0, &signal)); /* read */
    PM_EXPECT_OK(ctx, pm_receive(ctx->pool, next, 0, &signal));
    PM_EXPECT_OK(ctx, pm_free(ctx->pool, offset));
  }
  return 0;
}

const pm_test pm_test_dma_dirty = {
    .name = "dma_dirty", .about = "transfers from and to lines that the CPU left dirty", .worker = worker};
