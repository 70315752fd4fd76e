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
