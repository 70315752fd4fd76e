/*
 * Prefix index among nodes: blocks shared under eviction with every byte verified, hand-over by signal, insert races.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

#define BLOCK_BYTES 256u
#define DEPTH 4u    /* blocks of a chain */
#define FAMILIES 3u /* chains of a family share their first two blocks */
#define CHAINS 9u
#define ROUNDS 8u
#define OLD_MAX 4u

/* Chain `number`: the first half depends on the family, the rest on the number. */
static void make_chain(const pm_pool *pool, uint32_t number, pm_digest chain[DEPTH]) {
  pm_digest parent = pm_digest_root(pool);
  for (uint32_t i = 0; i < DEPTH; ++i) {
    const uint32_t tokens[2] = {i < DEPTH / 2 ? number % FAMILIES : number, i};
    parent = chain[i] = pm_digest_chain(parent, tokens, 2);
  }
}

static int fill_reserved(pm_test_ctx *ctx, const pm_digest *chain, const pm_ref *refs, size_t n) {
  _Alignas(64) unsigned char buffer[BLOCK_BYTES];
  for (size_t i = 0; i < n; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    pm_test_payload(chain[i], buffer, sizeof buffer);
    PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, refs[i].offset, buffer, sizeof buffer));
  }
  return 0;
}

static int verify(pm_test_ctx *ctx, pm_digest digest, const pm_ref *ref) {
  _Alignas(64) unsigned char buffer[BLOCK_BYTES];
  PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, ref->offset, buffer, sizeof buffer));
  PM_EXPECT_OK(ctx, pm_index_check(ctx->pool, ref));
  const long wrong = pm_test_payload_check(digest, buffer, sizeof buffer);
  PM_EXPECT(ctx, wrong < 0, "slot %llu generation %u: word %ld is of another block", (unsigned long long)ref->slot,
            ref->generation, wrong);
  return 0;
}

/* A block that is no longer pinned: the check after the copy decides, and never vouches for other bytes. */
static int read_unpinned(pm_test_ctx *ctx, pm_digest digest, const pm_ref *ref) {
  _Alignas(64) unsigned char buffer[BLOCK_BYTES];
  PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, ref->offset, buffer, sizeof buffer));
  if (pm_index_check(ctx->pool, ref) == -ESTALE) return 0;
  PM_EXPECT(ctx, pm_test_payload_check(digest, buffer, sizeof buffer) < 0,
            "slot %llu generation %u passes the check with other bytes", (unsigned long long)ref->slot,
            ref->generation);
  return 0;
}

/* Look up, verify what is there, insert what is not. */
static int serve(pm_test_ctx *ctx, uint64_t request, const pm_digest chain[DEPTH], pm_ref refs[DEPTH]) {
  const int hits = pm_index_lookup(ctx->pool, request, chain, DEPTH, refs);
  PM_EXPECT(ctx, hits >= 0, "lookup: %d %s", hits, pm_error_text());
  for (int i = 0; i < hits; ++i) {
    if (verify(ctx, chain[i], &refs[i]) != 0) return 1;
  }
  const int rc = pm_index_reserve(ctx->pool, request, pm_digest_root(ctx->pool), chain, DEPTH, (size_t)hits, refs);
  PM_EXPECT(ctx, rc >= 0 || rc == -ENOSPC, "reserve: %d %s", rc, pm_error_text());
  if (rc > 0 && fill_reserved(ctx, chain, refs, DEPTH) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, refs, DEPTH));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, request, refs, DEPTH));
  return 0;
}

static int share_worker(pm_test_ctx *ctx) {
  pm_digest chain[DEPTH], old_digest = {0, 0};
  pm_ref refs[DEPTH], old = {0};
  for (uint32_t i = 0; i < ROUNDS * ctx->scale; ++i) {
    const uint64_t request = (uint64_t)ctx->thread << 32 | i;
    make_chain(ctx->pool, (uint32_t)(pm_test_random(&ctx->seed) % CHAINS), chain);
    if (serve(ctx, request, chain, refs) != 0) return 1;
    if (old.state == PM_REF_HIT && read_unpinned(ctx, old_digest, &old) != 0) return 1;
    if (i % 2 == 0) {
      old = refs[DEPTH - 1];
      old_digest = chain[DEPTH - 1];
    }
  }
  return 0;
}

