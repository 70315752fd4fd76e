/*
 * pm_flush_host: what a host stored anywhere in the pool and did not publish is in the device afterwards, and what it had read
 * before is read anew.
 */
#include "../src/layout.h"
#include "tests.h"

#define PLACES 4u

/* In the first and in the last line of the pool, and in between; nothing of the library uses them. */
static const uint64_t places[PLACES] = {PM_TEST_POOL_BYTES - PM_LINE, offsetof(pmi_superblock, spare),
                                        PM_TEST_POOL_BYTES / 2 - PM_LINE, PM_TEST_POOL_BYTES / 4 * 3};

static uint64_t *word_at(pm_test_ctx *ctx, uint32_t place) {
  return pm_ptr(ctx->pool, places[place]);
}

static int expect_all(pm_test_ctx *ctx, uint64_t value) {
  for (uint32_t i = 0; i < PLACES; ++i)
    PM_EXPECT(ctx, *word_at(ctx, i) == value + i, "0x%llx: %llu instead of %llu", (unsigned long long)places[i],
              (unsigned long long)*word_at(ctx, i), (unsigned long long)value + i);
  return 0;
}

/* Node 0 publishes nothing and acquires nothing by itself. */
static int flush(pm_test_ctx *ctx) {
  if (pm_test_hear(ctx, 1) != 0) return 1;
  for (uint32_t i = 0; i < PLACES; ++i) *word_at(ctx, i) = 100 + i;
  PM_EXPECT_OK(ctx, pm_flush_host(ctx->path));
  if (expect_all(ctx, 100) != 0 || pm_test_tell(ctx, 1) != 0 || pm_test_hear(ctx, 1) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_flush_host(ctx->path));
  return expect_all(ctx, 200);
}

static int use(pm_test_ctx *ctx) {
  if (pm_test_tell(ctx, 0) != 0 || pm_test_hear(ctx, 0) != 0) return 1;
  for (uint32_t i = 0; i < PLACES; ++i) pm_acquire(word_at(ctx, i), sizeof(uint64_t));
  if (expect_all(ctx, 100) != 0) return 1;
  for (uint32_t i = 0; i < PLACES; ++i) {
    *word_at(ctx, i) = 200 + i;
    pm_publish(word_at(ctx, i), sizeof(uint64_t));
  }
  return pm_test_tell(ctx, 0);
}

static int worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 2) return 0;
  return ctx->node == 0 ? flush(ctx) : use(ctx);
}

const pm_test pm_test_flush_host = {.name = "flush_host",
                                    .about = "a flushed host has nothing left that it stored or read",
                                    .format = {.index_slots = 64},
                                    .nodes_max = 2,
                                    .worker = worker};
