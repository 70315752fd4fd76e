/**
 * @file index_model.h
 * Job index_model: hosts take turns at the prefix index; an oracle replays the same requests and has to agree on every hit.
 *
 * Index changes happen in request order (the turn goes round by rendezvous), so residency is decided; what a host reads
 * outside of its turn races with the others' evictions, and has to be right or refused.
 */
#ifndef PRISMEM_INDEX_MODEL_H
#define PRISMEM_INDEX_MODEL_H

#include <stdint.h>

#include "prismem/prismem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct index_model_job {
  uint32_t struct_bytes; /**< sizeof(index_model_job) */
  uint32_t nodes;        /**< request r belongs to node r mod nodes; the manager is the node after them */
  const char *pool_path;
  pm_format_options format;
  uint64_t requests;
  const uint64_t *first_block;            /**< requests + 1 offsets into ids */
  const uint64_t *ids;                    /**< the content of a block follows from its id and those before it */
  uint32_t *hits;                         /**< result: leading resident blocks of each request */
  uint32_t *inserted;                     /**< result: blocks filled by each request */
  pm_index_info index;                    /**< result */
  uint64_t verified_blocks[PM_NODES_MAX]; /**< result, a node: payloads compared, every byte */
  uint64_t refused_blocks[PM_NODES_MAX];  /**< result, a node: reads without pin that the check refused */
  int32_t stop_manager, nodes_done;
} index_model_job;

typedef struct index_model_node {
  index_model_job *job;
  uint32_t node;
} index_model_node;

/** Programs; the argument is an index_model_node. 0, -errno, or -EBADMSG for a wrong byte. */
int64_t index_model_run(void *node);
int64_t index_model_manager(void *node);

#ifdef __cplusplus
}
#endif
#endif