static int share_check(pm_test_ctx *ctx) {
  pm_index_info info;
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.reserved == 0 && info.resident > 0 && info.resident <= info.capacity,
            "%llu resident, %llu reserved, capacity %llu", (unsigned long long)info.resident,
            (unsigned long long)info.reserved, (unsigned long long)info.capacity);
  PM_EXPECT(ctx, info.inserts == info.evictions + info.resident, "%llu inserts, %llu evictions, %llu resident",
            (unsigned long long)info.inserts, (unsigned long long)info.evictions, (unsigned long long)info.resident);
  pm_alloc_info memory;
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &memory));
  PM_EXPECT(ctx, memory.bytes_live == info.resident * BLOCK_BYTES, "%llu bytes are live for %llu blocks",
            (unsigned long long)memory.bytes_live, (unsigned long long)info.resident);
  PM_EXPECT(ctx, pm_index_evict(ctx->pool, info.resident) == (int)info.resident, "evict: %s", pm_error_text());
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &memory));
  PM_EXPECT(ctx, memory.bytes_live == 0, "%llu bytes leaked", (unsigned long long)memory.bytes_live);
  return 0;
}

const pm_test pm_test_index_share = {
    .name = "index_share",
    .about = "lookup, insert, evict and unpinned reads, every byte verified",
    .format = {.index_slots = 64, .index_capacity = 20, .block_bytes = BLOCK_BYTES, .hash_seed = 7},
    .threads = 2,
    .worker = share_worker,
    .check = share_check};

const pm_test pm_test_index_share_clock = {
    .name = "index_share_clock",
    .about = "the same with second-chance replacement",
    .format = {.index_slots = 64, .index_capacity = 20, .block_bytes = BLOCK_BYTES, .replacement = PM_REPLACE_CLOCK},
    .threads = 2,
    .worker = share_worker,
    .check = share_check};

const pm_test pm_test_index_share_collide = {
    .name = "index_share_collide",
    .about = "the same with all digests on sixteen places: misses, never other bytes",
    .format = {.index_slots = 64, .index_capacity = 20, .block_bytes = BLOCK_BYTES, .place_bits = 4},
    .worker = share_worker,
    .check = share_check};

/* Node 0 makes blocks and tells the others by signal; they must find them, and must not find them after the eviction. */
static int handoff_producer(pm_test_ctx *ctx) {
  pm_digest chain[DEPTH];
  pm_ref refs[DEPTH];
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    make_chain(ctx->pool, round, chain);
    if (serve(ctx, round, chain, refs) != 0) return 1;
    for (uint32_t evicted = 0; evicted < 2; ++evicted) {
      const pm_signal signal = {.tag = round, .length = evicted};
      pm_signal answer;
      if (evicted) PM_EXPECT(ctx, pm_index_evict(ctx->pool, DEPTH) >= 0, "evict: %s", pm_error_text());
      for (uint32_t node = 1; node < ctx->nodes; ++node) PM_EXPECT_OK(ctx, pm_send(ctx->pool, node, 0, &signal));
      for (uint32_t node = 1; node < ctx->nodes; ++node) PM_EXPECT_OK(ctx, pm_receive(ctx->pool, node, 0, &answer));
    }
  }
  return 0;
}

static int handoff_consumer(pm_test_ctx *ctx) {
  pm_digest chain[DEPTH];
  pm_ref refs[DEPTH];
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    pm_signal signal;
    make_chain(ctx->pool, round, chain);
    PM_EXPECT(ctx, pm_index_exists(ctx->pool, chain[DEPTH - 1]) >= 0, "exists: %s", pm_error_text());
    PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &signal));
    PM_EXPECT(ctx, signal.tag == round && signal.length == 0, "round %u: signal %llu", round,
              (unsigned long long)signal.tag);
    const int hits = pm_index_lookup(ctx->pool, round, chain, DEPTH, refs);
    PM_EXPECT(ctx, hits == (int)DEPTH, "round %u: %d of %u blocks found after the signal", round, hits, DEPTH);
    for (uint32_t i = 0; i < DEPTH; ++i) {
      if (verify(ctx, chain[i], &refs[i]) != 0) return 1;
    }
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, round, refs, DEPTH));
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &signal));
    PM_EXPECT_OK(ctx, pm_receive(ctx->pool, 0, 0, &signal));
    PM_EXPECT(ctx, pm_index_check(ctx->pool, &refs[0]) == -ESTALE, "round %u: an evicted block passes the check",
              round);
    PM_EXPECT(ctx, pm_index_exists(ctx->pool, chain[0]) == 0, "round %u: an evicted block is found", round);
    PM_EXPECT_OK(ctx, pm_send(ctx->pool, 0, 0, &signal));
  }
  return 0;
}

