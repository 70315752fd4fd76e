/*
 * Tests on emulated hosts: whoever drives the emulation names a test with pm_test_select, then starts pm_test_thread(node) once
 * on each host.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm_test.h"
#include "prismem_emu.h"

static pm_test_run run;
static char pool_path[128];

const char *pm_test_name(uint32_t number);
int pm_test_select(const char *name, uint32_t nodes, uint64_t seed, uint32_t scale);
int64_t pm_test_thread(void *node);

/** Name of test `number`, NULL behind the last. */
const char *pm_test_name(uint32_t number) {
  uint32_t count = 0;
  while (pm_tests[count] != NULL) count += 1;
  return number < count ? pm_tests[number]->name : NULL;
}

/** Prepare a run; returns the number of nodes that it takes (at most `nodes`), or -1 for an unknown test. */
int pm_test_select(const char *name, uint32_t nodes, uint64_t seed, uint32_t scale) {
  const pm_test *test = pm_test_by_name(name);
  if (test == NULL) return -1;
  snprintf(pool_path, sizeof pool_path, "%s", EMU_POOL_PATH);
  memset(&run, 0, sizeof run);
  run.test = test;
  run.path = pool_path;
  run.nodes = test->nodes_max != 0 && test->nodes_max < nodes ? test->nodes_max : nodes;
  run.seed = seed;
  run.scale = scale;
  return (int)run.nodes;
}

/** Program of the host `node` (the number itself, not a pointer to it). */
int64_t pm_test_thread(void *node) {
  return pm_test_node(&run, (uint32_t)(uintptr_t)node);
}

int pm_test_fail(const pm_test_ctx *ctx, const void *addr, const char *where, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  emu_fail(addr, "%s: node %u thread %u: %s", where, ctx->node, ctx->thread, text);
  return 1;
}
