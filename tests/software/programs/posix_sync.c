/*
 * Synchronization of POSIX among the threads of a host, one kind for each CASE: two threads add to a word of the pool, one
 * after the other, or hand it over. With BROKEN the call that orders them is left out, so that an addition is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { RWLOCK = 1, SPIN, BARRIER, SEMAPHORE, CONDITION, TIMED_CONDITION, TIMED_MUTEX, RECURSIVE, ONCE, VALUES, EXIT };

#ifdef BROKEN
#define ORDER(CALL) 0
#else
#define ORDER(CALL) (CALL)
#endif

static uint64_t *word; /* in the pool, a line of this host's own */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int ready, initialized, destroyed;
static int values[] = {2, 1};

static void add(void) {
  word[0] = word[0] + 1;
}

static void initialize(void) {
  word[1] = word[1] + 1;
  ++initialized;
}

static void destroy(void *value) {
  destroyed += *(int *)value;
}

static struct timespec in_a_millisecond(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += 1000000;
  return time;
}

static void wait_until_ready(void) {
  pthread_mutex_lock(&mutex);
  while (ORDER(!ready)) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

/* What both threads do; first: the one that was created. */
static int work(int first) {
  switch (CASE) {
    case RWLOCK:
      ORDER(pthread_rwlock_wrlock(&rwlock));
      add();
      ORDER(pthread_rwlock_unlock(&rwlock));
      pthread_rwlock_rdlock(&rwlock);
      if (pthread_rwlock_trywrlock(&rwlock) != EBUSY) return 1;
      pthread_rwlock_unlock(&rwlock);
      return 0;
    case SPIN:
      ORDER(pthread_spin_lock(&spin));
      add();
      ORDER(pthread_spin_unlock(&spin));
      return 0;
    case BARRIER:
      if (first) add();
      ORDER(pthread_barrier_wait(&barrier));
      if (!first) add();
      ORDER(pthread_barrier_wait(&barrier));
      return word[0] == 2 ? 0 : 1;
    case SEMAPHORE:
      ORDER(sem_wait(&semaphore));
      add();
      ORDER(sem_post(&semaphore));
      return 0;
    case CONDITION:
      if (!first) {
        wait_until_ready();
        add();
        return 0;
      }
      add();
      pthread_mutex_lock(&mutex);
      ready = 1;
      ORDER(pthread_cond_signal(&condition));
      pthread_mutex_unlock(&mutex);
      return 0;
    case TIMED_CONDITION: {
      if (first) return add(), add(), 0;
      const struct timespec time = in_a_millisecond();
      pthread_mutex_lock(&mutex);
      const int result = ORDER(pthread_cond_timedwait(&condition, &mutex, &time));
      pthread_mutex_unlock(&mutex);
      return result == ETIMEDOUT ? 0 : 1;
    }
    case TIMED_MUTEX: {
      const struct timespec time = in_a_millisecond();
      pthread_mutex_lock(&mutex);
      if (pthread_mutex_trylock(&mutex) != EBUSY) return 1;
      pthread_mutex_unlock(&mutex);
      if (ORDER(pthread_mutex_timedlock(&mutex, &time)) != 0) return 2;
      add();
      pthread_mutex_unlock(&mutex);
      return 0;
    }
    case RECURSIVE:
      ORDER(pthread_mutex_lock(&recursive));
      if (pthread_mutex_lock(&recursive) != 0) return 1;
      pthread_mutex_unlock(&recursive);
      add();
      ORDER(pthread_mutex_unlock(&recursive));
      return 0;
    case ONCE:
#ifdef BROKEN
      if (!initialized) initialize();
#else
      pthread_once(&once, initialize);
#endif
      add();
      return word[1] == 1 ? 0 : 1;
    case VALUES:
      pthread_setspecific(key, &values[first]);
      add();
      return pthread_getspecific(key) == &values[first] ? 0 : 1;
    default: /* EXIT */
      add();
      return 0;
  }
}

static void *run(void *failed) {
  if (work(1) != 0) *(int *)failed = 1;
  if (CASE == EXIT) pthread_exit(ORDER(&ready));
  return failed;
}

int main(void) {
  uint64_t *pool = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0);
  if (pool == MAP_FAILED) return 90;
  word = pool + 8 * atoi(getenv("PRISMEM_HOST_ID"));
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 1);
  pthread_key_create(&key, ORDER(destroy));
  int failed = 0;
  void *result = NULL;
  pthread_t other;
  if (pthread_create(&other, NULL, run, &failed) != 0) return 91;
  if (work(0) != 0) return 92;
  if (pthread_join(other, &result) != 0 || failed) return 93;
  if (CASE == EXIT) return result == &ready ? 0 : 94;
  if (CASE == VALUES) return destroyed == 1 ? 0 : 95;
  return CASE == ONCE || word[0] == 2 ? 0 : 96;
}
