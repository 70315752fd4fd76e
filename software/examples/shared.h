/*
 * What the examples share: mapping the memory and the instructions for it. Ordinary C for Linux; nothing here is prismem's.
 * Every host runs the same program and learns from its environment which one it is.
 */
#ifndef EXAMPLES_SHARED_H
#define EXAMPLES_SHARED_H

#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __cplusplus
#include <atomic>
#else
#include <stdatomic.h>
#endif

enum { LINE_BYTES = 64, POOL_BYTES = 2 << 20 };

static inline void *map_pool(void) {
  int fd = open("/dev/dax0.0", O_RDWR);
  if (fd < 0) return NULL;
  void *pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return pool == MAP_FAILED ? NULL : pool;
}

static inline unsigned number_from(const char *variable, unsigned otherwise) {
  const char *text = getenv(variable);
  return text == NULL ? otherwise : (unsigned)strtoul(text, NULL, 10);
}
static inline unsigned host_id(void) {
  return number_from("PRISMEM_HOST_ID", 0);
}
static inline unsigned host_count(void) {
  return number_from("PRISMEM_HOSTS", 1);
}

/* Write the lines back to the memory and drop them from this host's cache; done when this returns. */
static inline void flush(const volatile void *data, size_t bytes) {
  const char *first = (const char *)((uintptr_t)data & ~(uintptr_t)(LINE_BYTES - 1));
  for (const char *line = first; line < (const char *)data + bytes; line += LINE_BYTES) _mm_clflush(line);
  _mm_mfence();
}

#endif
