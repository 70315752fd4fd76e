/**
 * @file emu_bench.h
 * Thread functions of the emulator's benchmarks and their argument.
 */
#ifndef PRISMEM_EMU_BENCH_H
#define PRISMEM_EMU_BENCH_H

#include <stdint.h>

#include "prismem_emu.h"

struct bench_job {
  uint64_t base, lines; /**< area of the pool: byte offset, a multiple of 64, and lines */
  uint64_t count;       /**< accesses to do */
  uint64_t seed;
  uint64_t done; /**< out: accesses done */
};

/** `count` loads that hit; `arg` is a struct bench_job. */
int64_t bench_hits(void *arg);
/** `count` checked accesses that miss, half loads, half stores, one outstanding. */
int64_t bench_access(void *arg);

#endif
