/**
 * @file idle_latency.c
 * Job idle_latency: one line at a time, on an otherwise idle machine.
 *
 * Each round stores a line, flushes it (one MemWr) and loads it back after an invalidate (one MemRd). A first pass over the
 * lines brings them into the memory module's front; latencies are counted by the hardware's probes from the second pass on.
 */
#define _POSIX_C_SOURCE 200809L
#include "idle_latency.h"

#include <errno.h>

#include "common/map_pool.h"
#include "prismem/verbs.h"

/** Present on the emulated host: forgets the latencies of the warm-up. */
extern void emu_latency_reset(void) __attribute__((weak));

int64_t idle_latency(void *arg) {
  idle_latency_job *job = arg;
  size_t bytes = (size_t)job->stride_bytes * job->lines;
  unsigned char *pool = map_pool(job->pool_path, bytes);
  if (pool == NULL) return -errno;
  for (uint32_t pass = 0; pass < 2; pass++) {
    if (pass == 1 && emu_latency_reset) emu_latency_reset();
    for (uint32_t i = 0; i < job->lines; i++) {
      volatile uint64_t *word = (volatile uint64_t *)(pool + (size_t)i * job->stride_bytes);
      uint64_t value = (uint64_t)(pass + 1) << 32 | i;
      idle(job->gap_ns);
      *word = value;
      pm_publish((const void *)word, sizeof *word);
      pm_sync();
      idle(job->gap_ns);
      pm_acquire((const void *)word, sizeof *word);
      if (*word != value) job->wrong_lines++;
    }
  }
  munmap(pool, bytes);
  return job->wrong_lines ? -EBADMSG : 0;
}
