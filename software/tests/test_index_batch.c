/*
 * Batches of the prefix index: the same outcome as one call after the other, a chain that fails fails alone, payload of a
 * whole chain in one call.
 */
#include <errno.h>
#include <string.h>

#include "tests.h"

#define BLOCK_BYTES 128u
#define DEPTH 5u
#define CHAINS 6u
#define FAMILIES 3u
#define ROUNDS 6u
#define CAPACITY 24u

typedef struct batch {
  pm_digest digests[CHAINS][DEPTH];
  pm_ref refs[CHAINS][DEPTH];
  pm_chain chains[CHAINS];
} batch;

/* Chains of a family share their first three blocks. */
static void make(const pm_pool *pool, batch *b, uint64_t first_request, uint32_t salt) {
  for (uint32_t i = 0; i < CHAINS; ++i) {
    pm_digest parent = pm_digest_root(pool);
    for (uint32_t d = 0; d < DEPTH; ++d) {
      const uint32_t tokens[2] = {d < 3 ? (i + salt) % FAMILIES : i + salt + 100, d};
      parent = b->digests[i][d] = pm_digest_chain(parent, tokens, 2);
    }
    b->chains[i] = (pm_chain){.request = first_request + i, .digests = b->digests[i], .n = DEPTH, .refs = b->refs[i]};
  }
}

static int fill(pm_test_ctx *ctx, const pm_chain *c) {
  _Alignas(64) unsigned char payload[BLOCK_BYTES];
  for (size_t i = 0; i < c->n; ++i) {
    if (c->refs[i].state != PM_REF_RESERVED) continue;
    pm_test_payload(c->digests[i], payload, sizeof payload);
    PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, c->refs[i].offset, payload, sizeof payload));
  }
  return 0;
}

/* Fetch what is pinned of the front of a chain and compare every byte. */
static int verify(pm_test_ctx *ctx, const pm_chain *c) {
  _Alignas(64) unsigned char payload[DEPTH][BLOCK_BYTES];
  size_t pinned = 0;
  while (pinned < c->n && c->refs[pinned].state == PM_REF_HIT) pinned += 1;
  PM_EXPECT_OK(ctx, pm_index_fetch(ctx->pool, c->refs, pinned, payload));
  for (size_t i = 0; i < pinned; ++i)
    PM_EXPECT(ctx, pm_test_payload_check(c->digests[i], payload[i], BLOCK_BYTES) < 0, "block %zu: other bytes", i);
  return 0;
}

static int share_worker(pm_test_ctx *ctx) {
  batch b;
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    make(ctx->pool, &b, (uint64_t)round * CHAINS, (uint32_t)(pm_test_random(&ctx->seed) % 4));
    const size_t count = 1 + pm_test_random(&ctx->seed) % 2;
    PM_EXPECT_OK(ctx, pm_index_lookup_many(ctx->pool, b.chains, count));
    for (size_t i = 0; i < count; ++i) {
      PM_EXPECT(ctx, b.chains[i].result == (int)b.chains[i].hits, "chain %zu: result %d, %zu hits", i,
                b.chains[i].result, b.chains[i].hits);
      if (verify(ctx, &b.chains[i]) != 0) return 1;
    }
    const int rc = pm_index_reserve_many(ctx->pool, pm_digest_root(ctx->pool), b.chains, count);
    PM_EXPECT(ctx, rc >= 0 || rc == -ENOSPC, "reserve: %d %s", rc, pm_error_text());
    for (size_t i = 0; i < count; ++i) {
      if (fill(ctx, &b.chains[i]) != 0) return 1;
    }
    PM_EXPECT_OK(ctx, pm_index_commit_many(ctx->pool, b.chains, count));
    for (size_t i = 0; i < count; ++i) {
      if (verify(ctx, &b.chains[i]) != 0) return 1;
    }
    PM_EXPECT_OK(ctx, pm_index_release_many(ctx->pool, b.chains, count));
  }
  return 0;
}

static int share_check(pm_test_ctx *ctx) {
  pm_index_info info;
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, CAPACITY) == (int)info.resident, "a pin is left: %s", pm_error_text());
  return 0;
}

const pm_test pm_test_index_batch = {
    .name = "index_batch",
    .about = "batches of chains under eviction, every byte verified",
    .format = {.index_slots = 64, .index_capacity = CAPACITY, .block_bytes = BLOCK_BYTES},
    .worker = share_worker,
    .check = share_check};

/* One node: six chains of three families, 3 x 3 + 6 x 2 blocks. The second lookup finds all; each error comes alone. */
static int single_setup(pm_test_ctx *ctx) {
  batch b;
  pm_pool *pool = ctx->pool;
  make(pool, &b, 1, 0);
  PM_EXPECT(ctx, pm_index_lookup_many(pool, b.chains, CHAINS) == 0, "hits in an empty index");
  int rc = pm_index_reserve_many(pool, pm_digest_root(pool), b.chains, CHAINS);
  PM_EXPECT(ctx, rc == 21 && b.chains[0].result == 5 && b.chains[3].result == 2, "%d reserved, %d and %d", rc,
            b.chains[0].result, b.chains[3].result);
  PM_EXPECT(ctx, b.refs[3][0].state == PM_REF_PENDING, "a block that another chain fills is %u", b.refs[3][0].state);
  PM_EXPECT_OK(ctx, pm_index_commit_many(pool, b.chains, CHAINS));
  PM_EXPECT_OK(ctx, pm_index_release_many(pool, b.chains, CHAINS));
  pm_stats before, after;
  pm_get_stats(pool, &before);
  PM_EXPECT(ctx, pm_index_lookup_many(pool, b.chains, CHAINS) == (int)(CHAINS * DEPTH), "not all found");
  pm_get_stats(pool, &after);
  PM_EXPECT(ctx, after.syncs - before.syncs == 1, "%llu syncs for a batch",
            (unsigned long long)(after.syncs - before.syncs));
  b.chains[1].request = 77;
  rc = pm_index_release_many(pool, b.chains, CHAINS);
  PM_EXPECT(ctx, rc == -EPROTO && b.chains[1].result == -EPROTO && b.chains[0].result == 0 && b.chains[2].result == 0,
            "release by another request: %d, %d", rc, b.chains[1].result);
  b.chains[1].request = 2;
  PM_EXPECT_OK(ctx, pm_index_release_many(pool, &b.chains[1], 1));
  PM_EXPECT(ctx, pm_index_fetch(pool, (const pm_ref[]){{.state = PM_REF_PENDING}}, 1, &b) == -EINVAL,
            "fetch of no pin");
  b.chains[0].digests = NULL;
  PM_EXPECT(ctx, pm_index_lookup_many(pool, b.chains, CHAINS) == -EINVAL, "digests NULL");
  PM_EXPECT_OK(ctx, pm_index_audit(pool));
  PM_EXPECT(ctx, pm_index_evict(pool, 100) == 21, "a pin is left");
  return 0;
}

const pm_test pm_test_index_batch_single = {
    .name = "index_batch_single",
    .about = "a batch pays one sync, and its errors stay with the chain",
    .format = {.index_slots = 64, .index_capacity = CAPACITY, .block_bytes = BLOCK_BYTES},
    .nodes_max = 1,
    .setup = single_setup};
