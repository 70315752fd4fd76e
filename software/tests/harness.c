/*
 * The sequence of a test, the same in every world (pm_test.h).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pm_test.h"

#define THREADS_MAX 8u

typedef struct worker_arg {
  const pm_test *test;
  pm_test_ctx ctx;
  int result;
} worker_arg;

const pm_test *pm_test_by_name(const char *name) {
  for (unsigned i = 0; pm_tests[i] != NULL; ++i) {
    if (strcmp(pm_tests[i]->name, name) == 0) return pm_tests[i];
  }
  return NULL;
}

static void *worker_main(void *arg) {
  worker_arg *worker = arg;
  worker->result = worker->test->worker(&worker->ctx);
  return NULL;
}

static int run_workers(const pm_test *test, const pm_test_ctx *base) {
  worker_arg args[THREADS_MAX];
  pthread_t threads[THREADS_MAX];
  int failed = 0;
  if (test->worker == NULL) return 0;
  for (uint32_t i = 0; i < base->threads; ++i) {
    args[i].test = test;
    args[i].ctx = *base;
    args[i].ctx.thread = i;
    args[i].ctx.seed = base->seed * 1000003u + base->node * UINT64_C(101) + i;
    args[i].result = 1;
    if (i != 0 && pthread_create(&threads[i], NULL, worker_main, &args[i]) != 0) abort();
  }
  worker_main(&args[0]);
  for (uint32_t i = 0; i < base->threads; ++i) {
    if (i != 0) pthread_join(threads[i], NULL);
    failed |= args[i].result;
  }
  return failed;
}

static int open_node(pm_test_ctx *ctx) {
  const pm_open_options options = {.node = ctx->node};
  PM_EXPECT_OK(ctx, pm_open(ctx->path, &options, &ctx->pool));
  return 0;
}

/* Node 0 around the others: the pool, the manager, setup and check. */
static int first_node(pm_test_run *run, pm_test_ctx *ctx) {
  const pm_test *test = run->test;
  pm_test_manager manager;
  if (!test->bare) {
    pm_format_options format = test->format;
    format.nodes = run->nodes;
    if (format.pool_bytes == 0) format.pool_bytes = PM_TEST_POOL_BYTES;
    PM_EXPECT_OK(ctx, pm_format(ctx->path, &format));
    if (open_node(ctx) != 0) return 1;
  }
  const int managed = !test->bare && !test->no_manager;
  if (managed) pm_test_manager_start(&manager, ctx->pool);
  int failed = test->setup != NULL ? test->setup(ctx) : 0;
  __atomic_store_n(&run->ready, 1, __ATOMIC_RELEASE);
  if (!failed) failed = run_workers(test, ctx);
  while (!failed && __atomic_load_n(&run->done, __ATOMIC_ACQUIRE) != run->nodes - 1) pm_relax();
  if (!failed && test->check != NULL) failed = test->check(ctx);
  if (managed) pm_test_manager_stop(&manager);
  if (!failed && ctx->pool != NULL) PM_EXPECT_OK(ctx, pm_close(ctx->pool));
  return failed;
}

int pm_test_node(pm_test_run *run, uint32_t node) {
  const pm_test *test = run->test;
  pm_test_ctx ctx = {.path = run->path,
                     .node = node,
                     .nodes = run->nodes,
                     .threads = test->threads == 0 ? 1 : test->threads,
                     .seed = run->seed,
                     .scale = run->scale};
  if (node == 0) return first_node(run, &ctx);
  while (!__atomic_load_n(&run->ready, __ATOMIC_ACQUIRE)) pm_relax();
  int failed = test->bare ? 0 : open_node(&ctx);
  if (!failed) failed = run_workers(test, &ctx);
  if (!failed && ctx.pool != NULL) PM_EXPECT_OK(&ctx, pm_close(ctx.pool));
  __atomic_fetch_add(&run->done, 1, __ATOMIC_ACQ_REL);
  return failed;
}
