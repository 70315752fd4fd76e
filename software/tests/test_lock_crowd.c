/*
 * A lock that everybody wants again at once, for a long time: the order of those who wait is made anew at each turn, so whoever
 * misjudges it meets somebody else inside.
 */
#include "tests.h"

#define LOCK 5u
#define ROUNDS 60u
#define REST_MAX 4u

typedef struct inside {
  uint64_t count, mirror;
  uint64_t spare[6];
} inside;

static int setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "inside", sizeof(inside));
}

static int enter(pm_test_ctx *ctx, inside *line) {
  int fresh;
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, &fresh));
  if (fresh) pm_acquire(line, sizeof *line);
  const uint64_t count = line->count;
  PM_EXPECT(ctx, count == line->mirror, "count %llu, mirror %llu: somebody else is inside", (unsigned long long)count,
            (unsigned long long)line->mirror);
  line->count = count + 1;
  pm_publish(line, sizeof *line);
  line->mirror = count + 1;
  pm_publish(line, sizeof *line);
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  inside *line = pm_test_region(ctx, "inside", sizeof *line);
  if (line == NULL) return 1;
  for (uint32_t i = 0; i < ROUNDS * ctx->scale; ++i) {
    if (enter(ctx, line) != 0) return 1;
    for (uint64_t rest = pm_test_random(&ctx->seed) % REST_MAX; rest != 0; --rest) pm_relax();
  }
  return 0;
}

static int check(pm_test_ctx *ctx) {
  const inside *line = pm_test_region(ctx, "inside", sizeof *line);
  if (line == NULL) return 1;
  PM_EXPECT(ctx, line->count == (uint64_t)ctx->nodes * ROUNDS * ctx->scale, "count %llu: an update was lost",
            (unsigned long long)line->count);
  return 0;
}

const pm_test pm_test_lock_crowd = {.name = "lock_crowd",
                                    .about = "all nodes want one lock over and over",
                                    .format = {.index_slots = 16},
                                    .setup = setup,
                                    .worker = worker,
                                    .check = check};
