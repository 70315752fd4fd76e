/**
 * @file op_history.c
 * The programs of the job's nodes.
 */
#include "op_history.h"

#include <errno.h>
#include <string.h>

enum {
  POLLS_MAX = 1000000, /**< before a pool that nobody formats counts as an error */
  HELD_MAX = 4         /**< blocks of the allocator that a node keeps */
};

typedef struct worker {
  op_history_job *job;
  pm_pool *pool;
  uint32_t node;
  uint64_t random, request;
  uint64_t held[HELD_MAX];
  uint32_t held_count;
} worker;

static uint64_t below(worker *w, uint64_t bound) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  w->random ^= w->random << 17;
  return (w->random >> 11) % bound;
}

static pm_operation *invoke(worker *w, enum pm_call call, uint64_t key, int64_t argument) {
  return pm_history_invoke(&w->job->history, w->node, call, key, argument);
}

/** The answer, kept and passed on. */
static int respond(worker *w, pm_operation *operation, int result) {
  pm_history_respond(&w->job->history, operation, result);
  return result;
}

static int open_pool(const op_history_job *job, uint32_t node, pm_pool **pool) {
  const pm_open_options options = {.node = node};
  for (int i = 0; i < POLLS_MAX; i++) {
    const int rc = pm_open(job->pool_path, &options, pool);
    if (rc != -EAGAIN && rc != -ENOENT) return rc;
    pm_relax();
  }
  return -ETIMEDOUT;
}

/** With a lock or a pin: others run. */
static void stay(worker *w) {
  for (uint64_t left = below(w, 6); left != 0; left--) pm_relax();
}

static int use_lock(worker *w) {
  const uint32_t lock = w->job->lock[below(w, w->job->locks)];
  const uint64_t key = PM_KEY(PM_KEY_LOCK, lock);
  pm_operation *operation = invoke(w, PM_CALL_ACQUIRE, key, 0);
  int rc = respond(w, operation, pm_lock_acquire(w->pool, lock, NULL));
  if (rc < 0) return rc;
  stay(w);
  operation = invoke(w, PM_CALL_RELEASE_LOCK, key, 0);
  return respond(w, operation, pm_lock_release(w->pool, lock));
}

static int use_allocator(worker *w) {
  if (w->held_count == HELD_MAX || (w->held_count != 0 && below(w, 2) != 0)) {
    const uint32_t index = (uint32_t)below(w, w->held_count);
    const uint64_t offset = w->held[index];
    w->held[index] = w->held[--w->held_count];
    pm_operation *operation = invoke(w, PM_CALL_FREE, PM_KEY(PM_KEY_BLOCK, offset), 0);
    return respond(w, operation, pm_free(w->pool, offset));
  }
  const int64_t bytes = (int64_t)(PM_LINE << below(w, 4));
  uint64_t offset = 0;
  pm_operation *operation = invoke(w, PM_CALL_ALLOC, 0, bytes);
  const int rc = pm_alloc(w->pool, (uint64_t)bytes, &offset);
  if (operation != NULL) operation->key = PM_KEY(PM_KEY_BLOCK, offset);
  respond(w, operation, rc);
  if (rc == 0) w->held[w->held_count++] = offset;
  return rc;
}

static int drop_pin(worker *w, uint64_t key, const pm_ref *ref) {
  stay(w);
  pm_operation *operation = invoke(w, PM_CALL_RELEASE, key, 0);
  return respond(w, operation, pm_index_release(w->pool, w->request, ref, 1));
}

static int insert(worker *w, uint64_t key, pm_digest digest) {
  pm_ref ref = {0};
  pm_operation *operation = invoke(w, PM_CALL_RESERVE, key, 0);
  int rc = pm_index_reserve(w->pool, w->request, pm_digest_root(w->pool), &digest, 1, 0, &ref);
  respond(w, operation, rc < 0 ? rc : (int)ref.state);
  if (rc < 0 || ref.state == PM_REF_PENDING) return rc < 0 ? rc : 0;
  if (ref.state == PM_REF_RESERVED) {
    operation = invoke(w, PM_CALL_COMMIT, key, 0);
    rc = respond(w, operation, pm_index_commit(w->pool, &ref, 1));
    if (rc < 0) return rc;
  }
  return drop_pin(w, key, &ref);
}

static int use_index(worker *w) {
  const uint64_t entry = below(w, w->job->entries), kind = below(w, 10);
  const uint32_t token = (uint32_t)entry;
  const pm_digest digest = pm_digest_chain(pm_digest_root(w->pool), &token, 1);
  const uint64_t key = PM_KEY(PM_KEY_ENTRY, entry);
  w->request++;
  if (kind < 3) return insert(w, key, digest);
  if (kind == 3) {
    pm_operation *operation = invoke(w, PM_CALL_EVICT, PM_KEY(PM_KEY_ALL_ENTRIES, 0), 1);
    return respond(w, operation, pm_index_evict(w->pool, 1));
  }
  if (kind == 4) {
    pm_operation *operation = invoke(w, PM_CALL_EXISTS, key, 0);
    return respond(w, operation, pm_index_exists(w->pool, digest));
  }
  pm_ref ref = {0};
  pm_operation *operation = invoke(w, PM_CALL_LOOKUP, key, 0);
  const int hits = respond(w, operation, pm_index_lookup(w->pool, w->request, &digest, 1, &ref));
  return hits == 1 ? drop_pin(w, key, &ref) : hits;
}

static int make_locks(worker *w) {
  op_history_job *job = w->job;
  for (uint32_t i = 0; i < job->locks; i++) {
    const int rc = pm_lock_alloc(w->pool, &job->lock[i]);
    if (rc < 0) return rc;
  }
  __atomic_store_n(&job->ready, 1, __ATOMIC_RELEASE);
  return 0;
}

int64_t op_history_run(void *arg) {
  const op_history_node *self = arg;
  op_history_job *job = self->job;
  if (job->struct_bytes != sizeof *job || job->locks == 0 || job->locks > OP_HISTORY_LOCKS_MAX) return -EINVAL;
  worker w = {.job = job, .node = self->node, .request = (uint64_t)self->node << 32};
  w.random = (job->seed * 64 + self->node + 1) * UINT64_C(0x9E3779B97F4A7C15);
  int rc = self->node == 0 ? pm_format(job->pool_path, &job->format) : 0;
  if (rc == 0) rc = open_pool(job, self->node, &w.pool);
  if (rc < 0) return rc;
  if (self->node == 0) rc = make_locks(&w);
  while (rc == 0 && __atomic_load_n(&job->ready, __ATOMIC_ACQUIRE) == 0) pm_relax();
  for (uint64_t call = 0; call < job->calls && rc >= 0; call++) {
    const uint64_t kind = below(&w, 8);
    rc = kind == 0 ? use_lock(&w) : kind == 1 ? use_allocator(&w) : use_index(&w);
  }
  __atomic_add_fetch(&job->nodes_done, 1, __ATOMIC_ACQ_REL);
  if (self->node == 0) {
    while (__atomic_load_n(&job->nodes_done, __ATOMIC_ACQUIRE) < (int)job->nodes) pm_relax();
    __atomic_store_n(&job->stop_manager, 1, __ATOMIC_RELEASE);
  }
  return rc < 0 ? rc : pm_close(w.pool);
}

int64_t op_history_manager(void *arg) {
  const op_history_node *self = arg;
  pm_pool *pool;
  int rc = open_pool(self->job, self->node, &pool);
  if (rc < 0) return rc;
  rc = pm_manager_run(pool, &self->job->stop_manager);
  return rc < 0 ? rc : pm_close(pool);
}
