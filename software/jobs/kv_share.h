/**
 * @file kv_share.h
 * Job kv_share: prefill nodes put KV blocks into the pool, decode nodes take them out and check every byte.
 *
 * The caller fills a kv_job, starts kv_manager, kv_prefill and kv_decode once a node, and reads the results when all have
 * ended. Nothing here knows whether the pool is a file, emulated or behind RTL.
 */
#ifndef PRISMEM_KV_SHARE_H
#define PRISMEM_KV_SHARE_H

#include <stdint.h>

#include "prismem/prismem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Steps of a request that are timed, each in simulated ns. */
enum kv_step {
  KV_STEP_TURN = 0,    /**< wait for the previous request's index changes (trace order) */
  KV_STEP_LOOKUP = 1,  /**< longest prefix, pins taken */
  KV_STEP_RESERVE = 2, /**< index lock, room made, replacement list moved */
  KV_STEP_DMA_IN = 3,  /**< payload of the missing blocks to the pool */
  KV_STEP_COMMIT = 4,  /**< published READY */
  KV_STEP_SIGNAL = 5,  /**< rendezvous with the decode node */
  KV_STEP_DECODE_LOOKUP = 6,
  KV_STEP_DMA_OUT = 7, /**< payload out of the pool, bytes verified, generation checked again */
  KV_STEPS = 8
};

/** One request: written by its prefill node and its decode node, different members. */
typedef struct kv_request_result {
  uint32_t hits;     /**< leading blocks that were resident (READY, or being filled by another node) */
  uint32_t inserted; /**< blocks that this request computed */
  uint32_t decoded;  /**< blocks that the decode node found, copied and verified */
  uint32_t step_ns[KV_STEPS];
} kv_request_result;

/** Sums of one node. */
typedef struct kv_node_result {
  uint64_t verified_bytes, wrong_bytes;
  uint64_t lines_flushed_insert; /**< reserve and commit: lines published */
  uint64_t lines_acquired_insert;
  uint64_t lines_flushed_lookup; /**< lookup, check and release: lines published (pins) */
  uint64_t lines_acquired_lookup;
  pm_stats stats;
} kv_node_result;

typedef struct kv_job {
  uint32_t struct_bytes; /**< sizeof(kv_job) */
  uint32_t prefills;     /**< nodes 0 .. prefills-1 */
  uint32_t decodes;      /**< nodes prefills .. prefills+decodes-1; the manager is the node after them */
  uint32_t tokens_per_block;
  const char *pool_path;
  pm_format_options format;
  uint64_t requests;
  const uint64_t *first_block; /**< requests + 1 offsets into hash_ids */
  const uint64_t *hash_ids;    /**< the content of a block follows from its id */
  uint32_t compute_ns;         /**< time to "compute" one missing block */
  uint32_t reserved;
  kv_request_result *request_results; /**< [requests] */
  kv_node_result *node_results;       /**< [prefills + decodes] */
  pm_index_info index;                /**< filled by node 0 at the end */
  int32_t stop_manager;
  int32_t nodes_done;
} kv_job;

/** Argument of one node's thread. */
typedef struct kv_node {
  kv_job *job;
  uint32_t node;
} kv_node;

/** Programs of the nodes: arg is a kv_node. They return 0 or -errno. */
int64_t kv_prefill(void *arg);
int64_t kv_decode(void *arg);
int64_t kv_manager(void *arg);

/** Token ids of a block, and its payload: word i = splitmix64(lo + i * 0x9E3779B97F4A7C15) ^ hi, little endian. */
void kv_tokens(uint64_t hash_id, uint32_t *tokens, size_t n);
void kv_payload(pm_digest digest, void *out, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
