/*
 * Two-tier lock: mutual exclusion with what the lock protects, the order of grants, errors.
 */
#include <errno.h>
#include <string.h>

#include "../src/locktable.h"
#include "tests.h"

#define ROUNDS 6u

typedef struct protected_line {
  uint64_t count, mirror;
  uint64_t spare[6];
} protected_line;

static int counter_setup(pm_test_ctx *ctx) {
  uint32_t lock;
  PM_EXPECT_OK(ctx, pm_lock_alloc(ctx->pool, &lock));
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, "lock", 4, lock));
  return pm_test_region_make(ctx, "counter", sizeof(protected_line));
}

static int counter_worker(pm_test_ctx *ctx) {
  uint64_t lock;
  PM_EXPECT_OK(ctx, pm_get(ctx->pool, "lock", 4, &lock, NULL));
  protected_line *line = pm_test_region(ctx, "counter", sizeof(protected_line));
  if (line == NULL) return 1;
  for (uint32_t i = 0; i < ROUNDS * ctx->scale; ++i) {
    int fresh;
    PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, (uint32_t)lock, &fresh));
    if (fresh) pm_acquire(line, sizeof *line);
    const uint64_t count = line->count;
    PM_EXPECT(ctx, count == line->mirror, "count %llu, mirror %llu: somebody else is inside", (unsigned long long)count,
              (unsigned long long)line->mirror);
    line->count = count + 1;
    pm_relax();
    line->mirror = count + 1;
    pm_publish(line, sizeof *line);
    PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, (uint32_t)lock));
  }
  return 0;
}

static int counter_check(pm_test_ctx *ctx) {
  const protected_line *line = pm_test_region(ctx, "counter", sizeof(protected_line));
  if (line == NULL) return 1;
  const uint64_t expected = (uint64_t)ctx->nodes * ctx->threads * ROUNDS * ctx->scale;
  PM_EXPECT(ctx, line->count == expected, "count %llu, expected %llu: an update was lost",
            (unsigned long long)line->count, (unsigned long long)expected);
  return 0;
}

#define COUNTER_TEST(id, tier)                                                       \
  const pm_test pm_test_##id = {.name = #id,                                         \
                                .about = "every node adds to one line under a lock", \
                                .format = {.lock_tier = (tier)},                     \
                                .threads = 2,                                        \
                                .setup = counter_setup,                              \
                                .worker = counter_worker,                            \
                                .check = counter_check}
COUNTER_TEST(lock_counter, PM_LOCK_QUEUE);
COUNTER_TEST(lock_counter_slots, PM_LOCK_SLOTS);
COUNTER_TEST(lock_counter_bakery, PM_LOCK_BAKERY);

#define QUOTA 8u /* hand-overs inside a node, for each time that it got the lock from the others */

static int quota_worker(pm_test_ctx *ctx) {
  pm_lock_info info;
  for (uint32_t i = 0; i < 3 * ROUNDS * ctx->scale; ++i) {
    PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, 5, NULL));
    PM_EXPECT_OK(ctx, pm_lock_stat(ctx->pool, 5, &info));
    pm_relax();
    PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, 5));
    PM_EXPECT(ctx, info.taken_here <= QUOTA * info.taken, "%llu hand-overs inside the node, %llu from others",
              (unsigned long long)info.taken_here, (unsigned long long)info.taken);
    PM_EXPECT(ctx, info.queued >= info.taken && info.wait_ns_max <= info.wait_ns, "the counts contradict each other");
  }
  PM_EXPECT(ctx, pm_lock_stat(ctx->pool, 99, &info) == -EINVAL, "lock 99 exists");
  return 0;
}

const pm_test pm_test_lock_quota = {.name = "lock_quota",
                                    .about = "a node does not keep a lock for its own threads",
                                    .threads = 4,
                                    .worker = quota_worker};

