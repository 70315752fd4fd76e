/**
 * @file type3_share.h
 * Job type3_share: the heads of a shared device write one block in turn, and all others read it.
 */
#ifndef PRISMEM_TYPE3_SHARE_H
#define PRISMEM_TYPE3_SHARE_H

#include <stdint.h>

typedef struct type3_share_job {
  const char *pool_path;
  uint64_t seed;
  uint64_t verified_bytes; /**< result: bytes that this head read and found right */
  uint64_t wrong_bytes;    /**< result: and wrong */
  uint32_t head;           /**< this one, 0..heads-1 */
  uint32_t heads;
  uint32_t lines;  /**< of the block */
  uint32_t rounds; /**< times that the block is written, each time by the next head */
  uint32_t forget; /**< 1: writers do not publish the block, so that readers must find old bytes */
} type3_share_job;

/** Bytes of the pool that the job uses. */
uint64_t type3_share_bytes(uint32_t heads, uint32_t lines);

/** Program of one head: arg is its type3_share_job. 0 or -errno; -EBADMSG when it has read a wrong byte. */
int64_t type3_share(void *arg);

#endif
