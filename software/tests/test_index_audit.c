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

/* Node 0 evicts a block whose memory is node 1's, which has looked at its books right before. */
static int take_turns_freeing(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  if (let_look(ctx) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  return 0;
}

static int evict_one(pm_test_ctx *ctx) {
  pm_signal signal;
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 1, 0, &signal));
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, 1) == 1, "evict: %s", pm_error_text());
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, 1, 0, &signal));
  return 0;
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
  if (take_turns_freeing(ctx) != 0) return 1;
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, CAPACITY) == (int)CAPACITY - 1, "evict: %s", pm_error_text());
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
    if (look(ctx, CAPACITY, 0) != 0 || evict_one(ctx) != 0 || look(ctx, 0, 0) != 0 || look(ctx, 0, 0) != 0) return 1;
  }
  return 0;
}

const pm_test pm_test_index_audit = {
    .name = "index_audit",
    .about = "audits of another node at every step of filling the index",
    .format = {.index_slots = 8, .index_capacity = CAPACITY, .block_bytes = BLOCK_BYTES},
    .nodes_max = 2,
    .worker = worker};

/* Under PM_REPLACE_CLOCK a reserve of a block that is there changes neither list nor number; what it does change is that it
 * frees a tombstone that no chain needs. The homes of the two blocks are neighbours. */
static int insert(pm_test_ctx *ctx, pm_digest digest) {
  pm_ref ref;
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, 1, pm_digest_root(ctx->pool), &digest, 1, 0, &ref));
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 1, &ref, 1));
  return 0;
}

static int free_tombstone(pm_test_ctx *ctx) {
  const pm_digest first = {.lo = 2, .hi = 1}, second = {.lo = 3, .hi = 1};
  if (insert(ctx, first) != 0 || insert(ctx, second) != 0 || let_look(ctx) != 0) return 1;
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, 1) == 1, "evict: %s", pm_error_text());
  if (let_look(ctx) != 0 || insert(ctx, second) != 0 || let_look(ctx) != 0) return 1;
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, 1) == 1, "evict: %s", pm_error_text());
  return let_look(ctx);
}

static int clock_worker(pm_test_ctx *ctx) {
  static const uint32_t resident[] = {2, 1, 1, 0};
  if (ctx->nodes < 2) return 0;
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    if (ctx->node == 1 && free_tombstone(ctx) != 0) return 1;
    for (uint32_t i = 0; ctx->node == 0 && i < sizeof resident / sizeof resident[0]; ++i) {
      if (look(ctx, resident[i], 0) != 0) return 1;
    }
  }
  return 0;
}

const pm_test pm_test_index_audit_clock = {
    .name = "index_audit_clock",
    .about = "audits of another node while tombstones are freed without any other change",
    .format = {.index_slots = 8,
               .index_capacity = CAPACITY,
               .block_bytes = BLOCK_BYTES,
               .replacement = PM_REPLACE_CLOCK},
    .nodes_max = 2,
    .worker = clock_worker};
