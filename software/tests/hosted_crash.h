/*
 * What the two files of the crash sweep share: hosted_crash.c is the run, hosted_crash_ops.c the operations that are cut short.
 */
#ifndef PRISMEM_TESTS_HOSTED_CRASH_H
#define PRISMEM_TESTS_HOSTED_CRASH_H

#include "pm_test.h"
#include "prismem_emu.h"

#define CRASH_NODES 3u
#define CRASH_CHAIN 3u
#define CRASH_BLOCK 128u
#define CRASH_GIVEN_BACK 8u
#define CRASH_SECOND 2u /* node id that the victim's host takes beside its own */

typedef struct crash_record {
  uint64_t a, pad_a[7], b, pad_b[7];
} crash_record;

typedef struct crash_operation {
  const char *name;
  uint32_t victim;
  uint32_t tier;  /* enum pm_lock_tier of the pool */
  int recovers;   /* host 2 dies first, and the operation is its recovery */
  int takes_more; /* the victim's host has CRASH_SECOND as well */
  int (*prepare)(pm_test_ctx *ctx);
  int (*run)(pm_test_ctx *ctx);
} crash_operation;

typedef struct crash_run {
  const crash_operation *op;
  uint64_t event;
  uint32_t kind, flushes;
  uint32_t opened, filled, prepared, over, recovered; /* atomic */
  uint64_t offsets[4], points;
  uint64_t given_back[CRASH_GIVEN_BACK]; /* blocks that were freed before the operation; 0: there are none */
} crash_run;

extern crash_run pm_crash_run;
extern const crash_operation pm_crash_operations[];
extern const uint32_t pm_crash_operation_count;

/** Look up a chain of CRASH_CHAIN blocks that begins with `first`, and insert what is not there. */
int pm_crash_insert(pm_test_ctx *ctx, uint64_t request, uint32_t first);
/** Every block that is there has its bytes; *found counts them. */
int pm_crash_check_blocks(pm_test_ctx *ctx, uint32_t *found);
/** Of the blocks that were freed before the operation, at most the one that it took again is allocated; all of them are free then. */
int pm_crash_check_given_back(pm_test_ctx *ctx);
/** The record under the user's lock: both halves agree, or whoever finds that the last holder died makes them agree. */
int pm_crash_lock_step(pm_test_ctx *ctx);

#endif
