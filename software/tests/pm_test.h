/*
 * Tests of libprismem: one source for all worlds. A test names its threads once; the harness runs it with one process a node
 * on a file (native.c), or with one emulated host a node (hosted.c).
 *
 * Sequence: node 0 formats the pool, opens it, starts the lock manager and runs `setup`; then every node runs `worker` on each
 * of its threads, with one handle a node; when all are done node 0 runs `check`. Nodes share nothing but the pool.
 */
#ifndef PRISMEM_TESTS_PM_TEST_H
#define PRISMEM_TESTS_PM_TEST_H

#include <pthread.h>
#include <stdint.h>

#include "prismem/prismem.h"

typedef struct pm_test_ctx {
  const char *path;
  pm_pool *pool; /* NULL in a `bare` test */
  uint32_t node, nodes, thread, threads;
  uint64_t seed; /* of this thread */
  uint32_t scale;
} pm_test_ctx;

typedef int (*pm_test_step)(pm_test_ctx *ctx);

typedef struct pm_test {
  const char *name, *about;
  pm_format_options format;          /* nodes and pool_bytes are filled in */
  uint32_t threads;                  /* a node; 0 means 1 */
  uint32_t nodes_max;                /* 0: any number */
  int bare;                          /* the test formats and opens by itself */
  int no_manager;                    /* the test is the lock manager */
  pm_test_step setup, worker, check; /* any may be NULL; 0 passes */
} pm_test;

#define PM_TEST_POOL_BYTES (UINT64_C(4) << 20)

extern const pm_test *const pm_tests[];
const pm_test *pm_test_by_name(const char *name);

/* Progress of a run, shared by its nodes outside the pool. */
typedef struct pm_test_run {
  const pm_test *test;
  const char *path;
  uint32_t nodes, scale;
  uint64_t seed;
  uint32_t ready, done; /* setup is over; nodes that are finished (atomic) */
} pm_test_run;

/** Everything that node `node` does; 0 passes. */
int pm_test_node(pm_test_run *run, uint32_t node);

/** Report a failure of the world that the test runs in, and return 1. */
int pm_test_fail(const pm_test_ctx *ctx, const void *addr, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define PM_TEST_TEXT2(x) #x
#define PM_TEST_TEXT(x) PM_TEST_TEXT2(x)
#define PM_TEST_HERE __FILE__ ":" PM_TEST_TEXT(__LINE__)
/** Leave the test with a failure unless `condition`; the rest says what was seen. */
#define PM_EXPECT(ctx, condition, ...)                                             \
  do {                                                                             \
    if (!(condition)) return pm_test_fail((ctx), NULL, PM_TEST_HERE, __VA_ARGS__); \
  } while (0)
/** The call returns 0 or more. */
#define PM_EXPECT_OK(ctx, call)                                                                        \
  do {                                                                                                 \
    const int rc_of_call = (call);                                                                     \
    if (rc_of_call < 0)                                                                                \
      return pm_test_fail((ctx), NULL, PM_TEST_HERE, "%s: %d %s", #call, rc_of_call, pm_error_text()); \
  } while (0)

/** A time that is simulated on emulated hosts and real elsewhere, where others use the machine too. */
#ifdef PRISMEM_HOOKED
#define PM_TEST_NS(simulated, real) (simulated)
#else
#define PM_TEST_NS(simulated, real) (real)
#endif

/* helpers.c */
uint64_t pm_test_random(uint64_t *state);
/** Payload of a block: 64-bit words that follow from its digest. */
void pm_test_payload(pm_digest digest, void *to, size_t bytes);
/** Index of the first wrong word, or -1. */
long pm_test_payload_check(pm_digest digest, const void *from, size_t bytes);
/** Write `src` to the pool by DMA and wait; the same for reading. */
int pm_test_dma_in(pm_pool *pool, uint64_t offset, const void *src, size_t bytes);
int pm_test_dma_out(pm_pool *pool, uint64_t offset, void *dst, size_t bytes);
/** Sleep for so long; in simulations it is simulated time. */
void pm_test_sleep(uint64_t ns);
/** It is the other node's turn, and the wait for one's own; 0 passes. */
int pm_test_tell(pm_test_ctx *ctx, uint32_t node);
int pm_test_hear(pm_test_ctx *ctx, uint32_t node);
/** A lock manager on a thread of its own. */
typedef struct pm_test_manager {
  pm_pool *pool;
  int stop;
  pthread_t thread;
} pm_test_manager;
void pm_test_manager_start(pm_test_manager *manager, pm_pool *pool);
void pm_test_manager_stop(pm_test_manager *manager);
/** Allocate a zeroed region and name it, in setup; find it and acquire its lines, in a worker. */
int pm_test_region_make(pm_test_ctx *ctx, const char *name, uint64_t bytes);
void *pm_test_region(pm_test_ctx *ctx, const char *name, uint64_t bytes);

#endif
