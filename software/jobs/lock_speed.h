/**
 * @file lock_speed.h
 * Job lock_speed: nodes take one global lock in turn or all at once; how long that takes, and whether it is exclusive and fair.
 */
#ifndef PRISMEM_LOCK_SPEED_H
#define PRISMEM_LOCK_SPEED_H

#include <stdint.h>

#include "prismem/prismem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What one node has seen. */
typedef struct lock_speed_result {
  uint64_t acquisitions;
  uint64_t acquire_ns, acquire_ns_max; /**< sum and longest, simulated time */
  uint64_t release_ns;                 /**< sum */
  uint64_t lines_out, lines_in;        /**< published and acquired while it took and released the lock */
  uint64_t passed_max;                 /**< times that others got the lock while it stood in the queue, the most */
  uint64_t passed_by_one_max;          /**< the same of one and the same other node */
  pm_lock_info info;
} lock_speed_result;

typedef struct lock_speed_job {
  uint32_t struct_bytes; /**< sizeof(lock_speed_job) */
  uint32_t nodes;        /**< one a host; host 0 runs the lock manager as well */
  const char *pool_path;
  pm_format_options format;
  uint32_t active;                         /**< the first so many nodes take the lock, the others are idle */
  uint32_t rounds;                         /**< acquisitions of each */
  uint32_t think_ns;                       /**< between a release and the next acquisition */
  uint32_t check;                          /**< 1: count in a line that the lock protects, and who was passed by whom */
  lock_speed_result results[PM_NODES_MAX]; /**< result */
  uint64_t start_ns, end_ns;               /**< result: the first acquisition begins, the last release is over */
  uint64_t count;                          /**< result of check: what the line said in the end */
  uint64_t overlaps;                       /**< result of check: somebody else was inside */
  /* Of the programs among each other, outside of the pool. */
  pm_pool *pools[PM_NODES_MAX];
  uint32_t opened, ready, done, inside, managed; /* node 0 has opened; nodes at the start; at the end; the manager is */
  int32_t stop_manager;
  uint64_t offset;
  uint64_t served[PM_NODES_MAX];
  uint64_t passed[PM_NODES_MAX], passed_by[PM_NODES_MAX][PM_NODES_MAX];
} lock_speed_job;

typedef struct lock_speed_node {
  lock_speed_job *job;
  uint32_t node;
} lock_speed_node;

/** Programs; the argument is a lock_speed_node. 0 or -errno. */
int64_t lock_speed_run(void *node);
int64_t lock_speed_manager(void *node);

#ifdef __cplusplus
}
#endif
#endif
