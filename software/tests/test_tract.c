/*
 * The names of tract.h, each used once on one node; its clflush between nodes.
 */
#include "prismem/tract.h"

#include <errno.h>
#include <string.h>

#include "tests.h"

#define BLOCK_BYTES 128u

static int use_locks(pm_test_ctx *ctx, pm_pool *pool) {
  uint32_t lock;
  int fresh = 0;
  PM_EXPECT_OK(ctx, cxl_shm_allocate_lock(pool, &lock));
  PM_EXPECT_OK(ctx, cxl_shm_acquire_lock(pool, lock, &fresh));
  PM_EXPECT(ctx, fresh == 1, "the first holder is told %d", fresh);
  PM_EXPECT_OK(ctx, cxl_shm_release_lock(pool, lock));
  PM_EXPECT_OK(ctx, cxl_shm_free_lock(pool, lock));
  PM_EXPECT(ctx, cxl_shm_free_lock(pool, lock) == -EINVAL, "lock %u was freed twice", lock);
  return 0;
}

static int use_objects(pm_test_ctx *ctx, pm_pool *pool) {
  uint64_t *object = shmalloc(pool, sizeof *object);
  PM_EXPECT(ctx, object != NULL, "shmalloc: %s", pm_error_text());
  PM_EXPECT(ctx, cxl_shm_get_ptr(pool, cxl_shm_get_offset(pool, object)) == object, "offset and pointer differ");
  *object = 77;
  clflush(object, sizeof *object);
  PM_EXPECT_OK(ctx, cxl_shm_put(pool, "object", 6, object));
  PM_EXPECT(ctx, cxl_shm_get(pool, "object", 6) == object, "another object came back");
  PM_EXPECT_OK(ctx, cxl_shm_destroy(pool, "object", 6));
  PM_EXPECT(ctx, cxl_shm_get(pool, "object", 6) == NULL, "found after destroy");
  PM_EXPECT_OK(ctx, shfree(pool, object));
  PM_EXPECT(ctx, shmalloc(pool, (size_t)PM_TEST_POOL_BYTES * 2) == NULL, "more than the pool was allocated");
  return 0;
}

static int use_prefixes(pm_test_ctx *ctx, pm_pool *pool) {
  const uint32_t tokens[2] = {3, 4};
  const pm_digest chain = pm_digest_chain(pm_digest_root(pool), tokens, 2);
  _Alignas(64) unsigned char payload[BLOCK_BYTES], copy[BLOCK_BYTES];
  pm_ref ref;
  PM_EXPECT(ctx, tract_lookup_prefix(pool, 1, &chain, 1, &ref) == 0, "found in an empty pool");
  PM_EXPECT(ctx, tract_alloc(pool, 1, &chain, 1, 0, &ref) == 1, "alloc: %s", pm_error_text());
  pm_test_payload(chain, payload, sizeof payload);
  PM_EXPECT_OK(ctx, tract_gpu_to_cxl(pool, &ref, payload));
  PM_EXPECT_OK(ctx, tract_publish_prefix(pool, &ref, 1));
  PM_EXPECT_OK(ctx, pm_index_release(pool, 1, &ref, 1));
  PM_EXPECT(ctx, tract_lookup_prefix(pool, 2, &chain, 1, &ref) == 1, "the published block is not found");
  PM_EXPECT_OK(ctx, tract_cxl_to_gpu(pool, &ref, copy));
  PM_EXPECT(ctx, pm_test_payload_check(chain, copy, sizeof copy) < 0, "other bytes came back");
  PM_EXPECT_OK(ctx, pm_index_release(pool, 2, &ref, 1));
  PM_EXPECT(ctx, pm_index_evict(pool, 1) == 1, "evict: %s", pm_error_text());
  PM_EXPECT(ctx, tract_cxl_to_gpu(pool, &ref, copy) == -ESTALE, "an evicted block passes");
  return 0;
}

static int setup(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = 2, .block_bytes = BLOCK_BYTES};
  pm_pool *pool, *other;
  pm_test_manager manager;
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  PM_EXPECT_OK(ctx, tract_init(ctx->path, 1, &pool));
  PM_EXPECT(ctx, pm_node(pool) == 1, "attached as node %u", pm_node(pool));
  PM_EXPECT(ctx, tract_init(ctx->path, 1, &other) == -EBUSY, "attached twice");
  pm_test_manager_start(&manager, pool);
  const int failed = use_locks(ctx, pool) || use_objects(ctx, pool) || use_prefixes(ctx, pool);
  pm_test_manager_stop(&manager);
  if (failed) return 1;
  PM_EXPECT_OK(ctx, pm_close(pool));
  return 0;
}

const pm_test pm_test_tract = {
    .name = "tract", .about = "the paper's names do what they say", .nodes_max = 1, .bare = 1, .setup = setup};

#define RECORD_WORDS 24u /* three lines */

typedef struct shared {
  uint64_t flag; /* line of node 0 */
  uint64_t spare[7];
  uint64_t words[RECORD_WORDS]; /* of node 0 */
} shared;

static int share_setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "tract", sizeof(shared));
}

static void write_record(shared *s) {
  for (uint32_t i = 0; i < RECORD_WORDS; ++i) s->words[i] = 100 + i;
  clflush(s->words, sizeof s->words);
  __atomic_store_n(&s->flag, 1, __ATOMIC_RELEASE);
  clflush(&s->flag, sizeof s->flag);
}

static int read_record(pm_test_ctx *ctx, shared *s) {
  do {
    pm_relax();
    pm_acquire(&s->flag, sizeof s->flag);
  } while (__atomic_load_n(&s->flag, __ATOMIC_ACQUIRE) == 0);
  pm_acquire(s->words, sizeof s->words);
  for (uint32_t i = 0; i < RECORD_WORDS; ++i)
    PM_EXPECT(ctx, s->words[i] == 100 + i, "word %u is %llu", i, (unsigned long long)s->words[i]);
  return 0;
}

static int share_worker(pm_test_ctx *ctx) {
  shared *s = pm_test_region(ctx, "tract", sizeof(shared));
  if (s == NULL) return 1;
  if (ctx->node != 0) return read_record(ctx, s);
  write_record(s);
  return 0;
}

const pm_test pm_test_tract_share = {.name = "tract_share",
                                     .about = "a record of several lines by the paper's clflush, then a flag",
                                     .setup = share_setup,
                                     .worker = share_worker};
