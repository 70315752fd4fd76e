/*
 * Work for benchmarks of the emulator, compiled with the hooks. `bench_hits` loads lines that stay in the cache;
 * `bench_access` does checked 64-byte accesses that all miss, one outstanding: half of them load a line, verify it and
 * drop it, half store a line and flush it, also where another host works on the same lines. Both are thread functions,
 * so the same program runs on any port.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <string.h>
#include <sys/mman.h>

#include "emu_bench.h"

enum { LINE_WORDS = 8 };

static uint64_t *map_pool(uint64_t base, uint64_t lines) {
  int fd = open(EMU_POOL_PATH, O_RDWR);
  uint64_t bytes = (base + lines * 64 + 4095) & ~4095ull;
  void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || p == MAP_FAILED) emu_fail(0, "cannot map the pool");
  return (uint64_t *)((char *)p + base);
}

static uint64_t next(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/* A line is a tag word t and seven words that follow from it: a torn or foreign line cannot pass. */
static uint64_t word_of(uint64_t tag, unsigned i) {
  return tag * (2 * i + 1) ^ (tag >> 7);
}

int64_t bench_hits(void *arg) {
  struct bench_job *job = arg;
  volatile uint64_t sink;
  const uint64_t *area = map_pool(job->base, job->lines);
  uint64_t sum = 0;
  uint64_t words = job->lines * LINE_WORDS;
  for (uint64_t done = 0; done < job->count; done += words) {
    for (uint64_t i = 0; i < words; ++i) sum += area[i];
  }
  sink = sum;
  (void)sink;
  job->done = job->count;
  return 0;
}

int64_t bench_access(void *arg) {
  struct bench_job *job = arg;
  uint64_t *area = map_pool(job->base, job->lines);
  uint64_t state = job->seed;
  uint64_t words[LINE_WORDS];
  for (uint64_t i = 0; i < job->count; ++i) {
    uint64_t r = next(&state);
    uint64_t *line = area + (r >> 8) % job->lines * LINE_WORDS;
    if (r & 1) {
      memcpy(words, line, sizeof words);
      for (unsigned w = 1; w < LINE_WORDS; ++w) {
        if (words[w] != word_of(words[0], w)) emu_fail(line, "word %u of the line does not belong to word 0", w);
      }
    } else {
      for (unsigned w = 0; w < LINE_WORDS; ++w) words[w] = w == 0 ? r : word_of(r, w);
      memcpy(line, words, sizeof words);
    }
    _mm_clflushopt(line);
    _mm_mfence();
    ++job->done;
  }
  return 0;
}
