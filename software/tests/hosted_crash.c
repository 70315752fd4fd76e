/*
 * Crash sweep on emulated hosts: one host dies before a given shared-memory event of an operation, the others go on, and a
 * new program on the host that died takes the node id again. What must hold afterwards is in survive() and again().
 *
 *   host 0  formats, fills the pool, runs a lock manager (the one that leads); the survivor of most operations
 *   host 1  runs a lock manager on standby; the victim of most operations
 *   host 2  dies first where the operation is the recovery itself
 */
#include <stdio.h>
#include <string.h>

#include "pm_test.h"
#include "prismem_emu.h"

#define LEASE_NS 30000u
#define NODES 3u
#define BLOCK 128u
#define SLOTS 16u
#define CAPACITY 8u
#define CHAIN 3u
#define BLOCKS 12u /* digests that the test uses */
#define STUCK_LEASES 8u
#define KEPT_BYTES_MAX 16384u /* what an allocation that died may keep: its program could have told anybody */

typedef struct record {
  uint64_t a, pad_a[7], b, pad_b[7];
} record;

typedef struct operation {
  const char *name;
  uint32_t victim;
  int (*prepare)(pm_test_ctx *ctx);
  int (*run)(pm_test_ctx *ctx);
} operation;

static struct {
  const operation *op;
  uint64_t event;
  uint32_t kind;
  uint32_t opened, filled, prepared, over, recovered; /* atomic */
  uint64_t offsets[4], points;
} run;

static pm_digest digest_of(uint32_t block) {
  return (pm_digest){.lo = block + 1, .hi = UINT64_C(0x1234567) * (block + 1)};
}

static const pm_digest root;

static void chain_of(uint32_t first, pm_digest chain[CHAIN]) {
  for (uint32_t i = 0; i < CHAIN; ++i) chain[i] = digest_of(first + i);
}

static int insert(pm_test_ctx *ctx, uint64_t request, uint32_t first) {
  static _Alignas(64) unsigned char payload[NODES][BLOCK];
  pm_digest chain[CHAIN];
  pm_ref refs[CHAIN];
  chain_of(first, chain);
  const int hits = pm_index_lookup(ctx->pool, request, chain, CHAIN, refs);
  PM_EXPECT_OK(ctx, hits);
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, request, root, chain, CHAIN, (size_t)hits, refs));
  for (uint32_t i = 0; i < CHAIN; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    pm_test_payload(chain[i], payload[ctx->node], BLOCK);
    PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, refs[i].offset, payload[ctx->node], BLOCK));
  }
  PM_EXPECT_OK(ctx, pm_index_commit(ctx->pool, refs, CHAIN));
  PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, request, refs, CHAIN));
  return 0;
}

/* Every block that is there has its bytes; *found counts them. */
static int check_blocks(pm_test_ctx *ctx, uint32_t *found) {
  static _Alignas(64) unsigned char payload[NODES][BLOCK];
  *found = 0;
  for (uint32_t block = 0; block < BLOCKS; ++block) {
    const pm_digest digest = digest_of(block);
    pm_ref ref;
    if (pm_index_exists(ctx->pool, digest) != 1) continue;
    const int hits = pm_index_lookup(ctx->pool, 77, &digest, 1, &ref);
    PM_EXPECT_OK(ctx, hits);
    if (hits == 0) continue;
    *found += 1;
    PM_EXPECT_OK(ctx, pm_test_dma_out(ctx->pool, ref.offset, payload[ctx->node], BLOCK));
    PM_EXPECT(ctx, pm_test_payload_check(digest, payload[ctx->node], BLOCK) < 0, "block %u has wrong bytes", block);
    PM_EXPECT_OK(ctx, pm_index_release(ctx->pool, 77, &ref, 1));
  }
  return 0;
}

