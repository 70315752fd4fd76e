/*
 * Copies of every kind through the hooks, each checked against plain memory, and what a program may do with the pool file.
 */
#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prismem_emu.h"

enum { POOL_BYTES = 2 << 20 };

static char *open_pool(void) {
  int fd = open(EMU_POOL_PATH "/region", O_RDWR);
  char *base = mmap(0, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || base == MAP_FAILED) emu_fail(0, "cannot map the pool");
  return base;
}

static void pattern(char *p, size_t n, unsigned salt) {
  for (size_t i = 0; i < n; ++i) p[i] = (char)(i * 7 + salt);
}

static int64_t same(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return (int64_t)i + 1;
  }
  return 0;
}

struct record {
  uint64_t words[13];
  char tail[5];
};
struct pair {
  uint32_t a, b;
};

int64_t copies(void *arg) {
  char *pool = open_pool() + 4096;
  char plain[512], expected[512];
  (void)arg;
  for (size_t n = 1; n <= 300; n += n < 20 ? 1 : 37) {
    for (size_t shift = 0; shift < 70; shift += 23) {
      pattern(plain, n, (unsigned)(n + shift));
      memcpy(pool + shift, plain, n);
      if (memcmp(pool + shift, plain, n) != 0) return 1;
      memcpy(pool + 1024 + shift, pool + shift, n);
      if (same(pool + 1024 + shift, plain, n) != 0) return 2;
      memcpy(expected, plain, n);
      memmove(pool + shift + 5, pool + shift, n);
      if (same(pool + shift + 5, expected, n) != 0) return 3;
      memmove(pool + shift, pool + shift + 5, n);
      if (same(pool + shift, expected, n) != 0) return 4;
      memset(pool + shift, 0x5a, n);
      memset(expected, 0x5a, n);
      if (same(pool + shift, expected, n) != 0) return 5;
    }
  }
  return 0;
}

int64_t structures(void *arg) {
  struct record *pool = (struct record *)(open_pool() + 8192), local;
  struct pair *pairs = (struct pair *)(open_pool() + 16384);
  (void)arg;
  pattern((char *)&local, sizeof local, 3);
  pool[0] = local;
  for (int i = 1; i < 20; ++i) pool[i] = pool[i - 1];
  if (same((char *)&pool[19], (char *)&local, sizeof local) != 0) return 1;
  pool[3] = (struct record){{0}, {0}};
  for (unsigned i = 0; i < 13; ++i) {
    if (pool[3].words[i] != 0) return 2;
  }
  pairs[0] = (struct pair){1, 2};
  for (int i = 1; i < 40; ++i) {
    pairs[i] = pairs[i - 1];
    pairs[i].a += 1;
  }
  return pairs[39].a == 40 && pairs[39].b == 2 ? 0 : 3;
}

int64_t strings(void *arg) {
  char *pool = open_pool() + 32768 + 50;
  char plain[64];
  (void)arg;
  strcpy(pool, "passive fibre full mesh");
  if (strlen(pool) != 23 || strcmp(pool, "passive fibre full mesh") != 0) return 1;
  if (strncmp(pool, "passive copper", 8) != 0 || strcmp(pool, "passive copper") <= 0) return 2;
  strncpy(pool + 100, pool, 40);
  if (pool[139] != 0 || strnlen(pool + 100, 40) != 23) return 3;
  if (memchr(pool, 'f', 23) != pool + 8) return 4;
  strcpy(plain, pool);
  return strcmp(plain, "passive fibre full mesh") == 0 ? 0 : 5;
}

int64_t atomics(void *arg) {
  uint64_t *p = (uint64_t *)(open_pool() + 65536);
  uint32_t *q = (uint32_t *)(p + 8);
  uint64_t expected = 5;
  (void)arg;
  __atomic_store_n(p, 5, __ATOMIC_SEQ_CST);
  if (__atomic_fetch_add(p, 2, __ATOMIC_RELAXED) != 5 || *p != 7) return 1;
  if (__atomic_compare_exchange_n(p, &expected, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) || expected != 7) return 2;
  if (!__atomic_compare_exchange_n(p, &expected, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) || *p != 9) return 3;
  if (__atomic_exchange_n(q, 3u, __ATOMIC_ACQ_REL) != 0 || __atomic_fetch_or(q, 4u, __ATOMIC_RELEASE) != 3) return 4;
  if (__atomic_fetch_and(q, 6u, __ATOMIC_ACQUIRE) != 7 || __atomic_fetch_xor(q, 1u, __ATOMIC_RELAXED) != 6) return 5;
  __atomic_fetch_nand(q, 3u, __ATOMIC_RELAXED);
  return __atomic_load_n(q, __ATOMIC_ACQUIRE) == ~3u ? 0 : 6;
}

