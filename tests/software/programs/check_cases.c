/*
 * Programs of the tests of `prismem check`, one for each CASE: what a user's program may do beside sharing memory.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CRASH = 1, ENDLESS, NEVER_ENDS, SYSTEM_CALL, OWN_STATE, THREADS, SHM, BY_PATH, EXITS, ASM, FORKS, ASSERTS };

static uint64_t *map(int fd) {
  void *pool = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return pool == MAP_FAILED ? NULL : pool;
}

static int counter;
static char *kept[4];

/* Globals and heap are those of a fresh process in every execution and on every host. */
static int own_state(void) {
  if (++counter != 1) return 1;
  for (unsigned i = 0; i < 4; ++i) {
    if (kept[i] != NULL) return 2;
    kept[i] = malloc(100u << i);
    kept[i] = realloc(kept[i], 200u << i);
    memset(kept[i], 1, 200u << i);
  }
  free(kept[0]);
  char *zeroes = calloc(30, 1);
  for (unsigned i = 0; i < 30; ++i)
    if (zeroes[i] != 0) return 3;
  return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *add(void *value) {
  pthread_mutex_lock(&mutex);
  sum += *(int *)value;
  pthread_mutex_unlock(&mutex);
  return value;
}

static int threads(void) {
  static int values[3] = {1, 2, 4};
  pthread_t others[3];
  for (unsigned i = 0; i < 3; ++i) pthread_create(&others[i], NULL, add, &values[i]);
  for (unsigned i = 0; i < 3; ++i) pthread_join(others[i], NULL);
  return sum == 7 ? 0 : 1;
}

__attribute__((noinline)) static int read_from(const volatile int *nowhere) {
  return *nowhere;
}

int main(int argc, char **argv) {
  uint64_t *pool = map(CASE == SHM       ? shm_open("/anything", O_RDWR | O_CREAT, 0600)
                       : CASE == BY_PATH ? open("/mnt/shared/pool", O_RDWR)
                                         : open("/dev/dax1.0", O_RDWR));
  if (pool == NULL) return 9;
  if (CASE == CRASH) return read_from(NULL);
  if (CASE == ENDLESS)
    for (volatile unsigned spins = 0;; ++spins) {
    }
  if (CASE == NEVER_ENDS)
    for (;;) pool[8 * atoi(getenv("PRISMEM_HOST_ID"))] += 1;
  if (CASE == SYSTEM_CALL) return write(1, pool, 8) == 8 ? 0 : 1;
  if (CASE == OWN_STATE) return own_state();
  if (CASE == THREADS) return threads();
  if (CASE == EXITS) exit(argc == 3 && strcmp(argv[2], "two words") == 0 ? 0 : 7);
#if CASE == 10
  __asm__ volatile("clflush (%0)" ::"r"(pool) : "memory");
#endif
#if CASE == 11
  return fork() < 0;
#endif
  if (CASE == ASSERTS && atoi(getenv("PRISMEM_HOST_ID")) == 1) {
    printf("host %s of %s gives up\n", getenv("PRISMEM_HOST_ID"), getenv("PRISMEM_HOSTS"));
    return 5;
  }
  return 0;
}
