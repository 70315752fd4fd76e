/*
 * Crash sweep on emulated hosts: one host dies before a given shared-memory event of an operation, the others go on, and a
 * new program on the host that died takes the node id again. What must hold afterwards is in survive() and again().
 *
 *   host 0  formats, fills the pool, runs a lock manager (the one that leads); the survivor of most operations
 *   host 1  runs a lock manager on standby; the victim of most operations
 *   host 2  dies first where the operation is the recovery itself
 */
#include <string.h>

#include "hosted_crash.h"

#define LEASE_NS 30000u
#define LEASE_FLUSHED_NS 120000u /* longer than it takes to flush the pool out of a host */
#define SLOTS 16u
#define CAPACITY 8u
#define STUCK_LEASES 8u
#define KEPT_BYTES_MAX 16384u /* what an allocation that died may keep: its program could have told anybody */

crash_run pm_crash_run;

static uint64_t lease_ns(void) {
  return pm_crash_run.kind == EMU_CRASH_PROCESS ? LEASE_FLUSHED_NS : LEASE_NS;
}

static int fill(pm_test_ctx *ctx) {
  static const _Alignas(64) crash_record zero;
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, sizeof(crash_record), &pm_crash_run.offsets[0]));
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, 512, &pm_crash_run.offsets[1]));
  PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, pm_crash_run.offsets[0], &zero, sizeof zero));
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, "record", 6, pm_crash_run.offsets[0]));
  return pm_crash_insert(ctx, 1, 0);
}

static int locks_come(pm_test_ctx *ctx) {
  const uint64_t start = emu_now_ns();
  for (uint32_t lock = 0; lock < 6; ++lock) {
    if (lock == 5) {
      if (pm_crash_lock_step(ctx) != 0) return 1;
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
  PM_EXPECT(ctx, ns < STUCK_LEASES * lease_ns(), "the locks came only after %llu ns", (unsigned long long)ns);
  return 0;
}

static int recover_dead(pm_test_ctx *ctx) {
  for (uint32_t node = 0; node < CRASH_NODES; ++node) {
    if (node == ctx->node || !emu_crashed(node)) continue;
    PM_EXPECT_OK(ctx, pm_recover(ctx->pool, node));
    PM_EXPECT(ctx, pm_node_state(ctx->pool, node) == PM_NODE_VACANT, "the id of node %u is not free", node);
  }
  if (pm_crash_run.op->takes_more && emu_crashed(pm_crash_run.op->victim))
    PM_EXPECT_OK(ctx, pm_recover(ctx->pool, CRASH_SECOND));
  return 0;
}

/* No pin and no reservation is left, so everything can be evicted, and then no payload is allocated. */
static int nothing_is_lost(pm_test_ctx *ctx) {
  pm_index_info index;
  pm_alloc_info info;
  uint32_t found;
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  if (pm_crash_check_blocks(ctx, &found) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_index_evict(ctx->pool, SLOTS));
  PM_EXPECT_OK(ctx, pm_index_stat(ctx->pool, &index));
  PM_EXPECT(ctx, index.resident == 0 && index.reserved == 0, "%llu blocks cannot be evicted, %llu are reserved",
            (unsigned long long)index.resident, (unsigned long long)index.reserved);
  PM_EXPECT_OK(ctx, pm_index_audit(ctx->pool));
  if (pm_crash_check_given_back(ctx) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &info));
  PM_EXPECT(ctx, info.bytes_live <= sizeof(crash_record) + 512 + 512 + 12288 + KEPT_BYTES_MAX, "%llu bytes are live",
            (unsigned long long)info.bytes_live);
  return 0;
}

static int survive(pm_test_ctx *ctx) {
  if (locks_come(ctx) != 0 || recover_dead(ctx) != 0 || nothing_is_lost(ctx) != 0) return 1;
  __atomic_store_n(&pm_crash_run.recovered, 1, __ATOMIC_RELEASE);
  return pm_crash_insert(ctx, 9, 0);
}

/* Everything of a host until its operation or its checks: pool, manager. */
static int enter(pm_test_ctx *ctx, pm_test_manager *manager) {
  static const pm_format_options plain = {.nodes = CRASH_NODES,
                                          .locks = 6,
                                          .pool_bytes = UINT64_C(2) << 20,
                                          .index_slots = SLOTS,
                                          .index_capacity = CAPACITY,
                                          .block_bytes = CRASH_BLOCK,
                                          .chunk_bytes = 4096,
                                          .objects = 4};
  pm_format_options format = plain;
  format.lease_ns = lease_ns();
  format.lock_tier = pm_crash_run.op->tier;
  const pm_open_options options = {.node = ctx->node};
  if (ctx->node == 0) PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  while (ctx->node != 0 && !__atomic_load_n(&pm_crash_run.opened, __ATOMIC_ACQUIRE)) pm_relax();
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &ctx->pool));
  pm_test_manager_start(manager, ctx->pool);
  if (ctx->node != 0) return 0;
  __atomic_store_n(&pm_crash_run.opened, 1, __ATOMIC_RELEASE);
  const int failed = fill(ctx);
  __atomic_store_n(&pm_crash_run.filled, 1, __ATOMIC_RELEASE);
  return failed;
}

