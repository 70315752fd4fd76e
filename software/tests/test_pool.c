/*
 * Region: what attach refuses, and how it says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../src/layout.h"
#include "tests.h"

static unsigned char *map_raw(pm_test_ctx *ctx) {
  const int fd = open(ctx->path, O_RDWR);
  if (fd < 0) return NULL;
  unsigned char *p = mmap(NULL, PM_TEST_POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return p == MAP_FAILED ? NULL : p;
}

/* Change the superblock behind the library's back. */
static int overwrite(pm_test_ctx *ctx, size_t at, uint64_t value) {
  unsigned char *p = map_raw(ctx);
  PM_EXPECT(ctx, p != NULL, "mmap: %d", errno);
  pm_acquire(p + at, sizeof value);
  *(uint64_t *)(void *)(p + at) = value;
  pm_publish(p + at, sizeof value);
  pm_sync();
  munmap(p, PM_TEST_POOL_BYTES);
  return 0;
}

static int refused(pm_test_ctx *ctx, const pm_open_options *options, int expected, const char *word) {
  pm_pool *pool = NULL;
  const int rc = pm_open(ctx->path, options, &pool);
  PM_EXPECT(ctx, rc == expected, "open: %d instead of %d (%s)", rc, expected, word);
  PM_EXPECT(ctx, strstr(pm_error_text(), word) != NULL, "'%s' does not name %s", pm_error_text(), word);
  return 0;
}

static int superblock_fields(pm_test_ctx *ctx, const pm_format_options *format) {
  static const struct {
    size_t at;
    uint64_t value;
    int expected;
    const char *word;
  } cases[] = {{offsetof(pmi_superblock, magic), 0, -EAGAIN, "magic"},
               {offsetof(pmi_superblock, magic), 5, -EPROTO, "magic"},
               {offsetof(pmi_superblock, version), 99, -EPROTO, "layout version"},
               {offsetof(pmi_superblock, layout_digest), 1, -EPROTO, "superblock check"},
               {offsetof(pmi_superblock, params.index_slots), 8, -EPROTO, "superblock check"},
               {offsetof(pmi_superblock, name_space), 1, -EPROTO, "superblock check"}};
  const pm_open_options any = {.node = 0};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    PM_EXPECT_OK(ctx, pm_format(ctx->path, format));
    if (overwrite(ctx, cases[i].at, cases[i].value) != 0) return 1;
    if (refused(ctx, &any, cases[i].expected, cases[i].word) != 0) return 1;
  }
  return 0;
}

static int formats(pm_test_ctx *ctx) {
  static const struct {
    pm_format_options format;
    int expected;
    const char *word;
  } cases[] = {{{.nodes = 33}, -EINVAL, "nodes"},
               {{.locks = 65}, -EINVAL, "locks"},
               {{.index_slots = 1000}, -EINVAL, "index_slots"},
               {{.index_slots = 64, .index_capacity = 64}, -EINVAL, "index_capacity"},
               {{.block_bytes = 100}, -EINVAL, "block_bytes"},
               {{.chunk_bytes = 5000}, -EINVAL, "chunk_bytes"},
               {{.lock_tier = 3}, -EINVAL, "lock_tier"},
               {{.index_slots = 1u << 20}, -ENOSPC, "pool_bytes"}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const int rc = pm_format(ctx->path, &cases[i].format);
    PM_EXPECT(ctx, rc == cases[i].expected, "format with a wrong %s: %d", cases[i].word, rc);
    PM_EXPECT(ctx, strstr(pm_error_text(), cases[i].word) != NULL, "'%s' does not name %s", pm_error_text(),
              cases[i].word);
  }
  return 0;
}

static int setup(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = 2, .name_space = "model a"};
  pm_pool *first, *second, *third;
  if (formats(ctx) != 0 || superblock_fields(ctx, &format) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  pm_open_options options = {.node = PM_NODE_ANY, .check_namespace = 1, .name_space = "model b"};
  if (refused(ctx, &options, -EPROTO, "name space") != 0) return 1;
  options.check_namespace = 0;
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &first));
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &second));
  PM_EXPECT(ctx, pm_node(first) == 0 && pm_node(second) == 1, "nodes %u and %u", pm_node(first), pm_node(second));
  if (refused(ctx, &options, -EBUSY, "node") != 0) return 1;
  options.node = 1;
  if (refused(ctx, &options, -EBUSY, "node") != 0) return 1;
  options.node = 2;
  if (refused(ctx, &options, -EINVAL, "node") != 0) return 1;
  PM_EXPECT(ctx, pm_ptr(first, 0) != NULL && pm_ptr(first, PM_TEST_POOL_BYTES) == NULL, "bounds of pm_ptr");
  PM_EXPECT(ctx, pm_offset(first, pm_ptr(first, 4096)) == 4096, "pm_offset");
  PM_EXPECT_OK(ctx, pm_close(second));
  options.node = 1;
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &third));
  PM_EXPECT_OK(ctx, pm_close(third));
  PM_EXPECT_OK(ctx, pm_close(first));
  return 0;
}

