/*
 * Prefix index on one node, the table itself: churn of many times the capacity, and digests that agree in what chooses their
 * place and in their low bits.
 */
#include <errno.h>

#include "tests.h"

#define CHURN_SLOTS 64u
#define CHURN_CAPACITY 48u /* three quarters */
#define CHURN_TIMES 10u
#define PROBES_MEAN_MAX 16u /* linear probing at 3/4: 2.5 on a hit, 8.5 on a miss; tombstones add a few */
#define PROBES_WORST_MAX \
  (CHURN_CAPACITY + CHURN_SLOTS / 16 + 2) /* all blocks and tombstones in one run, and the free bucket */
#define COLLIDING 48u

static int insert(pm_test_ctx *ctx, uint64_t request, pm_digest digest, pm_ref *ref) {
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, request, pm_digest_root(ctx->pool), &digest, 1, 0, ref));
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, ref, 1));
  return 0;
}

/* Ten times the capacity through a full table. Probes of lookups that hit and that miss, on average over the whole run. */
static int churn_setup(pm_test_ctx *ctx) {
  uint64_t state = ctx->seed + 1;
  pm_stats before, after;
  pm_index_info info;
  uint64_t probes = 0, lookups = 0;
  for (uint64_t i = 0; i < (uint64_t)CHURN_TIMES * CHURN_CAPACITY; ++i) {
    const pm_digest digest = {.lo = pm_test_random(&state), .hi = i};
    const pm_digest absent = {.lo = pm_test_random(&state), .hi = i};
    pm_ref ref;
    if (insert(ctx, i, digest, &ref) != 0) return 1;
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, i, &ref, 1));
    pm_get_stats(ctx->pool, &before);
    PM_EXPECT(ctx, pm_index_exists(ctx->pool, digest) == 1 && pm_index_exists(ctx->pool, absent) == 0,
              "insert %llu is lost, or one that never was is found", (unsigned long long)i);
    pm_get_stats(ctx->pool, &after);
    probes += after.probes - before.probes;
    lookups += 2;
  }
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.evictions == info.inserts - CHURN_CAPACITY, "%llu evictions", (unsigned long long)info.evictions);
  PM_EXPECT(ctx, probes <= lookups * PROBES_MEAN_MAX && info.probe_max <= PROBES_WORST_MAX,
            "%llu probes for %llu lookups, %llu the most", (unsigned long long)probes, (unsigned long long)lookups,
            (unsigned long long)info.probe_max);
  return 0;
}

const pm_test pm_test_index_churn = {
    .name = "index_churn",
    .about = "ten times the capacity through a full table: all found, probes bounded",
    .format = {.index_slots = CHURN_SLOTS, .index_capacity = CHURN_CAPACITY, .block_bytes = 64},
    .nodes_max = 1,
    .setup = churn_setup};

/* All have the same place and the same low 32 bits; only the other bits tell them apart. */
static pm_digest colliding(uint64_t number) {
  return (pm_digest){.lo = UINT64_C(0x5a5a5a5a) | number << 56, .hi = UINT64_C(0x1234) + (number << 32)};
}

static int collide_setup(pm_test_ctx *ctx) {
  _Alignas(64) unsigned char payload[64];
  pm_ref ref;
  for (uint64_t i = 0; i < COLLIDING; ++i) {
    const pm_digest digest = colliding(i);
    PM_EXPECT(ctx, pm_index_lookup(ctx->pool, 1, &digest, 1, &ref) == 0, "block %llu is found before it comes",
              (unsigned long long)i);
    PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, 1, pm_digest_root(ctx->pool), &digest, 1, 0, &ref));
    PM_EXPECT(ctx, ref.state == PM_REF_RESERVED, "block %llu: state %u", (unsigned long long)i, ref.state);
    pm_test_payload(digest, payload, sizeof payload);
    PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, ref.offset, payload, sizeof payload));
    PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, &ref, 1));
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, &ref, 1));
  }
  for (uint64_t i = 0; i < UINT64_C(2) * COLLIDING; ++i) {
    const pm_digest digest = colliding(i);
    const int hits = pm_index_lookup(ctx->pool, 1, &digest, 1, &ref);
    PM_EXPECT(ctx, hits == (i < COLLIDING), "block %llu: %d hits", (unsigned long long)i, hits);
    if (hits == 0) continue;
    PM_EXPECT_OK(ctx, pm_index_fetch(ctx->pool, &ref, 1, payload));
    PM_EXPECT(ctx, pm_test_payload_check(digest, payload, sizeof payload) < 0, "block %llu has other bytes",
              (unsigned long long)i);
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, &ref, 1));
  }
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  return 0;
}

const pm_test pm_test_index_collide = {
    .name = "index_collide",
    .about = "digests masked to 8 bits where they are placed: a miss is a miss, a hit has its own bytes",
    .format = {.index_slots = 64, .index_capacity = COLLIDING, .block_bytes = 64, .place_bits = 8},
    .nodes_max = 1,
    .setup = collide_setup};
