/**
 * @file type3_share.c
 * Job type3_share: the heads of a shared device write one block in turn, and all others read it.
 *
 * In each round the next head overwrites the whole block and publishes it, then its flag; every other head waits for the flag,
 * acquires the block, compares each byte with what follows from seed, round and place, and acknowledges. The next writer waits
 * for all of them. So the same lines change hands all the time, and a copy that a head kept from the round before is wrong.
 */
#include "type3_share.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "common/map_pool.h"
#include "prismem/verbs.h"

enum { WORDS = PM_LINE / sizeof(uint64_t) };

/** One line with one writer: its head. */
typedef struct mark {
  _Alignas(PM_LINE) _Atomic uint64_t round;
} mark;
_Static_assert(sizeof(mark) == PM_LINE, "a mark is a line");

typedef struct view {
  mark *written; /**< by head: the last round whose block it has published */
  mark *read;    /**< by head: the last round whose block it has read */
  uint64_t *block;
} view;

uint64_t type3_share_bytes(uint32_t heads, uint32_t lines) {
  return (2 * (uint64_t)heads + lines) * PM_LINE;
}

static uint64_t word_of(uint64_t seed, uint64_t round, uint64_t index) {
  uint64_t x = (seed * 0x9E3779B97F4A7C15u + round) * 0xBF58476D1CE4E5B9u + index;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static void set(mark *own, uint64_t round) {
  atomic_store_explicit(&own->round, round, memory_order_release);
  pm_publish(own, sizeof *own);
}

static void wait_for(mark *other, uint64_t round) {
  for (;;) {
    pm_acquire(other, sizeof *other);
    if (atomic_load_explicit(&other->round, memory_order_acquire) >= round) return;
    pm_relax();
  }
}

static void write_block(const type3_share_job *job, const view *pool, uint64_t round) {
  for (uint32_t other = 0; other < job->heads; other++) wait_for(&pool->read[other], round - 1);
  for (uint64_t i = 0; i < (uint64_t)job->lines * WORDS; i++) pool->block[i] = word_of(job->seed, round, i);
  if (!job->forget) pm_publish(pool->block, (size_t)job->lines * PM_LINE);
  set(&pool->written[job->head], round);
}

static void read_block(type3_share_job *job, const view *pool, uint64_t round, uint32_t writer) {
  wait_for(&pool->written[writer], round);
  pm_acquire(pool->block, (size_t)job->lines * PM_LINE);
  for (uint64_t i = 0; i < (uint64_t)job->lines * WORDS; i++) {
    if (pool->block[i] == word_of(job->seed, round, i))
      job->verified_bytes += sizeof(uint64_t);
    else
      job->wrong_bytes += sizeof(uint64_t);
  }
}

int64_t type3_share(void *arg) {
  type3_share_job *job = arg;
  size_t bytes = (size_t)type3_share_bytes(job->heads, job->lines);
  void *base = map_pool(job->pool_path, bytes);
  if (base == NULL) return -errno;
  mark *marks = base;
  view pool = {marks, marks + job->heads, (uint64_t *)(marks + 2 * (size_t)job->heads)};
  for (uint64_t round = 1; round <= job->rounds; round++) {
    uint32_t writer = (uint32_t)((round - 1) % job->heads);
    if (writer == job->head)
      write_block(job, &pool, round);
    else
      read_block(job, &pool, round, writer);
    set(&pool.read[job->head], round);
  }
  munmap(base, bytes);
  return job->wrong_bytes ? -EBADMSG : 0;
}
