/**
 * @file idle_latency.h
 * Job idle_latency: latency of single reads and writes on an idle machine.
 */
#ifndef PRISMEM_IDLE_LATENCY_H
#define PRISMEM_IDLE_LATENCY_H

#include <stdint.h>

typedef struct idle_latency_job {
  const char *pool_path;
  uint32_t lines;        /**< lines that are visited, in two passes */
  uint32_t stride_bytes; /**< distance between them, a multiple of 64 */
  uint32_t gap_ns;       /**< idle time before each access */
  uint32_t wrong_lines;  /**< result: lines that did not hold what was stored */
} idle_latency_job;

/** Program of one thread: arg is an idle_latency_job. 0 or -errno. */
int64_t idle_latency(void *arg);

#endif
