/*
 * Rows CRASH-* of the memory model's catalogue: a producer that may die before any of its events, and a recovery that then
 * looks at what the device has. x and f lie on different lines.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "prismem_emu.h"

struct words {
  volatile uint64_t f;
  uint64_t pad0[7];
  volatile uint64_t x;
  uint64_t pad1[7];
  uint64_t payload[64];
};

enum { POOL_BYTES = 2 << 20, OFFSET = 0x1000 };

static struct words *open_pool(void) {
  int fd = open(EMU_POOL_PATH, O_RDWR);
  char *base = mmap(0, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || base == MAP_FAILED) emu_fail(0, "cannot map the pool");
  return (struct words *)(base + OFFSET);
}

static int64_t publish(struct words *w) {
  w->x = 1;
  _mm_clflush((void *)&w->x);
  w->f = 1;
  _mm_clflush((void *)&w->f);
  _mm_mfence();
  return 0;
}

/* CRASH-fl-fl */
int64_t crash_fl_fl(void *arg) {
  (void)arg;
  return publish(open_pool());
}

/* CRASH-late-flush */
int64_t crash_late_flush(void *arg) {
  struct words *w = open_pool();
  (void)arg;
  w->x = 1;
  w->f = 1;
  _mm_clflush((void *)&w->x);
  _mm_clflush((void *)&w->f);
  _mm_mfence();
  return 0;
}

/* A payload by DMA, then the flag: 8 lines are 8 events. */
int64_t crash_dma(void *arg) {
  static uint64_t words[64];
  struct words *w = open_pool();
  (void)arg;
  for (unsigned i = 0; i < 64; ++i) words[i] = 1000 + i;
  int64_t ticket = emu_dma_submit(0, w->payload, words, sizeof words);
  while (emu_dma_poll(ticket) == 0) _mm_pause();
  return publish(w);
}

static void acquire(const volatile void *p) {
  _mm_clflush((void *)(uintptr_t)p);
  _mm_mfence();
}

/* f and x as the device has them. */
static int64_t look(struct words *w) {
  acquire(&w->f);
  const uint64_t f = w->f;
  acquire(&w->x);
  const uint64_t x = w->x;
  if (f == 1 && x != 1) emu_fail((void *)(uintptr_t)&w->x, "the flag is out without x");
  return 0;
}

/* Recovery on the host that died: its cache starts empty. */
int64_t recover_here(void *arg) {
  (void)arg;
  return look(open_pool());
}

/* Recovery on another host, which finds out by itself. */
int64_t recover_elsewhere(void *arg) {
  struct words *w = open_pool();
  while (emu_crashed(0) == 0) _mm_pause();
  (void)arg;
  return look(w);
}
