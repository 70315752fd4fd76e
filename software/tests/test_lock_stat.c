/*
 * What a node counts of a lock: every tenure once, where it came from, and what the waiting cost. The counters are written
 * one after the other, so they are compared with each other when nobody is at it any more.
 */
#include "tests.h"

#define LOCK 5u
#define ROUNDS 5u
#define THREADS 2u

static int worker(pm_test_ctx *ctx) {
  for (uint32_t i = 0; i < ROUNDS * ctx->scale; ++i) {
    PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
    pm_relax();
    PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  }
  pm_lock_info info;
  PM_EXPECT_OK(ctx, pm_lock_stat(ctx->pool, LOCK, &info));
  const uint64_t own = (uint64_t)ROUNDS * ctx->scale, all = own * THREADS, counted = info.taken + info.taken_here;
  PM_EXPECT(ctx, counted >= own && counted <= all, "%llu tenures are counted of %llu..%llu",
            (unsigned long long)counted, (unsigned long long)own, (unsigned long long)all);
  return 0;
}

static int check(pm_test_ctx *ctx) {
  pm_lock_info info;
  PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, LOCK, NULL));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, LOCK));
  PM_EXPECT_OK(ctx, pm_lock_stat(ctx->pool, LOCK, &info));
  PM_EXPECT(ctx, info.taken + info.taken_here == (uint64_t)ROUNDS * ctx->scale * THREADS + 1,
            "%llu tenures are counted", (unsigned long long)(info.taken + info.taken_here));
  PM_EXPECT(ctx, info.queued >= info.taken, "%llu times in the queue, %llu times taken",
            (unsigned long long)info.queued, (unsigned long long)info.taken);
  PM_EXPECT(ctx, info.wait_ns >= info.wait_ns_max && info.wait_ns_max * info.taken >= info.wait_ns,
            "waited %llu ns in %llu times, at most %llu", (unsigned long long)info.wait_ns,
            (unsigned long long)info.taken, (unsigned long long)info.wait_ns_max);
  PM_EXPECT(ctx, info.wait_ns != 0 && info.wait_ns_max != 0, "no time has passed in %llu waits",
            (unsigned long long)info.taken);
  return 0;
}

/* What a manager grants is looked for at least once. */
static int check_granted(pm_test_ctx *ctx) {
  pm_lock_info info;
  if (check(ctx) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_lock_stat(ctx->pool, LOCK, &info));
  PM_EXPECT(ctx, info.polls >= info.taken, "%llu grants were found in %llu looks", (unsigned long long)info.taken,
            (unsigned long long)info.polls);
  return 0;
}

#define STAT_TEST(id, tier, check_of_tier)                                            \
  const pm_test pm_test_##id = {.name = #id,                                          \
                                .about = "tenures, looks and waiting time of a lock", \
                                .format = {.lock_tier = (tier), .index_slots = 64},   \
                                .threads = THREADS,                                   \
                                .worker = worker,                                     \
                                .check = (check_of_tier)}
STAT_TEST(lock_stat, PM_LOCK_QUEUE, check);
STAT_TEST(lock_stat_slots, PM_LOCK_SLOTS, check_granted);
STAT_TEST(lock_stat_bakery, PM_LOCK_BAKERY, check);
