/**
 * @file flush_latency.h
 * Job flush_latency: how long the write-back of one line takes, as the program that flushes it sees it.
 */
#ifndef PRISMEM_FLUSH_LATENCY_H
#define PRISMEM_FLUSH_LATENCY_H

#include <stdint.h>

/** Instructions that write a line back, each followed by the fence that waits for it. */
enum flush_method { FLUSH_CLFLUSH = 0, FLUSH_CLFLUSHOPT = 1, FLUSH_CLWB = 2, FLUSH_METHODS = 3 };

/** One line: simulated ns right before the instruction, after it, and after the fence. */
typedef struct flush_times {
  uint64_t start_ns, returned_ns, fenced_ns;
} flush_times;

typedef struct flush_latency_job {
  const char *pool_path;
  uint32_t lines;        /**< lines that each method writes back */
  uint32_t stride_bytes; /**< distance between them, a multiple of 64 */
  uint32_t gap_ns;       /**< idle time before each */
  uint32_t reserved;
  flush_times *times; /**< result: [FLUSH_METHODS][lines] */
} flush_latency_job;

/** Program of one thread: arg is a flush_latency_job. 0 or -errno. */
int64_t flush_latency(void *arg);

#endif
