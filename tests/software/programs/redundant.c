/*
 * A message that is published and consumed with two flushes that look useless: one is, the other is not. With WRONG the
 * second is gone.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct box {
  _Alignas(64) uint64_t message;
  _Alignas(64) _Atomic uint64_t full;
  _Alignas(64) uint64_t unused;
} box;

static int produce(box *box) {
  box->message = 42;
  _mm_clflush(&box->message);
  atomic_store_explicit(&box->full, 1, memory_order_release);
  _mm_clflush(&box->full);
  _mm_clflush(&box->unused); /* useless: nobody uses this line */
  return 0;
}

static int consume(box *box) {
  for (;;) {
    _mm_clflush(&box->full);
    if (atomic_load_explicit(&box->full, memory_order_acquire) != 0) break;
    _mm_pause();
  }
#ifndef WRONG
  _mm_clflush(&box->message); /* looks useless: this host has not read the line yet */
#endif
  _mm_mfence();
  return box->message == 42 ? 0 : 1;
}

int main(void) {
  box *box = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0);
  if (box == MAP_FAILED) return 2;
  return atoi(getenv("PRISMEM_HOST_ID")) == 0 ? produce(box) : consume(box);
}
