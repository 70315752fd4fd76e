/*
 * The DMA engine next to a cache that it does not see. Host 0 produces, host 1 consumes; the payload is four lines.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "prismem_emu.h"

enum { POOL_BYTES = 2 << 20, OFFSET = 0x4000, WORDS = 32, BYTES = WORDS * 8 };

struct area {
  volatile uint64_t valid;
  uint64_t pad[7];
  uint64_t payload[WORDS];
};

static struct area *open_pool(void) {
  int fd = open(EMU_POOL_PATH, O_RDWR);
  char *base = mmap(0, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || base == MAP_FAILED) emu_fail(0, "cannot map the pool");
  return (struct area *)(base + OFFSET);
}

static uint64_t buffers[2][WORDS];

static void fill(uint64_t *words) {
  for (unsigned i = 0; i < WORDS; ++i) words[i] = 1000 + i;
}

static void check(struct area *a, const uint64_t *words) {
  for (unsigned i = 0; i < WORDS; ++i) {
    if (words[i] != 1000 + i) emu_fail(&a->payload[i], "word %u is %llu", i, (unsigned long long)words[i]);
  }
}

static void transfer(int dir, struct area *a, uint64_t *words) {
  int64_t ticket = emu_dma_submit(dir, a->payload, words, BYTES);
  if (ticket <= 0) emu_fail(0, "submit: %s", emu_error());
  while (emu_dma_poll(ticket) == 0) _mm_pause();
}

static void publish_valid(struct area *a) {
  a->valid = 1;
  _mm_clflush((void *)&a->valid);
  _mm_mfence();
}

static void await_valid(struct area *a) {
  do {
    _mm_pause();
    _mm_clflush((void *)&a->valid);
    _mm_mfence();
  } while (a->valid != 1);
}

int64_t dma_produce(void *arg) {
  struct area *a = open_pool();
  (void)arg;
  fill(buffers[0]);
  transfer(0, a, buffers[0]);
  publish_valid(a);
  return 0;
}

/* valid before the transfer is complete */
int64_t dma_produce_early(void *arg) {
  struct area *a = open_pool();
  (void)arg;
  fill(buffers[0]);
  int64_t ticket = emu_dma_submit(0, a->payload, buffers[0], BYTES);
  publish_valid(a);
  while (emu_dma_poll(ticket) == 0) _mm_pause();
  return 0;
}

/* zeroes the target first; `arg` non-zero: and flushes the zeros */
int64_t dma_produce_zeroed(void *arg) {
  struct area *a = open_pool();
  memset(a->payload, 0, BYTES);
  if (arg != 0) {
    for (unsigned i = 0; i < WORDS; i += 8) _mm_clflushopt(&a->payload[i]);
    _mm_mfence();
  }
  return dma_produce(0);
}

int64_t dma_consume(void *arg) {
  struct area *a = open_pool();
  (void)arg;
  memset(buffers[1], 0, BYTES);
  await_valid(a);
  transfer(1, a, buffers[1]);
  check(a, buffers[1]);
  return 0;
}

/* DMA-rd-flush, DMA-rd-noflush: the own engine reads what the processor has just written */
int64_t dma_read_own(void *arg) {
  struct area *a = open_pool();
  fill(a->payload);
  if (arg != 0) {
    for (unsigned i = 0; i < WORDS; i += 8) _mm_clflushopt(&a->payload[i]);
    _mm_mfence();
  }
  transfer(1, a, buffers[0]);
  check(a, buffers[0]);
  return 0;
}

/* loads after a transfer into memory that the host has in its cache; `arg` non-zero: invalidated after completion */
int64_t dma_then_load(void *arg) {
  struct area *a = open_pool();
  uint64_t sum = 0;
  for (unsigned i = 0; i < WORDS; ++i) sum += a->payload[i];
  fill(buffers[0]);
  transfer(0, a, buffers[0]);
  if (arg != 0) {
    for (unsigned i = 0; i < WORDS; i += 8) _mm_clflushopt(&a->payload[i]);
    _mm_mfence();
  }
  for (unsigned i = 0; i < WORDS; ++i) sum += a->payload[i];
  return sum == 0 ? -1 : 0;
}

int64_t dma_misuse(void *arg) {
  struct area *a = open_pool();
  uint64_t words[16] = {0};
  (void)arg;
  if (emu_dma_submit(2, a, words, 64) != -22) return 1;
  if (emu_dma_submit(0, (char *)a + 8, words, 64) != -22) return 2;
  if (emu_dma_submit(0, a, words, 65) != -22) return 3;
  if (emu_dma_submit(0, words, words, 64) != -22) return 4;
  if (emu_dma_submit(0, a, a, 64) != -22) return 5;
  if (emu_dma_poll(77) != -22) return 6;
  return 0;
}