int64_t streams(void *arg) {
  char *pool = open_pool() + 131072;
  uint64_t line[8];
  (void)arg;
  for (unsigned i = 0; i < 8; ++i) line[i] = i + 1;
  _movdir64b(pool, line);
  if (((uint64_t *)pool)[7] != 8) return 1; /* an own load waits for the own streaming store */
  for (unsigned i = 0; i < 20; ++i) _mm_stream_si64((long long *)(pool + 64 * i), 100 + i);
  _mm_stream_si128((__m128i *)(pool + 16), _mm_set1_epi64x(77));
  _mm_stream_si32((int *)(pool + 40), 55);
  _mm_sfence();
  for (unsigned i = 0; i < 20; ++i) {
    if (*(uint64_t *)(pool + 64 * i) != 100 + i) return 2;
  }
  return ((uint64_t *)pool)[2] == 77 && ((uint64_t *)pool)[7] == 8 && *(int *)(pool + 40) == 55 ? 0 : 3;
}

int64_t pool_file(void *arg) {
  struct stat st;
  int fd = open(EMU_POOL_PATH, O_RDWR | O_CREAT, 0600);
  (void)arg;
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size != POOL_BYTES) return 1;
  if (ftruncate(fd, POOL_BYTES) != 0 || ftruncate(fd, POOL_BYTES + 4096) == 0 || errno != EFBIG) return 2;
  if (mmap(0, POOL_BYTES, PROT_READ, MAP_SHARED, fd, 4096) != MAP_FAILED || errno != EINVAL) return 3;
  char *whole = mmap(0, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char *half = mmap(0, POOL_BYTES / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, POOL_BYTES / 2);
  if (half - whole != POOL_BYTES / 2) return 4;
  if (munmap(half, POOL_BYTES / 2) != 0 || close(fd) != 0) return 5;
  if (open("/prismem/poolside", O_RDONLY) >= 0) return 6;
  return getpid() == 1000 + (int)emu_self_host() ? 0 : 7;
}

int64_t simulated_time(void *arg) {
  struct timespec a, b, nap = {0, 5000000};
  (void)arg;
  clock_gettime(CLOCK_MONOTONIC, &a);
  nanosleep(&nap, 0);
  clock_gettime(CLOCK_MONOTONIC, &b);
  int64_t ns = (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec;
  return ns >= 5000000 && ns < 5100000 ? 0 : 1;
}

/* Threads of one host: a counter under a mutex, handed to a waiter by a condition variable. */
static pthread_mutex_t mutex;
static pthread_cond_t changed;
static uint64_t *counter;

static void *count_up(void *arg) {
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&mutex);
    *counter += 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

int64_t posix_threads(void *arg) {
  pthread_t threads[3];
  void *result;
  (void)arg;
  counter = (uint64_t *)(open_pool() + 262144);
  pthread_mutex_init(&mutex, 0);
  pthread_cond_init(&changed, 0);
  for (uintptr_t i = 0; i < 3; ++i) {
    if (pthread_create(&threads[i], 0, count_up, (void *)i) != 0) return 1;
  }
  pthread_mutex_lock(&mutex);
  while (*counter != 150) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  for (uintptr_t i = 0; i < 3; ++i) {
    if (pthread_join(threads[i], &result) != 0 || result != (void *)i) return 2;
  }
  return *counter == 150 ? 0 : 3;
}

/* Two mutexes in opposite order: each thread waits for the other's. */
static pthread_mutex_t first, second;

int64_t lock_reset(void *arg) {
  (void)arg;
  pthread_mutex_init(&first, 0);
  pthread_mutex_init(&second, 0);
  return 0;
}

int64_t lock_opposite(void *arg) {
  pthread_mutex_t *a = arg != 0 ? &first : &second, *b = arg != 0 ? &second : &first;
  pthread_mutex_lock(a);
  emu_sleep_ns(1000);
  pthread_mutex_lock(b);
  return 0;
}

/* A pointer instead of an offset in shared memory. */
int64_t leak_pointer(void *arg) {
  char **slot = (char **)(open_pool() + 524288);
  if (arg == 0) {
    *slot = (char *)slot + 64;
    _mm_clflush(slot);
    _mm_mfence();
    return 0;
  }
  do {
    _mm_pause();
    _mm_clflush(slot);
    _mm_mfence();
  } while (*(char *volatile *)slot == 0);
  return **slot;
}

int64_t past_the_end(void *arg) {
  char *pool = open_pool();
  (void)arg;
  memset(pool + POOL_BYTES - 32, 0, 64);
  return 0;
}

int64_t returns_five(void *arg) {
  (void)arg;
  return 5;
}

int64_t sleeps(void *arg) {
  emu_sleep_ns((uint64_t)arg);
  return 0;
}

/* For external threads: plain functions with up to eight arguments. */
int64_t poke(int64_t offset, int64_t value) {
  uint64_t *p = (uint64_t *)(open_pool() + offset);
  *(volatile uint64_t *)p = (uint64_t)value;
  _mm_clflush(p);
  _mm_mfence();
  return 0;
}

int64_t await_value(int64_t offset, int64_t value) {
  uint64_t *p = (uint64_t *)(open_pool() + offset);
  for (int64_t polls = 0;; ++polls) {
    _mm_clflush(p);
    _mm_mfence();
    if (*(volatile uint64_t *)p == (uint64_t)value) return polls;
    _mm_pause();
  }
}
