/*
 * Rendezvous: a payload goes round the nodes by DMA, each node adds to it and signals the next.
 */
#include "tests.h"

#define LAPS 6u
#define WORDS 64u

static int worker(pm_test_ctx *ctx) {
  uint64_t offset;
  const uint32_t next = (ctx->node + 1) % ctx->nodes, before = (ctx->node + ctx->nodes - 1) % ctx->nodes;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, WORDS * sizeof(uint64_t), &offset));
  for (uint64_t lap = 0; lap < (uint64_t)LAPS * ctx->scale; ++lap) {
    const uint64_t turn = lap * ctx->nodes + ctx->node;
    _Alignas(64) uint64_t buffer[WORDS];
    pm_signal signal = {.tag = turn};
    if (turn != 0) {
      PM_EXPECT_OK(ctx, pm_receive(ctx->pool, before, 0, &signal));
      PM_EXPECT(ctx, signal.tag == turn, "turn %llu got the signal of %llu", (unsigned long long)turn,
                (unsigned long long)signal.tag);
      PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, signal.offset, buffer, signal.length));
      for (uint32_t i = 0; i < WORDS; ++i)
        PM_EXPECT(ctx, buffer[i] == turn * 1000 + i, "turn %llu word %u: %llu", (unsigned long long)turn, i,
                  (unsigned long long)buffer[i]);
    }
    for (uint32_t i = 0; i < WORDS; ++i) buffer[i] = (turn + 1) * 1000 + i;
    if (turn + 1 == (uint64_t)LAPS * ctx->scale * ctx->nodes) break;
    PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, offset, buffer, sizeof buffer));
    signal = (pm_signal){.offset = offset, .length = sizeof buffer, .tag = turn + 1};
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, next, 0, &signal));
  }
  return 0;
}

const pm_test pm_test_rendezvous_ring = {
    .name = "rendezvous_ring", .about = "payload by DMA, one signal line a hop", .worker = worker};
