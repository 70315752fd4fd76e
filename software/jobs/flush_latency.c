/**
 * @file flush_latency.c
 * Job flush_latency: store to a line, write it back, wait for it; the clock is read between these steps.
 *
 * The instructions stand here by themselves and not behind the verbs of the library, which choose one by the processor: what
 * is measured is the instruction.
 */
#define _POSIX_C_SOURCE 200809L
#include "flush_latency.h"

#include <errno.h>
#include <immintrin.h>
#include <time.h>

#include "common/map_pool.h"

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((target("clflushopt,clwb"))) static void write_back(enum flush_method method, void *line) {
  if (method == FLUSH_CLFLUSH) _mm_clflush(line);
  if (method == FLUSH_CLFLUSHOPT) _mm_clflushopt(line);
  if (method == FLUSH_CLWB) _mm_clwb(line);
}

int64_t flush_latency(void *arg) {
  flush_latency_job *job = arg;
  size_t bytes = (size_t)job->stride_bytes * job->lines;
  unsigned char *pool = map_pool(job->pool_path, bytes);
  if (pool == NULL) return -errno;
  for (uint32_t method = 0; method < FLUSH_METHODS; method++) {
    for (uint32_t i = 0; i < job->lines; i++) {
      volatile uint64_t *word = (volatile uint64_t *)(pool + (size_t)i * job->stride_bytes);
      flush_times *times = &job->times[(size_t)method * job->lines + i];
      *word = (uint64_t)method << 32 | i;
      idle(job->gap_ns);
      times->start_ns = now_ns();
      write_back((enum flush_method)method, (void *)(uintptr_t)word);
      times->returned_ns = now_ns();
      _mm_mfence();
      times->fenced_ns = now_ns();
    }
  }
  idle(job->gap_ns); /* what was posted arrives */
  munmap(pool, bytes);
  return 0;
}