/* The record under the user's lock: both halves agree, or whoever finds that the last holder died makes them agree. */
static int lock_step(pm_test_ctx *ctx) {
  record *r = pm_ptr(ctx->pool, run.offsets[0]);
  int fresh = 0;
  const int rc = pm_lock_acquire(ctx->pool, 5, &fresh);
  PM_EXPECT_OK(ctx, rc);
  if (fresh) pm_acquire(r, sizeof *r);
  const uint64_t a = r->a, b = r->b;
  PM_EXPECT(ctx, rc == PM_LOCK_OWNER_DIED || a == b, "the record is half-way (%llu, %llu) and nobody said so",
            (unsigned long long)a, (unsigned long long)b);
  r->a = a + 1;
  pm_publish(&r->a, sizeof r->a);
  r->b = a + 1;
  pm_publish(&r->b, sizeof r->b);
  if (rc == PM_LOCK_OWNER_DIED) PM_EXPECT_OK(ctx, pm_lock_consistent(ctx->pool, 5));
  PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, 5));
  return 0;
}

static int op_lock(pm_test_ctx *ctx) {
  for (int i = 0; i < 3; ++i) {
    if (lock_step(ctx) != 0) return 1;
  }
  return 0;
}

static int op_allocate(pm_test_ctx *ctx) {
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 64, &offset));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 200, &offset));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 9000, &offset));
  return 0;
}

static int prepare_free(pm_test_ctx *ctx) {
  for (int i = 2; i < 4; ++i) PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, i == 2 ? 512 : 9000, &run.offsets[i]));
  return 0;
}

static int op_free(pm_test_ctx *ctx) {
  for (int i = 1; i < 4; ++i) PM_EXPECT_OK(ctx, pm_free(ctx->pool, run.offsets[i]));
  return 0;
}

static int op_put(pm_test_ctx *ctx) {
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, "victim", 6, 4711));
  PM_EXPECT_OK(ctx, pm_get(ctx->pool, "record", 6, &offset, NULL));
  PM_EXPECT_OK(ctx, pm_destroy(ctx->pool, "victim", 6));
  return 0;
}

static int op_insert(pm_test_ctx *ctx) {
  return insert(ctx, 5, CHAIN);
}

static int op_lookup(pm_test_ctx *ctx) {
  uint32_t found;
  return check_blocks(ctx, &found);
}

static int prepare_evict(pm_test_ctx *ctx) {
  return insert(ctx, 6, CHAIN);
}

static int op_evict(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_index_evict(ctx->pool, 1));
  return insert(ctx, 5, 2 * CHAIN) != 0 || insert(ctx, 5, 3 * CHAIN) != 0;
}

static int op_abort(pm_test_ctx *ctx) {
  pm_digest chain[CHAIN];
  pm_ref refs[CHAIN];
  chain_of(2 * CHAIN, chain);
  PM_EXPECT_OK(ctx, pm_index_reserve(ctx->pool, 4, root, chain, CHAIN, 0, refs));
  PM_EXPECT_OK(ctx, pm_index_abort(ctx->pool, 4, refs, CHAIN));
  return 0;
}

/* The victim leads the lock management: host 1 keeps it busy, its own thread waits. */
static int op_manager(pm_test_ctx *ctx) {
  (void)ctx;
  while (!__atomic_load_n(&run.over, __ATOMIC_ACQUIRE)) pm_relax();
  return 0;
}

static int prepare_recover(pm_test_ctx *ctx) {
  (void)ctx;
  while (!emu_crashed(2)) pm_relax();
  return 0;
}

static int op_recover(pm_test_ctx *ctx) {
  PM_EXPECT_OK(ctx, pm_recover(ctx->pool, 2));
  return 0;
}

static const operation operations[] = {{.name = "lock", .victim = 1, .run = op_lock},
                                       {.name = "manager", .victim = 0, .run = op_manager},
                                       {.name = "allocate", .victim = 1, .run = op_allocate},
                                       {.name = "free", .victim = 1, .prepare = prepare_free, .run = op_free},
                                       {.name = "put", .victim = 1, .run = op_put},
                                       {.name = "insert", .victim = 1, .run = op_insert},
                                       {.name = "lookup", .victim = 1, .run = op_lookup},
                                       {.name = "evict", .victim = 1, .prepare = prepare_evict, .run = op_evict},
                                       {.name = "abort", .victim = 1, .run = op_abort},
                                       {.name = "recover", .victim = 1, .prepare = prepare_recover, .run = op_recover}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static int fill(pm_test_ctx *ctx) {
  static const _Alignas(64) record zero;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, sizeof(record), &run.offsets[0]));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 512, &run.offsets[1]));
  PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, run.offsets[0], &zero, sizeof zero));
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, "record", 6, run.offsets[0]));
  return insert(ctx, 1, 0);
}