/* The test plays the request lines of nodes 1 to 3 by hand, and is the manager. */
static void request(pm_pool *pool, uint32_t lock, uint32_t node, uint64_t ticket, int waiting) {
  pmi_request *r = pmi_request_of(pool, lock, node);
  pmi_doorbell *bell = pmi_doorbell_of(pool, node);
  pmi_store(&r->word, ticket * 2 + (uint64_t)waiting);
  pm_publish(r, sizeof r->word);
  pmi_store(&bell->wanted, waiting ? UINT64_C(1) << lock : 0);
  pmi_store(&bell->sequence, bell->sequence + 1);
  pm_publish(bell, sizeof *bell);
}

static int granted(pm_pool *pool, uint32_t lock, uint32_t node, uint64_t ticket) {
  const pmi_grant *grant = pmi_grant_of(pool, lock, node);
  pm_acquire(grant, sizeof *grant);
  return pmi_load(&grant->ticket) == ticket;
}

static int fair_setup(pm_test_ctx *ctx) {
  pm_pool *pool = ctx->pool;
  const uint32_t lock = 5, nodes = ctx->nodes;
  PM_EXPECT(ctx, pm_manager_step(pool) == 0, "a grant without a request");
  for (uint32_t node = 0; node < nodes; ++node) request(pool, lock, node, 1, 1);
  for (uint32_t turn = 0; turn < 3 * nodes; ++turn) {
    const uint32_t node = turn % nodes;
    const uint64_t ticket = turn / nodes + 1;
    PM_EXPECT(ctx, pm_manager_step(pool) == 1, "turn %u: not one grant", turn);
    PM_EXPECT(ctx, granted(pool, lock, node, ticket), "turn %u: node %u was passed", turn, node);
    PM_EXPECT(ctx, pm_manager_step(pool) == 0, "turn %u: a second holder", turn);
    request(pool, lock, node, ticket + 1, 1); /* releases and wants it again at once */
  }
  for (uint32_t node = 0; node < nodes; ++node) request(pool, lock, node, 4, 0);
  PM_EXPECT(ctx, pm_manager_step(pool) == 0, "a grant to a node that has withdrawn");
  return 0;
}

const pm_test pm_test_lock_manager_fair = {.name = "lock_manager_fair",
                                           .about = "grants go round, one holder at a time",
                                           .format = {.lock_tier = PM_LOCK_SLOTS},
                                           .no_manager = 1,
                                           .setup = fair_setup};

static int errors_setup(pm_test_ctx *ctx) {
  pm_pool *pool = ctx->pool;
  PM_EXPECT(ctx, pm_lock_acquire(pool, 99, NULL) == -EINVAL, "lock 99 exists");
  PM_EXPECT(ctx, strstr(pm_error_text(), "99") != NULL, "text: %s", pm_error_text());
  PM_EXPECT(ctx, pm_lock_release(pool, 5) == -EPERM, "released without holding");
  PM_EXPECT_OK(ctx, pm_lock_acquire(pool, 5, NULL));
  PM_EXPECT(ctx, pm_lock_acquire(pool, 5, NULL) == -EDEADLK, "taken twice by one thread");
  PM_EXPECT(ctx, pm_close(pool) == -EBUSY, "closed while a lock is held");
  PM_EXPECT_OK(ctx, pm_lock_release(pool, 5));
  uint32_t lock, taken = 0;
  while (pm_lock_alloc(pool, &lock) == 0) taken += 1;
  PM_EXPECT(ctx, taken == 12, "%u locks of 16 could be allocated, the library keeps 4", taken);
  PM_EXPECT_OK(ctx, pm_lock_free(pool, 7));
  PM_EXPECT(ctx, pm_lock_free(pool, 7) == -EINVAL, "freed twice");
  PM_EXPECT(ctx, pm_lock_free(pool, 0) == -EINVAL, "a lock of the library was freed");
  PM_EXPECT_OK(ctx, pm_lock_alloc(pool, &lock));
  PM_EXPECT(ctx, lock == 7, "lock %u instead of 7", lock);
  return 0;
}

const pm_test pm_test_lock_errors = {
    .name = "lock_errors", .about = "wrong uses of locks are refused", .nodes_max = 1, .setup = errors_setup};
