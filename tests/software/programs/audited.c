/*
 * Two hosts add up what is theirs; the result is looked at by nobody but the audit. FORGET: it is never flushed. WRONG: the
 * sum leaves one out.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HOSTS = 2, VALUES = 3 };

typedef struct slot {
  _Alignas(64) uint64_t value[VALUES];
  uint64_t sum;
} slot;

int prismem_audit(const void *pool, size_t bytes, int dropped) {
  const slot *slots = pool;
  if (bytes < HOSTS * sizeof *slots) return 9;
  for (unsigned host = 0; host < HOSTS; ++host) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < VALUES; ++i) sum += slots[host].value[i];
    if (slots[host].sum != sum || sum == 0) return dropped ? 1 : 2;
  }
  return 0;
}

int main(void) {
  slot *slots = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0);
  if (slots == MAP_FAILED) return 2;
  slot *own = &slots[atoi(getenv("PRISMEM_HOST_ID"))];
  for (unsigned i = 0; i < VALUES; ++i) own->value[i] = i + 1;
  for (unsigned i = 0; i < VALUES; ++i) own->sum += own->value[i]; /* the result */
#ifdef WRONG
  own->sum -= own->value[0]; /* one too few */
#endif
#ifndef FORGET
  _mm_clflush(own);
  _mm_mfence();
#endif
  return 0;
}
