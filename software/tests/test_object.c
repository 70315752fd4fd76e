/*
 * Object store: put, get and destroy from all nodes; duplicates, a full table, offset 0, generations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests.h"

#define ROUNDS 4u

static int setup(pm_test_ctx *ctx) {
  uint64_t offset = 1;
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, "zero", 4, 0));
  PM_EXPECT_OK(ctx, pm_get(ctx->pool, "zero", 4, &offset, NULL));
  PM_EXPECT(ctx, offset == 0, "offset 0 came back as %llu", (unsigned long long)offset);
  PM_EXPECT(ctx, pm_put(ctx->pool, "zero", 4, 64) == -EEXIST, "a duplicate key was taken");
  PM_EXPECT(ctx, pm_put(ctx->pool, "", 0, 64) == -EINVAL, "an empty key was taken");
  PM_EXPECT(ctx, pm_get(ctx->pool, "none", 4, &offset, NULL) == -ENOENT, "an unknown key was found");
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  uint32_t generation_last = 0;
  for (uint32_t i = 1; i <= ROUNDS * ctx->scale; ++i) {
    char key[PM_KEY_MAX + 1];
    uint64_t offset = 0;
    uint32_t generation = 0;
    snprintf(key, sizeof key, "node-%u", ctx->node);
    PM_EXPECT_OK(ctx, pm_put(ctx->pool, key, strlen(key), UINT64_C(64) * i));
    PM_EXPECT_OK(ctx, pm_get(ctx->pool, key, strlen(key), &offset, &generation));
    PM_EXPECT(ctx, offset == UINT64_C(64) * i, "%s: offset %llu instead of %u", key, (unsigned long long)offset,
              i * 64);
    PM_EXPECT(ctx, generation != generation_last || i == 1, "%s: generation %u came twice", key, generation);
    generation_last = generation;
    PM_EXPECT_OK(ctx, pm_get(ctx->pool, "zero", 4, &offset, NULL));
    PM_EXPECT(ctx, offset == 0, "zero: offset %llu", (unsigned long long)offset);
    PM_EXPECT_OK(ctx, pm_destroy(ctx->pool, key, strlen(key)));
    PM_EXPECT(ctx, pm_get(ctx->pool, key, strlen(key), NULL, NULL) == -ENOENT, "%s: found after destroy", key);
  }
  return 0;
}

static int check(pm_test_ctx *ctx) {
  uint32_t stored = 0;
  for (;; ++stored) {
    char key[16];
    snprintf(key, sizeof key, "k%u", stored);
    const int rc = pm_put(ctx->pool, key, strlen(key), stored);
    if (rc == -ENOSPC) break;
    PM_EXPECT(ctx, rc == 0, "%s: %d %s", key, rc, pm_error_text());
  }
  PM_EXPECT(ctx, stored == 15, "%u keys fit behind one in a table of 16", stored);
  return 0;
}

const pm_test pm_test_object_store = {.name = "object_store",
                                      .about = "named roots from all nodes",
                                      .format = {.objects = 16},
                                      .setup = setup,
                                      .worker = worker,
                                      .check = check};

/* The threads of all nodes replace one entry over and over. Each put has an offset of its own, and a generation. */
#define CHURN_ROUNDS 6u
#define GENERATIONS_MAX 4096u

static uint64_t offset_of[GENERATIONS_MAX]; /* as whoever looked first saw it; DRAM */

static int churn_setup(pm_test_ctx *ctx) {
  (void)ctx;
  for (uint32_t i = 0; i < GENERATIONS_MAX; ++i) __atomic_store_n(&offset_of[i], 0, __ATOMIC_RELAXED);
  return 0;
}

static int note_generation(pm_test_ctx *ctx, uint32_t generation, uint64_t offset) {
  PM_EXPECT(ctx, generation < GENERATIONS_MAX, "generation %u after few puts", generation);
  const uint64_t before = __atomic_load_n(&offset_of[generation], __ATOMIC_ACQUIRE);
  PM_EXPECT(ctx, before == 0 || before == offset, "generation %u: offset 0x%llx and 0x%llx", generation,
            (unsigned long long)before, (unsigned long long)offset);
  __atomic_store_n(&offset_of[generation], offset, __ATOMIC_RELEASE);
  return 0;
}

static int churn_worker(pm_test_ctx *ctx) {
  for (uint64_t round = 1; round <= (uint64_t)CHURN_ROUNDS * ctx->scale; ++round) {
    const uint64_t mine = ((uint64_t)ctx->node * ctx->threads + ctx->thread + 1) << 32 | round;
    uint64_t offset;
    uint32_t generation;
    const int gone = pm_destroy(ctx->pool, "churn", 5);
    PM_EXPECT(ctx, gone == 0 || gone == -ENOENT, "destroy: %d %s", gone, pm_error_text());
    const int put = pm_put(ctx->pool, "churn", 5, mine);
    PM_EXPECT(ctx, put == 0 || put == -EEXIST, "put: %d %s", put, pm_error_text());
    const int got = pm_get(ctx->pool, "churn", 5, &offset, &generation);
    PM_EXPECT(ctx, got == 0 || got == -ENOENT, "get: %d %s", got, pm_error_text());
    if (got == 0 && note_generation(ctx, generation, offset) != 0) return 1;
  }
  return 0;
}

const pm_test pm_test_object_churn = {.name = "object_churn",
                                      .about = "one entry that all threads of all nodes replace",
                                      .format = {.objects = 16, .index_slots = 64},
                                      .threads = 2,
                                      .setup = churn_setup,
                                      .worker = churn_worker};
