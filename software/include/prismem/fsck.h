/**
 * @file fsck.h
 * Check of a pool that nobody uses, from what stands in it alone, and its repair.
 *
 * @threads any thread; nobody else may use the pool.
 * @visibility a check writes nothing; a repair is published on return.
 * @see docs/crashes.md
 */
#ifndef PRISMEM_FSCK_H
#define PRISMEM_FSCK_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct pm_fsck_options {
  int repair; /**< mend what is found; the pool must be writable and nobody may use it */
  /** Called for each finding (may be NULL): kind is "node", "lock", "pin", "chunk", "block", "index", "object" or "leak". */
  void (*finding)(void *context, const char *kind, const char *text);
  void *context;
} pm_fsck_options;

typedef struct pm_fsck_report {
  uint64_t errors;   /**< things that must not be in a closed pool: claimed ids, held locks, pins, broken structures */
  uint64_t leaks;    /**< payload blocks that no bucket names */
  uint64_t repaired; /**< errors and leaks that a repair has mended */
  uint64_t chunks_used, blocks_live, resident, objects;
} pm_fsck_report;

/** Check the pool at `path`, opened for reading only, and count what is found; with `repair` mend it and check again, so that
 *  errors and leaks are those that are left. Returns 0 when it could be checked, whatever was found. -EPROTO: not a pool of
 *  this library (pm_error_text() names the field); -EBUSY: repair asked for, and a node's heartbeat moves. */
int pm_fsck(const char *path, const pm_fsck_options *options, pm_fsck_report *report);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
