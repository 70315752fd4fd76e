/**
 * @file index_model.c
 * The programs of the job's nodes.
 */
#include "index_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Polls before a pool that nobody formats counts as an error. */
enum { POLLS_MAX = 1000000 };

typedef struct worker {
  index_model_job *job;
  pm_pool *pool;
  uint32_t node;
  pm_digest root, *chain;
  pm_ref *refs;
  uint8_t *payload, *wanted; /**< of one block */
  size_t bytes, blocks_max;
  pm_digest old_digest; /**< a block of an earlier request, no longer pinned */
  pm_ref old;
} worker;

static int open_pool(const index_model_job *job, uint32_t node, pm_pool **pool) {
  const pm_open_options options = {.node = node};
  for (int i = 0; i < POLLS_MAX; i++) {
    int rc = pm_open(job->pool_path, &options, pool);
    if (rc != -EAGAIN && rc != -ENOENT) return rc;
    pm_relax();
  }
  return -ETIMEDOUT;
}

static int worker_open(worker *w, const index_model_node *self) {
  index_model_job *job = self->job;
  memset(w, 0, sizeof *w);
  w->job = job;
  w->node = self->node;
  for (uint64_t r = 0; r < job->requests; r++) {
    size_t blocks = (size_t)(job->first_block[r + 1] - job->first_block[r]);
    if (blocks > w->blocks_max) w->blocks_max = blocks;
  }
  int rc = open_pool(job, self->node, &w->pool);
  if (rc < 0) return rc;
  w->root = pm_digest_root(w->pool);
  w->bytes = (size_t)pm_block_bytes(w->pool);
  w->chain = calloc(w->blocks_max, sizeof *w->chain);
  w->refs = calloc(w->blocks_max, sizeof *w->refs);
  w->payload = aligned_alloc(PM_LINE, w->bytes);
  w->wanted = aligned_alloc(PM_LINE, w->bytes);
  return w->chain && w->refs && w->payload && w->wanted ? 0 : -ENOMEM;
}

static int worker_close(worker *w, int rc) {
  int closed = w->pool && rc >= 0 ? pm_close(w->pool) : 0;
  free(w->chain);
  free(w->refs);
  free(w->payload);
  free(w->wanted);
  return rc < 0 ? rc : closed;
}

static size_t make_chain(worker *w, uint64_t r) {
  const index_model_job *job = w->job;
  pm_digest parent = w->root;
  size_t n = (size_t)(job->first_block[r + 1] - job->first_block[r]);
  for (size_t i = 0; i < n; i++) {
    uint64_t id = job->ids[job->first_block[r] + i];
    uint32_t tokens[2] = {(uint32_t)id, (uint32_t)(id >> 32)};
    parent = w->chain[i] = pm_digest_chain(parent, tokens, 2);
  }
  return n;
}

/** The words of a block: a counter scrambled with its digest. */
static void make_payload(pm_digest digest, uint8_t *to, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
    uint64_t word = (digest.lo + i) * UINT64_C(0x9E3779B97F4A7C15) ^ digest.hi;
    memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

/** Compare what `ref` names with what the digest says. Pinned: it has to be there. */
static int read_block(worker *w, pm_digest digest, const pm_ref *ref, int pinned) {
  int rc = pm_index_fetch(w->pool, ref, 1, w->payload);
  if (rc == -ESTALE && !pinned) {
    w->job->refused_blocks[w->node]++;
    return 0;
  }
  if (rc < 0) return rc;
  make_payload(digest, w->wanted, w->bytes);
  if (memcmp(w->payload, w->wanted, w->bytes) != 0) return -EBADMSG;
  w->job->verified_blocks[w->node]++;
  return 0;
}

static int fill(worker *w, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (w->refs[i].state != PM_REF_RESERVED) continue;
    make_payload(w->chain[i], w->payload, w->bytes);
    pm_ticket ticket = pm_dma_write(w->pool, w->refs[i].offset, w->payload, w->bytes);
    int rc = ticket < 0 ? (int)ticket : pm_dma_wait(w->pool, ticket);
    if (rc < 0) return rc;
  }
  return pm_index_commit(w->pool, w->refs, n);
}

/** Everything that changes the index. */
static int take_turn(worker *w, uint64_t r, size_t n) {
  int hits = pm_index_lookup(w->pool, r, w->chain, n, w->refs);
  if (hits < 0) return hits;
  w->job->hits[r] = (uint32_t)hits;
  for (int i = 0; i < hits; i++) {
    int rc = read_block(w, w->chain[i], &w->refs[i], 1);
    if (rc < 0) return rc;
  }
  int rc = pm_index_reserve(w->pool, r, w->root, w->chain, n, (size_t)hits, w->refs);
  if (rc < 0) return rc;
  w->job->inserted[r] = (uint32_t)rc;
  rc = fill(w, n);
  return rc < 0 ? rc : pm_index_release(w->pool, r, w->refs, n);
}

static int one_request(worker *w, uint64_t r) {
  uint32_t nodes = w->job->nodes;
  size_t n = make_chain(w, r);
  pm_signal turn;
  int rc = r == 0 || nodes == 1 ? 0 : pm_receive(w->pool, (uint32_t)((r - 1) % nodes), 0, &turn);
  if (rc == 0 && r != 0 && nodes != 1 && turn.tag != r) rc = -EBADMSG;
  if (rc == 0) rc = take_turn(w, r, n);
  if (rc == 0 && r + 1 < w->job->requests && nodes != 1)
    rc = pm_send(w->pool, (uint32_t)((r + 1) % nodes), 0, &(pm_signal){.tag = r + 1});
  if (rc == 0 && w->old.state == PM_REF_HIT) rc = read_block(w, w->old_digest, &w->old, 0);
  w->old = w->refs[n - 1];
  w->old_digest = w->chain[n - 1];
  return rc;
}

int64_t index_model_run(void *arg) {
  index_model_node *self = arg;
  index_model_job *job = self->job;
  int rc = self->node == 0 ? pm_format(job->pool_path, &job->format) : 0;
  if (rc < 0) return rc;
  worker w;
  rc = worker_open(&w, self);
  for (uint64_t r = self->node; rc == 0 && r < job->requests; r += job->nodes) rc = one_request(&w, r);
  if (self->node != 0) __atomic_add_fetch(&job->nodes_done, 1, __ATOMIC_ACQ_REL);
  if (rc == 0 && self->node == 0) {
    while (__atomic_load_n(&job->nodes_done, __ATOMIC_ACQUIRE) < (int)job->nodes - 1) pm_relax();
    rc = pm_index_audit(w.pool);
    if (rc == 0) rc = pm_index_stat(w.pool, &job->index);
    __atomic_store_n(&job->stop_manager, 1, __ATOMIC_RELEASE);
  }
  return worker_close(&w, rc);
}

int64_t index_model_manager(void *arg) {
  index_model_node *self = arg;
  pm_pool *pool;
  int rc = open_pool(self->job, self->node, &pool);
  if (rc < 0) return rc;
  rc = pm_manager_run(pool, &self->job->stop_manager);
  return rc < 0 ? rc : pm_close(pool);
}