static int locks_come(pm_test_ctx *ctx) {
  const uint64_t start = emu_now_ns();
  for (uint32_t lock = 0; lock < 6; ++lock) {
    if (lock == 5) {
      if (lock_step(ctx) != 0) return 1;
      continue;
    }
    if (lock < 4) continue; /* the library's own: below, by their users */
    PM_EXPECT_OK(ctx, pm_lock_acquire(ctx->pool, lock, NULL));
    PM_EXPECT_OK(ctx, pm_lock_release(ctx->pool, lock));
  }
  pm_alloc_info info;
  pm_index_info index;
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &index));
  PM_EXPECT_OK(ctx, pm_get(ctx->pool, "record", 6, NULL, NULL));
  const uint64_t ns = emu_now_ns() - start;
  PM_EXPECT(ctx, ns < (uint64_t)STUCK_LEASES * LEASE_NS, "the locks came only after %llu ns", (unsigned long long)ns);
  return 0;
}

static int recover_dead(pm_test_ctx *ctx) {
  for (uint32_t node = 0; node < NODES; ++node) {
    if (node == ctx->node || !emu_crashed(node)) continue;
    PM_EXPECT_OK(ctx, pm_recover(ctx->pool, node));
    PM_EXPECT(ctx, pm_node_state(ctx->pool, node) == PM_NODE_VACANT, "the id of node %u is not free", node);
  }
  return 0;
}

/* No pin and no reservation is left, so everything can be evicted, and then no payload is allocated. */
static int nothing_is_lost(pm_test_ctx *ctx) {
  pm_index_info index;
  pm_alloc_info info;
  uint32_t found;
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  if (check_blocks(ctx, &found) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_index_evict(ctx->pool, SLOTS));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &index));
  PM_EXPECT(ctx, index.resident == 0 && index.reserved == 0, "%llu blocks cannot be evicted, %llu are reserved",
            (unsigned long long)index.resident, (unsigned long long)index.reserved);
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.bytes_live <= sizeof(record) + 512 + 512 + 12288 + KEPT_BYTES_MAX, "%llu bytes are live",
            (unsigned long long)info.bytes_live);
  return 0;
}

static int survive(pm_test_ctx *ctx) {
  if (locks_come(ctx) != 0 || recover_dead(ctx) != 0 || nothing_is_lost(ctx) != 0) return 1;
  __atomic_store_n(&run.recovered, 1, __ATOMIC_RELEASE);
  return insert(ctx, 9, 0);
}

/* Everything of a host until its operation or its checks: pool, manager. */
static int enter(pm_test_ctx *ctx, pm_test_manager *manager) {
  static const pm_format_options format = {.nodes = NODES,
                                           .locks = 6,
                                           .pool_bytes = UINT64_C(2) << 20,
                                           .index_slots = SLOTS,
                                           .index_capacity = CAPACITY,
                                           .block_bytes = BLOCK,
                                           .chunk_bytes = 4096,
                                           .objects = 4,
                                           .lease_ns = LEASE_NS};
  const pm_open_options options = {.node = ctx->node};
  if (ctx->node == 0) PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  while (ctx->node != 0 && !__atomic_load_n(&run.opened, __ATOMIC_ACQUIRE)) pm_relax();
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &ctx->pool));
  pm_test_manager_start(manager, ctx->pool);
  if (ctx->node != 0) return 0;
  __atomic_store_n(&run.opened, 1, __ATOMIC_RELEASE);
  const int failed = fill(ctx);
  __atomic_store_n(&run.filled, 1, __ATOMIC_RELEASE);
  return failed;
}

static int be_victim(pm_test_ctx *ctx) {
  if (run.op->prepare != NULL && run.op->prepare(ctx) != 0) return 1;
  __atomic_store_n(&run.prepared, 1, __ATOMIC_RELEASE);
  if (emu_crash_at(ctx->node, run.event, run.kind) < 0) return pm_test_fail(ctx, NULL, PM_TEST_HERE, "%s", emu_error());
  if (run.op->run(ctx) != 0) return 1;
  run.points = (uint64_t)emu_crash_events(ctx->node);
  emu_crash_disarm(ctx->node);
  __atomic_store_n(&run.over, 1, __ATOMIC_RELEASE);
  return 0;
}

