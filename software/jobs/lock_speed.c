/**
 * @file lock_speed.c
 * The programs of the job's nodes.
 *
 * Whoever gets the lock counts, in memory that all programs share outside of the pool, that every node that stood in the queue
 * by then was passed once. A node stands in the queue from the moment in which the others can see its request (`queued` of
 * pm_lock_info), so a bound on the count is one on the lock alone, however the threads are scheduled.
 */
#define _POSIX_C_SOURCE 200809L
#include "lock_speed.h"

#include <errno.h>
#include <time.h>

#define LOCK 5u

/** Polls before a pool that nobody formats counts as an error. */
enum { POLLS_MAX = 1000000 };

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int open_node(lock_speed_job *job, uint32_t node) {
  const pm_open_options options = {.node = node};
  if (node == 0) {
    int rc = pm_format(job->pool_path, &job->format);
    if (rc < 0) return rc;
  }
  for (int i = 0; i < POLLS_MAX; i++) {
    int rc = pm_open(job->pool_path, &options, &job->pools[node]);
    if (rc != -EAGAIN && rc != -ENOENT) return rc;
    pm_relax();
  }
  return -ETIMEDOUT;
}

static void wait_for(const uint32_t *counter, uint32_t value) {
  while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < value) pm_relax();
}

/* Inside the lock: everybody else who stands in the queue was passed by this node. */
static void note_passed(lock_speed_job *job, uint32_t node) {
  lock_speed_result *own = &job->results[node];
  job->served[node] += 1;
  job->passed[node] = 0;
  for (uint32_t other = 0; other < job->nodes; other++) {
    job->passed_by[node][other] = 0;
    if (other == node) continue;
    pm_lock_info info;
    if (pm_lock_stat(job->pools[other], LOCK, &info) < 0 || info.queued <= job->served[other]) continue;
    lock_speed_result *result = &job->results[other];
    if (++job->passed[other] > result->passed_max) result->passed_max = job->passed[other];
    if (++job->passed_by[other][node] > result->passed_by_one_max)
      result->passed_by_one_max = job->passed_by[other][node];
  }
  own->acquisitions += 1;
}

/* Inside the lock: nobody else is, and the line that it protects counts on. */
static void use(lock_speed_job *job, pm_pool *pool, uint32_t node, int fresh) {
  uint64_t *line = pm_ptr(pool, job->offset);
  if (__atomic_fetch_add(&job->inside, 1, __ATOMIC_RELAXED) != 0) job->overlaps += 1;
  note_passed(job, node);
  if (fresh) pm_acquire(line, sizeof *line);
  *line += 1;
  pm_publish(line, sizeof *line);
  __atomic_fetch_sub(&job->inside, 1, __ATOMIC_RELAXED);
}

static int round_of(lock_speed_job *job, pm_pool *pool, uint32_t node) {
  lock_speed_result *result = &job->results[node];
  int fresh;
  const uint64_t start = now_ns();
  int rc = pm_lock_acquire(pool, LOCK, &fresh);
  if (rc < 0) return rc;
  const uint64_t got = now_ns();
  if (job->check)
    use(job, pool, node, fresh);
  else
    result->acquisitions += 1;
  const uint64_t leaves = now_ns();
  rc = pm_lock_release(pool, LOCK);
  result->acquire_ns += got - start;
  if (got - start > result->acquire_ns_max) result->acquire_ns_max = got - start;
  result->release_ns += now_ns() - leaves;
  return rc;
}

int64_t lock_speed_run(void *arg) {
  lock_speed_job *job = ((lock_speed_node *)arg)->job;
  const uint32_t node = ((lock_speed_node *)arg)->node;
  int rc = open_node(job, node);
  if (rc < 0) return rc;
  pm_pool *pool = job->pools[node];
  if (node == 0) {
    uint64_t offset;
    __atomic_store_n(&job->opened, 1, __ATOMIC_RELEASE);
    rc = pm_alloc(pool, PM_LINE, &offset);
    if (rc < 0) return rc;
    uint64_t *line = pm_ptr(pool, offset);
    pm_acquire(line, PM_LINE);
    *line = 0;
    pm_publish(line, sizeof *line);
    job->offset = offset;
  }
  __atomic_fetch_add(&job->ready, 1, __ATOMIC_ACQ_REL);
  wait_for(&job->ready, job->nodes);
  pm_stats before, after;
  pm_get_stats(pool, &before);
  if (node == 0) job->start_ns = now_ns();
  for (uint32_t i = 0; node < job->active && i < job->rounds; i++) {
    rc = round_of(job, pool, node);
    if (rc < 0) return rc;
    if (job->think_ns != 0) nanosleep(&(struct timespec){.tv_nsec = (long)job->think_ns}, NULL);
  }
  pm_get_stats(pool, &after);
  job->results[node].lines_out = after.lines_published - before.lines_published;
  job->results[node].lines_in = after.lines_acquired - before.lines_acquired;
  pm_lock_stat(pool, LOCK, &job->results[node].info);
  if (__atomic_add_fetch(&job->done, 1, __ATOMIC_ACQ_REL) == job->nodes) {
    job->end_ns = now_ns();
    const uint64_t *line = pm_ptr(pool, job->offset);
    pm_acquire(line, sizeof *line);
    job->count = *line;
    __atomic_store_n(&job->stop_manager, 1, __ATOMIC_RELEASE);
  }
  wait_for(&job->done, job->nodes); /* others look at this handle */
  if (node == 0) wait_for(&job->managed, 1);
  return pm_close(pool);
}

int64_t lock_speed_manager(void *arg) {
  lock_speed_job *job = ((lock_speed_node *)arg)->job;
  const uint32_t node = ((lock_speed_node *)arg)->node;
  wait_for(&job->opened, 1);
  const int rc = pm_manager_run(job->pools[node], &job->stop_manager);
  __atomic_store_n(&job->managed, 1, __ATOMIC_RELEASE);
  return rc;
}