static int handoff_worker(pm_test_ctx *ctx) {
  return ctx->node == 0 ? handoff_producer(ctx) : handoff_consumer(ctx);
}

const pm_test pm_test_index_handoff = {.name = "index_handoff",
                                       .about = "a block that was announced is found, one that was evicted is not",
                                       .format = {.index_slots = 16, .index_capacity = 8, .block_bytes = BLOCK_BYTES},
                                       .worker = handoff_worker};

/* Node 0 inserts and evicts one chain for ever; what the others find and pin stays while they read it. A lookup is much shorter
 * than an insertion and eviction, so they do more of them. */
static int evict_worker(pm_test_ctx *ctx) {
  pm_digest chain[DEPTH];
  pm_ref refs[DEPTH];
  make_chain(ctx->pool, 1, chain);
  const uint32_t rounds = (ctx->node == 0 ? 3 : 24) * ROUNDS * ctx->scale;
  for (uint32_t round = 0; round < rounds; ++round) {
    if (ctx->node == 0) {
      if (serve(ctx, round, chain, refs) != 0) return 1;
      PM_EXPECT(ctx, pm_index_evict(ctx->pool, DEPTH) >= 0, "evict: %s", pm_error_text());
      continue;
    }
    const int hits = pm_index_lookup(ctx->pool, round, chain, DEPTH, refs);
    PM_EXPECT(ctx, hits >= 0, "lookup: %d %s", hits, pm_error_text());
    for (int i = 0; i < hits; ++i) {
      if (verify(ctx, chain[i], &refs[i]) != 0) return 1;
    }
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, round, refs, DEPTH));
  }
  return 0;
}

const pm_test pm_test_index_evict_race = {
    .name = "index_evict_race",
    .about = "eviction against lookups of the same blocks",
    .format = {.index_slots = 16, .index_capacity = 8, .block_bytes = BLOCK_BYTES},
    .worker = evict_worker};

/* All nodes reserve the same chain; each block has exactly one filler. */
typedef struct tally {
  struct {
    uint64_t reserved; /* line of the node */
    uint64_t spare[7];
  } nodes[PM_NODES_MAX];
} tally;

static int race_setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "tally", sizeof(tally));
}

static int race_worker(pm_test_ctx *ctx) {
  pm_digest chain[DEPTH];
  pm_ref refs[DEPTH];
  uint64_t reserved = 0;
  tally *t = pm_test_region(ctx, "tally", sizeof(tally));
  if (t == NULL) return 1;
  for (uint32_t round = 0; round < ROUNDS * ctx->scale; ++round) {
    make_chain(ctx->pool, round * FAMILIES, chain);
    const int rc = pm_index_reserve(ctx->pool, round, pm_digest_root(ctx->pool), chain, DEPTH, 0, refs);
    PM_EXPECT(ctx, rc >= 0, "reserve: %d %s", rc, pm_error_text());
    reserved += (uint64_t)rc;
    if (round % 4 == 3 && rc > 0) { /* change one's mind */
      PM_EXPECT_OK(ctx, pm_index_abort(ctx->pool, round, refs, DEPTH));
      reserved -= (uint64_t)rc;
    } else {
      if (fill_reserved(ctx, chain, refs, DEPTH) != 0) return 1;
      PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, refs, DEPTH));
    }
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, round, refs, DEPTH));
  }
  t->nodes[ctx->node].reserved = reserved;
  pm_publish(&t->nodes[ctx->node], PM_LINE);
  return 0;
}

static int race_check(pm_test_ctx *ctx) {
  tally *t = pm_test_region(ctx, "tally", sizeof(tally));
  pm_index_info info;
  uint64_t reserved = 0;
  if (t == NULL) return 1;
  for (uint32_t node = 0; node < ctx->nodes; ++node) reserved += t->nodes[node].reserved;
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.resident == reserved && info.reserved == 0, "%llu resident, %llu were filled",
            (unsigned long long)info.resident, (unsigned long long)reserved);
  return 0;
}

const pm_test pm_test_index_insert_race = {.name = "index_insert_race",
                                           .about = "the same blocks from all nodes: one filler each",
                                           .format = {.index_slots = 1024, .block_bytes = BLOCK_BYTES},
                                           .setup = race_setup,
                                           .worker = race_worker,
                                           .check = race_check};
