/**
 * @file op_history.h
 * Job op_history: nodes call locks, allocator and prefix index as they like, all at once, and write down who was told what.
 *
 * Unlike job index_model nobody waits for a turn: calls overlap, so no oracle knows the answers beforehand. The history is
 * checked for linearizability afterwards (prismem.models.linearize).
 */
#ifndef PRISMEM_OP_HISTORY_H
#define PRISMEM_OP_HISTORY_H

#include <stdint.h>

#include "prismem/history.h"
#include "prismem/prismem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OP_HISTORY_LOCKS_MAX = 8 };

typedef struct op_history_job {
  uint32_t struct_bytes; /**< sizeof(op_history_job) */
  uint32_t nodes;        /**< the manager is the node after them */
  const char *pool_path;
  pm_format_options format;
  uint64_t seed;
  uint64_t calls;   /**< of each node; one that must be followed by another, as release, counts with it */
  uint32_t locks;   /**< 1 .. OP_HISTORY_LOCKS_MAX */
  uint32_t entries; /**< different blocks of the index */
  pm_history history;
  uint32_t lock[OP_HISTORY_LOCKS_MAX];
  int32_t ready, nodes_done, stop_manager;
} op_history_job;

typedef struct op_history_node {
  op_history_job *job;
  uint32_t node;
} op_history_node;

/** Programs; the argument is an op_history_node. 0 or -errno. */
int64_t op_history_run(void *node);
int64_t op_history_manager(void *node);

#ifdef __cplusplus
}
#endif
#endif