const pm_test pm_test_pool_refuse = {.name = "pool_refuse",
                                     .about = "wrong superblocks, options and node ids are refused by name",
                                     .nodes_max = 1,
                                     .bare = 1,
                                     .setup = setup};

/* A program that knows nothing of pools leaves a word in every line that format will clear. */
#define FOREIGN_BYTES (512u << 10)

static int leave_foreign(pm_test_ctx *ctx) {
  unsigned char *p = map_raw(ctx);
  PM_EXPECT(ctx, p != NULL, "mmap: %d", errno);
  for (uint32_t at = 0; at < FOREIGN_BYTES; at += PM_LINE) *(uint64_t *)(void *)(p + at) = UINT64_MAX;
  munmap(p, PM_TEST_POOL_BYTES);
  return 0;
}

/* A block that was left dirty becomes metadata when the pool is formatted with a larger index; all of it must read as empty. */
#define DIRTY_BYTES 4096u

static int leave_dirty(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = 2, .index_slots = 16};
  const pm_open_options options = {.node = 0};
  pm_pool *pool;
  pm_test_manager manager;
  uint64_t offset;
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &pool));
  pm_test_manager_start(&manager, pool);
  PM_EXPECT_OK(ctx, pm_alloc(pool, DIRTY_BYTES, &offset));
  unsigned char *bytes = pm_ptr(pool, offset);
  pm_acquire(bytes, DIRTY_BYTES);
  memset(bytes, 0xff, DIRTY_BYTES);
  pm_test_manager_stop(&manager);
  PM_EXPECT_OK(ctx, pm_close(pool));
  return 0;
}

static int reformat_setup(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = 2, .index_slots = 4096};
  const pm_open_options options = {.node = 1};
  const pm_digest digest = {.lo = 5, .hi = 6};
  pm_pool *pool;
  pm_test_manager manager;
  pm_index_info info;
  if (leave_foreign(ctx) != 0 || leave_dirty(ctx) != 0) return 1;
  PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &pool));
  pm_test_manager_start(&manager, pool);
  for (uint64_t home = 0; home < format.index_slots; ++home) {
    const pm_digest any = {.lo = home, .hi = digest.hi};
    PM_EXPECT(ctx, pm_index_exists(pool, any) == 0, "slot %llu is not empty", (unsigned long long)home);
  }
  PM_EXPECT_OK(ctx, pm_index_stat(pool, &info));
  PM_EXPECT(ctx, info.resident == 0 && info.slots == format.index_slots, "%llu resident in %llu slots",
            (unsigned long long)info.resident, (unsigned long long)info.slots);
  pm_test_manager_stop(&manager);
  PM_EXPECT_OK(ctx, pm_close(pool));
  return 0;
}

const pm_test pm_test_pool_reformat = {.name = "pool_reformat",
                                       .about = "format over lines that were left dirty",
                                       .nodes_max = 1,
                                       .bare = 1,
                                       .setup = reformat_setup};

/* Node 1 has read the first line before there was a pool. It hears that the pool is formatted through lines that lie outside of
 * the metadata, and opens it at the first attempt. */
#define FORMAT_NODES 2u

static uint64_t *flag_of(unsigned char *raw, uint32_t node) {
  return (uint64_t *)(void *)(raw + PM_TEST_POOL_BYTES - (size_t)(node + 1) * PM_LINE);
}

static void raise_flag(unsigned char *raw, uint32_t node) {
  __atomic_store_n(flag_of(raw, node), 1, __ATOMIC_RELEASE);
  pm_publish(flag_of(raw, node), PM_LINE);
}

static void wait_for_flag(unsigned char *raw, uint32_t node) {
  do {
    pm_relax();
    pm_acquire(flag_of(raw, node), PM_LINE);
  } while (__atomic_load_n(flag_of(raw, node), __ATOMIC_ACQUIRE) == 0);
}

static int early_worker(pm_test_ctx *ctx) {
  const pm_format_options format = {.pool_bytes = PM_TEST_POOL_BYTES, .nodes = FORMAT_NODES, .index_slots = 16};
  const pm_open_options options = {.node = ctx->node};
  pm_pool *pool;
  if (ctx->nodes < FORMAT_NODES) return 0;
  unsigned char *raw = map_raw(ctx);
  PM_EXPECT(ctx, raw != NULL, "mmap: %d", errno);
  if (ctx->node == 0) {
    wait_for_flag(raw, 1);
    PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
    raise_flag(raw, 0);
  } else {
    const uint64_t magic = ((const pmi_superblock *)(const void *)raw)->magic;
    PM_EXPECT(ctx, magic != PMI_MAGIC, "a pool is there already");
    raise_flag(raw, 1);
    wait_for_flag(raw, 0);
    PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &pool));
    PM_EXPECT_OK(ctx, pm_close(pool));
  }
  munmap(raw, PM_TEST_POOL_BYTES);
  return 0;
}

const pm_test pm_test_pool_early = {.name = "pool_early",
                                    .about = "who looked at the memory before it was formatted opens the pool at once",
                                    .nodes_max = FORMAT_NODES,
                                    .bare = 1,
                                    .worker = early_worker};
