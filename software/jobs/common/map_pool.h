/*
 * For jobs that work on the bytes of the pool without the library.
 */
#ifndef PRISMEM_JOBS_MAP_POOL_H
#define PRISMEM_JOBS_MAP_POOL_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/** The first `bytes` of the pool; NULL with errno set. munmap() ends it. */
static inline void *map_pool(const char *path, size_t bytes) {
  int fd = open(path, O_RDWR);
  if (fd < 0) return NULL;
  void *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return pool == MAP_FAILED ? NULL : pool;
}

/** Below one second. */
static inline void idle(uint32_t ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

#endif
