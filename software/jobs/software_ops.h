/**
 * @file software_ops.h
 * Job software_ops: what each operation of the library takes, in simulated time, on every node at once.
 */
#ifndef PRISMEM_SOFTWARE_OPS_H
#define PRISMEM_SOFTWARE_OPS_H

#include <stdint.h>

#include "prismem/prismem.h"

/** What a sample is of. */
enum software_op {
  OP_LOCK_ALONE = 0,     /**< pm_lock_acquire, nobody else wants it; another node held it last */
  OP_UNLOCK = 1,         /**< pm_lock_release of it */
  OP_LOCK_CONTENDED = 2, /**< pm_lock_acquire while every node wants the same lock */
  OP_PUBLISH = 3,        /**< pm_publish and pm_sync of one line */
  OP_VISIBLE = 4,        /**< from the store to the moment at which another node, which polls, has read the value */
  OP_RENDEZVOUS = 5,     /**< from pm_send to the return of pm_receive on another node, which waits */
  OP_INSERT = 6,         /**< pm_index_reserve, payload by DMA, pm_index_commit of a chain */
  OP_LOOKUP_HIT = 7,     /**< pm_index_lookup of a chain that another node has inserted; pins it */
  OP_LOOKUP_MISS = 8,    /**< pm_index_lookup of a chain that nobody has inserted */
  OP_RELEASE = 9,        /**< pm_index_release of a chain */
  OP_EVICT = 10,         /**< pm_index_evict of as many blocks as a chain has */
  OP_TRANSFER_IN = 11,   /**< a block from memory to the pool: pm_dma_write and pm_dma_wait */
  OP_TRANSFER_OUT = 12,  /**< a block from the pool to memory */
  OP_STREAM_IN = 13,     /**< as many blocks as OPS_STREAM_BYTES hold, 2 to OPS_STREAM_BLOCKS of them, all in flight */
  OP_STREAM_OUT = 14
};

#define OPS_STREAM_BLOCKS 16u
#define OPS_STREAM_BYTES (256u << 10)
#define OPS_SIZES 5u
#define OPS_SIZE_MIN 512u /**< bytes of the smallest block that is transferred; the next is four times as large */

/** One operation of one node. */
typedef struct ops_sample {
  uint64_t start_ns, end_ns;
  uint32_t op, node;
  uint32_t size, bytes;         /**< transfers: of a block, of all blocks; 0 for other operations */
  uint32_t published, acquired; /**< lines, by the library's own count */
} ops_sample;

typedef struct ops_job {
  uint32_t struct_bytes; /**< sizeof(ops_job) */
  uint32_t nodes;        /**< 0 .. nodes-1; the lock manager is the node after them */
  uint32_t rounds;       /**< samples of each operation and node */
  uint32_t blocks;       /**< blocks of a chain */
  const char *pool_path;
  pm_format_options format;
  ops_sample *samples; /**< result: [nodes][samples_max] */
  uint32_t samples_max;
  int32_t stop_manager;
  uint32_t *counts; /**< result: [nodes] samples that were taken */
  int32_t arrived;  /**< of the barrier between the parts */
  int32_t part;
  int32_t failed;     /**< first error of any node */
  int32_t seen;       /**< nodes that have read the value of this round */
  uint64_t lock;      /**< that all use */
  uint64_t line;      /**< pool offset of the line that is published */
  uint64_t stored_ns; /**< when its value of this round was stored */
} ops_job;

typedef struct ops_node {
  ops_job *job;
  uint32_t node;
} ops_node;

/** Programs of the nodes: arg is an ops_node. They return 0 or -errno. */
int64_t software_ops(void *arg);
int64_t software_ops_manager(void *arg);

#endif