static int be_victim(pm_test_ctx *ctx) {
  if (pm_crash_run.op->prepare != NULL && pm_crash_run.op->prepare(ctx) != 0) return 1;
  __atomic_store_n(&pm_crash_run.prepared, 1, __ATOMIC_RELEASE);
  if (emu_crash_at(ctx->node, pm_crash_run.event, pm_crash_run.kind) < 0)
    return pm_test_fail(ctx, NULL, PM_TEST_HERE, "%s", emu_error());
  if (pm_crash_run.op->run(ctx) != 0) return 1;
  pm_crash_run.points = (uint64_t)emu_crash_events(ctx->node);
  emu_crash_disarm(ctx->node);
  __atomic_store_n(&pm_crash_run.over, 1, __ATOMIC_RELEASE);
  return 0;
}

/* Node 2 dies in the midst of an insert when the operation is the recovery. */
static int be_third(pm_test_ctx *ctx) {
  if (!pm_crash_run.op->recovers) return 0;
  if (emu_crash_at(2, 60, EMU_CRASH_HOST_DROP) < 0) return 1;
  return pm_crash_insert(ctx, 8, 2 * CRASH_CHAIN) == 0 &&
         pm_test_fail(ctx, NULL, PM_TEST_HERE, "the insert has too few events");
}

static int be_survivor(pm_test_ctx *ctx, uint32_t victim) {
  pm_alloc_info before; /* its lines stay in the cache of the survivor: old copies, when it repairs */
  while (!__atomic_load_n(&pm_crash_run.prepared, __ATOMIC_ACQUIRE)) pm_relax();
  if (victim != 0) PM_EXPECT_OK(ctx, pm_alloc_stat(ctx->pool, &before));
  if (victim == 0 && pm_crash_run.op->recovers) PM_EXPECT_OK(ctx, pm_recover(ctx->pool, 2));
  for (int i = 0; victim == 0 && !pm_crash_run.op->recovers && i < 4; ++i) {
    if (pm_crash_lock_step(ctx) != 0) return 1;
  }
  if (victim == 0) __atomic_store_n(&pm_crash_run.over, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&pm_crash_run.over, __ATOMIC_ACQUIRE) && !emu_crashed(victim)) pm_relax();
  return survive(ctx);
}

static pm_test_ctx context_of(uint32_t node) {
  return (pm_test_ctx){
      .path = EMU_POOL_PATH, .node = node, .nodes = CRASH_NODES, .threads = 1, .seed = node + 1, .scale = 1};
}

static int leave(pm_test_ctx *ctx, pm_test_manager *manager) {
  pm_test_manager_stop(manager);
  PM_EXPECT_OK(ctx, pm_close(ctx->pool));
  return 0;
}

const char *pm_crash_name(uint32_t number);
int pm_crash_select(uint32_t number, uint64_t event, uint32_t kind, uint32_t flushes);
uint64_t pm_crash_points(void);
int64_t pm_crash_thread(void *node);
int64_t pm_crash_again(void *node);

/** Name of operation `number`, NULL behind the last. */
const char *pm_crash_name(uint32_t number) {
  return number < pm_crash_operation_count ? pm_crash_operations[number].name : NULL;
}

/** Prepare a run; returns the node that dies. With EMU_CRASH_PROCESS and `flushes` the next program of its host flushes. */
int pm_crash_select(uint32_t number, uint64_t event, uint32_t kind, uint32_t flushes) {
  if (number >= pm_crash_operation_count) return -1;
  memset(&pm_crash_run, 0, sizeof pm_crash_run);
  pm_crash_run.op = &pm_crash_operations[number];
  pm_crash_run.event = event;
  pm_crash_run.kind = kind;
  pm_crash_run.flushes = flushes;
  return (int)pm_crash_run.op->victim;
}

/** Events of the operation when it was not cut short, else 0. */
uint64_t pm_crash_points(void) {
  return pm_crash_run.points;
}

/** Program of each host. */
int64_t pm_crash_thread(void *number) {
  pm_test_ctx ctx = context_of((uint32_t)(uintptr_t)number);
  pm_test_manager manager;
  const uint32_t victim = pm_crash_run.op->victim, survivor = 1 - victim;
  if (ctx.node == 2 && !pm_crash_run.op->recovers) return 0;
  if (enter(&ctx, &manager) != 0) return 1;
  while (!__atomic_load_n(&pm_crash_run.filled, __ATOMIC_ACQUIRE)) pm_relax();
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
  if (pm_crash_run.kind == EMU_CRASH_PROCESS && pm_crash_run.flushes) PM_EXPECT_OK(&ctx, pm_flush_host(ctx.path));
  while (!__atomic_load_n(&pm_crash_run.recovered, __ATOMIC_ACQUIRE)) pm_relax();
  PM_EXPECT_OK(&ctx, pm_open(ctx.path, &options, &ctx.pool));
  pm_test_manager_start(&manager, ctx.pool);
  uint32_t found;
  if (pm_crash_insert(&ctx, 3, CRASH_CHAIN) != 0 || pm_crash_check_blocks(&ctx, &found) != 0 ||
      pm_crash_lock_step(&ctx) != 0)
    return 1;
  PM_EXPECT(&ctx, found >= CRASH_CHAIN, "only %u blocks after the insert", found);
  return leave(&ctx, &manager);
}