/* Node 2 dies in the midst of an insert when the operation is the recovery. */
static int be_third(pm_test_ctx *ctx) {
  if (run.op->run != op_recover) return 0;
  if (emu_crash_at(2, 60, EMU_CRASH_HOST_DROP) < 0) return 1;
  return insert(ctx, 8, 2 * CHAIN) == 0 && pm_test_fail(ctx, NULL, PM_TEST_HERE, "the insert has too few events");
}

static int be_survivor(pm_test_ctx *ctx, uint32_t victim) {
  while (!__atomic_load_n(&run.prepared, __ATOMIC_ACQUIRE)) pm_relax();
  for (int i = 0; victim == 0 && i < 4; ++i) {
    if (lock_step(ctx) != 0) return 1;
  }
  if (victim == 0) __atomic_store_n(&run.over, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&run.over, __ATOMIC_ACQUIRE) && !emu_crashed(victim)) pm_relax();
  return survive(ctx);
}

static pm_test_ctx context_of(uint32_t node) {
  return (pm_test_ctx){.path = EMU_POOL_PATH, .node = node, .nodes = NODES, .threads = 1, .seed = node + 1, .scale = 1};
}

static int leave(pm_test_ctx *ctx, pm_test_manager *manager) {
  pm_test_manager_stop(manager);
  PM_EXPECT_OK(ctx, pm_close(ctx->pool));
  return 0;
}

const char *pm_crash_name(uint32_t number);
int pm_crash_select(uint32_t number, uint64_t event, uint32_t kind);
uint64_t pm_crash_points(void);
int64_t pm_crash_thread(void *node);
int64_t pm_crash_again(void *node);

/** Name of operation `number`, NULL behind the last. */
const char *pm_crash_name(uint32_t number) {
  return number < OPERATIONS ? operations[number].name : NULL;
}

/** Prepare a run; returns the node that dies. */
int pm_crash_select(uint32_t number, uint64_t event, uint32_t kind) {
  if (number >= OPERATIONS) return -1;
  memset(&run, 0, sizeof run);
  run.op = &operations[number];
  run.event = event;
  run.kind = kind;
  return (int)run.op->victim;
}

/** Events of the operation when it was not cut short, else 0. */
uint64_t pm_crash_points(void) {
  return run.points;
}

/** Program of each host. */
int64_t pm_crash_thread(void *number) {
  pm_test_ctx ctx = context_of((uint32_t)(uintptr_t)number);
  pm_test_manager manager;
  const uint32_t victim = run.op->victim, survivor = 1 - victim;
  if (ctx.node == 2 && run.op->run != op_recover) return 0;
  if (enter(&ctx, &manager) != 0) return 1;
  while (!__atomic_load_n(&run.filled, __ATOMIC_ACQUIRE)) pm_relax();
  int failed;
  if (ctx.node == victim)
    failed = be_victim(&ctx);
  else if (ctx.node == survivor)
    failed = be_survivor(&ctx, victim);
  else
    failed = be_third(&ctx);
  return failed != 0 || leave(&ctx, &manager) != 0;
}

/** Program of the host that died, started anew: its node id is free again, and all works. */
int64_t pm_crash_again(void *number) {
  pm_test_ctx ctx = context_of((uint32_t)(uintptr_t)number);
  pm_test_manager manager;
  const pm_open_options options = {.node = ctx.node};
  if (ctx.node == 2) return 0;
  while (!__atomic_load_n(&run.recovered, __ATOMIC_ACQUIRE)) pm_relax();
  PM_EXPECT_OK(&ctx, pm_open(ctx.path, &options, &ctx.pool));
  pm_test_manager_start(&manager, ctx.pool);
  uint32_t found;
  if (insert(&ctx, 3, CHAIN) != 0 || check_blocks(&ctx, &found) != 0 || lock_step(&ctx) != 0) return 1;
  PM_EXPECT(&ctx, found >= CHAIN, "only %u blocks after the insert", found);
  return leave(&ctx, &manager);
}
