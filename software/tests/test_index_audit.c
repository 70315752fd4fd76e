/*
 * Prefix index, seen by another node while it is in use: the audit of node 0 holds whatever node 1 has under way, and what a
 * refused insert leaves in the head line of the index belongs to nobody.
 */
#include <errno.h>

#include "tests.h"

#define ROUNDS 3u
#define CAPACITY 4u
#define BLOCK_BYTES 64u

/* All have the same home, so each takes one probe more than the one before. */
static pm_digest digest_of(uint64_t number) {
  return (pm_digest){.lo = 5, .hi = number + 1};
}

static int look(pm_test_ctx *ctx, uint32_t resident, uint32_t reserved) {
  pm_index_info info;
  pm_signal signal;
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 1, 0, &signal));
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.resident == resident && info.reserved == reserved, "%llu resident, %llu reserved",
            (unsigned long long)info.resident, (unsigned long long)info.reserved);
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &signal));
  return 0;
}

static int let_look(pm_test_ctx *ctx) {
  pm_signal signal = {.tag = 1};
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &signal));
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &signal));
  return 0;
}

static int reserve(pm_test_ctx *ctx, uint64_t number, pm_ref *ref) {
  const pm_digest digest = digest_of(number);
  return pm_index_reserve(ctx->pool, number, pm_digest_root(ctx->pool), &digest, 1, 0, ref);
}

/* Node 1 fills the index to its capacity and keeps every block pinned; one more is refused. */
static int fill(pm_test_ctx *ctx) {
  pm_ref refs[CAPACITY], more;
  for (uint32_t i = 0; i < CAPACITY; ++i) {
    PM_EXPECT_OK(ctx, reserve(ctx, i, &refs[i]));
    if (let_look(ctx) != 0) return 1;
    PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, &refs[i], 1));
  }
  const int rc = reserve(ctx, CAPACITY, &more);
  PM_EXPECT(ctx, rc == -ENOSPC, "a block more than the capacity: %d", rc);
  if (let_look(ctx) != 0) return 1;
  for (uint32_t i = 0; i < CAPACITY; ++i) PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, i, &refs[i], 1));
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, CAPACITY) == (int)CAPACITY, "evict: %s", pm_error_text());
  if (let_look(ctx) != 0) return 1;
  PM_EXPECT_OK(ctx, reserve(ctx, CAPACITY + 1, &more));
  PM_EXPECT_OK(ctx, pm_index_abort(ctx->pool, CAPACITY + 1, &more, 1));
  return let_look(ctx);
}

static int worker(pm_test_ctx *ctx) {
  if (ctx->nodes < 2) return 0;
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    if (ctx->node == 1 && fill(ctx) != 0) return 1;
    if (ctx->node != 0) continue;
    for (uint32_t i = 0; i < CAPACITY; ++i) {
      if (look(ctx, i, 1) != 0) return 1;
    }
    if (look(ctx, CAPACITY, 0) != 0 || look(ctx, 0, 0) != 0 || look(ctx, 0, 0) != 0) return 1;
  }
  return 0;
}

const pm_test pm_test_index_audit = {
    .name = "index_audit",
    .about = "audits of another node at every step of filling the index",
    .format = {.index_slots = 8, .index_capacity = CAPACITY, .block_bytes = BLOCK_BYTES},
    .nodes_max = 2,
    .worker = worker};
