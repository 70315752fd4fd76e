/**
 * @file kv_share.c
 * The programs of the job's nodes.
 *
 * Request r belongs to prefill node r mod P and decode node r mod D. Index changes happen in trace order: a prefill node
 * passes the turn to the next one by a rendezvous signal, so hit counts can be compared with a model block by block, while
 * payload transfers and decoding overlap freely. A pair of a prefill and a decode node has one unacknowledged request at a
 * time; neither side can therefore block the other's acknowledgement.
 */
#define _POSIX_C_SOURCE 200809L
#include "kv_share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Polls before a pending block, a full index or a pool that nobody formats counts as an error. */
enum { POLLS_MAX = 1000000 };
/** Decode pins are told from prefill pins of the same request by this bit. */
#define DECODE_PIN (UINT64_C(1) << 63)

/** Present on the emulated host: names line, holders and last writer of a wrong byte. */
extern void emu_fail(const void *addr, const char *fmt, ...) __attribute__((weak));

/** What one node's thread works with. */
typedef struct kv_worker {
  kv_job *job;
  pm_pool *pool;
  kv_node_result *result;
  pm_digest root;
  pm_digest *chain; /**< digests of the request in hand */
  uint32_t *tokens;
  uint8_t *payload; /**< transfer buffers of a whole request */
  pm_ticket *tickets;
  pm_ref *refs;   /**< prefill: refs of the open request of each decode node, blocks_max apart */
  uint64_t *open; /**< prefill: request + 1 that each decode node still has to acknowledge; 0 none */
  size_t blocks_max;
} kv_worker;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t blocks_of(const kv_job *job, uint64_t r) {
  return (size_t)(job->first_block[r + 1] - job->first_block[r]);
}

static int open_pool(const kv_job *job, uint32_t node, pm_pool **pool) {
  pm_open_options opts = {.node = node, .check_namespace = 1};
  memcpy(opts.name_space, job->format.name_space, sizeof opts.name_space);
  for (int i = 0; i < POLLS_MAX; i++) {
    int rc = pm_open(job->pool_path, &opts, pool);
    if (rc != -EAGAIN && rc != -ENOENT) return rc;
    pm_relax();
  }
  return -ETIMEDOUT;
}

/** Free everything; returns rc, or the error of closing the pool when rc is none. */
static int worker_close(kv_worker *w, int rc) {
  if (w->pool) {
    pm_get_stats(w->pool, &w->result->stats);
    int closed = rc < 0 ? 0 : pm_close(w->pool); /* an error leaves pins behind: what matters is the error */
    if (closed) rc = closed;
  }
  free(w->chain);
  free(w->tokens);
  free(w->payload);
  free(w->tickets);
  free(w->refs);
  free(w->open);
  return rc < 0 ? rc : 0;
}

static int worker_open(kv_worker *w, const kv_node *self) {
  kv_job *job = self->job;
  memset(w, 0, sizeof *w);
  w->job = job;
  w->result = &job->node_results[self->node];
  for (uint64_t r = 0; r < job->requests; r++)
    if (blocks_of(job, r) > w->blocks_max) w->blocks_max = blocks_of(job, r);
  int rc = open_pool(job, self->node, &w->pool);
  if (rc) return rc;
  w->root = pm_digest_root(w->pool);
  w->chain = calloc(w->blocks_max, sizeof *w->chain);
  w->tokens = calloc(job->tokens_per_block, sizeof *w->tokens);
  w->payload = aligned_alloc(PM_LINE, w->blocks_max * (size_t)pm_block_bytes(w->pool));
  w->tickets = calloc(w->blocks_max, sizeof *w->tickets);
  w->refs = calloc(w->blocks_max * job->decodes, sizeof *w->refs);
  w->open = calloc(job->decodes, sizeof *w->open);
  return w->chain && w->tokens && w->payload && w->tickets && w->refs && w->open ? 0 : -ENOMEM;
}

static void make_chain(kv_worker *w, uint64_t r) {
  const kv_job *job = w->job;
  pm_digest parent = w->root;
  for (size_t i = 0; i < blocks_of(job, r); i++) {
    kv_tokens(job->hash_ids[job->first_block[r] + i], w->tokens, job->tokens_per_block);
    parent = w->chain[i] = pm_digest_chain(parent, w->tokens, job->tokens_per_block);
  }
}

/** Run `call`, store its time in step_ns[step] of `out` and its flushes in the two counters. */
#define TIMED(w, out, step, flushed, acquired, call)               \
  do {                                                             \
    pm_stats before_, after_;                                      \
    pm_get_stats((w)->pool, &before_);                             \
    uint64_t start_ = now_ns();                                    \
    call;                                                          \
    (out)->step_ns[step] += (uint32_t)(now_ns() - start_);         \
    pm_get_stats((w)->pool, &after_);                              \
    (flushed) += after_.lines_published - before_.lines_published; \
    (acquired) += after_.lines_acquired - before_.lines_acquired;  \
  } while (0)

/** The decode node of slot d has to acknowledge its open request; then the request's pins go. */
static int close_open(kv_worker *w, uint32_t d) {
  if (!w->open[d]) return 0;
  uint64_t r = w->open[d] - 1;
  pm_signal ack;
  int rc = pm_receive(w->pool, w->job->prefills + d, 0, &ack);
  if (rc < 0) return rc;
  if (ack.tag != r) return -EBADMSG;
  w->open[d] = 0;
  return pm_index_release(w->pool, r, &w->refs[d * w->blocks_max], blocks_of(w->job, r));
}

/** Start the transfer of block i. While the engine is full, wait for the oldest ticket from *oldest on, or for other threads. */
static int submit(kv_worker *w, size_t i, const pm_ref *ref, size_t *oldest) {
  size_t bytes = (size_t)pm_block_bytes(w->pool);
  for (int polls = 0; polls < POLLS_MAX; polls++) {
    w->tickets[i] = pm_dma_write(w->pool, ref->offset, w->payload + i * bytes, bytes);
    if (w->tickets[i] != -EAGAIN) return w->tickets[i] < 0 ? (int)w->tickets[i] : 0;
    while (*oldest < i && !w->tickets[*oldest]) ++*oldest;
    if (*oldest == i) {
      pm_relax();
      continue;
    }
    int rc = pm_dma_wait(w->pool, w->tickets[*oldest]);
    if (rc < 0) return rc;
    ++*oldest;
  }
  return -ETIMEDOUT;
}

/** Payload of the RESERVED blocks into the pool, as many transfers at once as the engine takes. */
static int fill_reserved(kv_worker *w, size_t n, const pm_ref *refs) {
  size_t bytes = (size_t)pm_block_bytes(w->pool), oldest = 0;
  for (size_t i = 0; i < n; i++) {
    w->tickets[i] = 0;
    if (refs[i].state != PM_REF_RESERVED) continue;
    if (w->job->compute_ns) nanosleep(&(struct timespec){.tv_nsec = (long)w->job->compute_ns}, NULL);
    kv_payload(w->chain[i], w->payload + i * bytes, bytes);
    int rc = submit(w, i, &refs[i], &oldest);
    if (rc < 0) return rc;
  }
  for (size_t i = oldest; i < n; i++) {
    int rc = w->tickets[i] ? pm_dma_wait(w->pool, w->tickets[i]) : 0;
    if (rc < 0) return rc;
  }
  return 0;
}

/** Wait until the blocks that other nodes were filling are READY, and pin them. */
static int await_pending(kv_worker *w, uint64_t r, size_t n, pm_ref *refs) {
  for (size_t i = 0; i < n; i++) {
    for (int polls = 0; refs[i].state == PM_REF_PENDING; polls++) {
      if (polls == POLLS_MAX) return -ETIMEDOUT;
      int rc = pm_index_lookup(w->pool, r, &w->chain[i], 1, &refs[i]);
      if (rc < 0) return rc;
      if (rc == 0) {
        refs[i].state = PM_REF_PENDING;
        pm_relax();
      }
    }
  }
  return 0;
}

static int take_turn(kv_worker *w, uint64_t r) {
  uint32_t previous = (uint32_t)((r + w->job->prefills - 1) % w->job->prefills);
  if (r == 0 || w->job->prefills == 1) return 0;
  pm_signal turn;
  int rc = pm_receive(w->pool, previous, 0, &turn);
  if (rc < 0) return rc;
  return turn.tag == r - 1 ? 0 : -EBADMSG;
}

static int pass_turn(kv_worker *w, uint64_t r) {
  if (r + 1 == w->job->requests || w->job->prefills == 1) return 0;
  return pm_send(w->pool, (uint32_t)((r + 1) % w->job->prefills), 0, &(pm_signal){.tag = r});
}

static int prefill_one(kv_worker *w, uint64_t r) {
  kv_job *job = w->job;
  kv_request_result *out = &job->request_results[r];
  kv_node_result *sum = w->result;
  uint32_t d = (uint32_t)(r % job->decodes);
  pm_ref *refs = &w->refs[d * w->blocks_max];
  size_t n = blocks_of(job, r);
  uint64_t unused = 0;
  int rc = close_open(w, d);
  if (rc < 0) return rc;
  make_chain(w, r);
  memset(refs, 0, n * sizeof *refs);

  TIMED(w, out, KV_STEP_TURN, unused, unused, rc = take_turn(w, r));
  if (rc < 0) return rc;
  int hits;
  TIMED(w, out, KV_STEP_LOOKUP, sum->lines_flushed_lookup, sum->lines_acquired_lookup,
        hits = pm_index_lookup(w->pool, r, w->chain, n, refs));
  if (hits < 0) return hits;
  for (int polls = 0;; polls++) {
    TIMED(w, out, KV_STEP_RESERVE, sum->lines_flushed_insert, sum->lines_acquired_insert,
          rc = pm_index_reserve(w->pool, r, w->root, w->chain, n, (size_t)hits, refs));
    if (rc != -ENOSPC || polls == POLLS_MAX) break;
    for (uint32_t i = 0; i < job->decodes; i++) { /* pins of finished requests may be what fills the index */
      rc = close_open(w, i);
      if (rc < 0) return rc;
    }
    pm_relax();
  }
  if (rc < 0) return rc;
  out->inserted = (uint32_t)rc;
  while (out->hits < n && refs[out->hits].state != PM_REF_RESERVED) out->hits++;
  rc = pass_turn(w, r);
  if (rc < 0) return rc;

  TIMED(w, out, KV_STEP_DMA_IN, unused, unused, rc = fill_reserved(w, n, refs));
  if (rc < 0) return rc;
  TIMED(w, out, KV_STEP_COMMIT, sum->lines_flushed_insert, sum->lines_acquired_insert,
        rc = pm_index_commit(w->pool, refs, n));
  if (rc < 0) return rc;
  rc = await_pending(w, r, n, refs);
  if (rc < 0) return rc;
  TIMED(w, out, KV_STEP_SIGNAL, unused, unused,
        rc = pm_send(w->pool, job->prefills + d, 0, &(pm_signal){.tag = r, .length = n}));
  w->open[d] = r + 1;
  return rc;
}

/** Node 0 stays until all others have ended, audits the index and lets the manager go. */
static int last_one_out(kv_worker *w) {
  kv_job *job = w->job;
  while (__atomic_load_n(&job->nodes_done, __ATOMIC_ACQUIRE) < (int)(job->prefills + job->decodes - 1)) pm_relax();
  int rc = pm_index_audit(w->pool);
  if (rc == 0) rc = pm_index_stat(w->pool, &job->index);
  __atomic_store_n(&job->stop_manager, 1, __ATOMIC_RELEASE);
  return rc;
}

int64_t kv_prefill(void *arg) {
  kv_node *self = arg;
  kv_job *job = self->job;
  int rc = self->node == 0 ? pm_format(job->pool_path, &job->format) : 0;
  if (rc) return rc;
  kv_worker w;
  rc = worker_open(&w, self);
  for (uint64_t r = self->node; rc >= 0 && r < job->requests; r += job->prefills) rc = prefill_one(&w, r);
  for (uint32_t d = 0; rc >= 0 && d < job->decodes; d++) rc = close_open(&w, d);
  if (self->node != 0)
    __atomic_add_fetch(&job->nodes_done, 1, __ATOMIC_ACQ_REL);
  else if (rc >= 0)
    rc = last_one_out(&w);
  return worker_close(&w, rc);
}

/** Copy one block out by DMA, check its generation afterwards and every byte of it. */
static int decode_block(kv_worker *w, uint64_t r, size_t i, const pm_ref *ref) {
  size_t bytes = (size_t)pm_block_bytes(w->pool);
  uint8_t *got = w->payload, *want = w->payload + bytes;
  pm_ticket ticket = pm_dma_read(w->pool, ref->offset, got, bytes);
  int rc = ticket < 0 ? (int)ticket : pm_dma_wait(w->pool, ticket);
  if (rc < 0) return rc;
  rc = pm_index_check(w->pool, ref);
  if (rc < 0) return rc;
  kv_payload(w->chain[i], want, bytes);
  for (size_t b = 0; b < bytes; b++) {
    if (got[b] == want[b]) continue;
    if (w->result->wrong_bytes++ == 0 && emu_fail)
      emu_fail((uint8_t *)pm_ptr(w->pool, ref->offset) + b,
               "wrong byte in the payload of request %llu block %zu byte %zu: expected 0x%02x, actual 0x%02x",
               (unsigned long long)r, i, b, want[b], got[b]);
  }
  w->result->verified_bytes += bytes;
  return 0;
}

static int decode_one(kv_worker *w, uint64_t r) {
  kv_job *job = w->job;
  kv_request_result *out = &job->request_results[r];
  kv_node_result *sum = w->result;
  uint32_t prefill = (uint32_t)(r % job->prefills);
  size_t n = blocks_of(job, r);
  uint64_t unused = 0;
  pm_signal signal;
  int rc = pm_receive(w->pool, prefill, 0, &signal);
  if (rc < 0) return rc;
  if (signal.tag != r || signal.length != n) return -EBADMSG;
  make_chain(w, r);
  TIMED(w, out, KV_STEP_DECODE_LOOKUP, sum->lines_flushed_lookup, sum->lines_acquired_lookup,
        rc = pm_index_lookup(w->pool, r | DECODE_PIN, w->chain, n, w->refs));
  if (rc < 0) return rc;
  size_t found = (size_t)rc;
  if (found < n && emu_fail)
    emu_fail(NULL, "decode of request %llu finds %zu of %zu published blocks", (unsigned long long)r, found, n);
  for (size_t i = 0; i < found; i++) {
    TIMED(w, out, KV_STEP_DMA_OUT, unused, unused, rc = decode_block(w, r, i, &w->refs[i]));
    if (rc < 0) return rc;
    out->decoded++;
  }
  rc = pm_index_release(w->pool, r | DECODE_PIN, w->refs, found);
  if (rc < 0) return rc;
  if (found < n) return -ENODATA;
  return pm_send(w->pool, prefill, 0, &(pm_signal){.tag = r});
}

int64_t kv_decode(void *arg) {
  kv_node *self = arg;
  kv_job *job = self->job;
  kv_worker w;
  int rc = worker_open(&w, self);
  for (uint64_t r = self->node - job->prefills; rc >= 0 && r < job->requests; r += job->decodes) rc = decode_one(&w, r);
  if (rc >= 0 && w.result->wrong_bytes) rc = -EBADMSG;
  __atomic_add_fetch(&job->nodes_done, 1, __ATOMIC_ACQ_REL);
  return worker_close(&w, rc);
}

int64_t kv_manager(void *arg) {
  kv_node *self = arg;
  pm_pool *pool;
  int rc = open_pool(self->job, self->node, &pool);
  return rc ? rc : pm_manager_run(pool, &self->job->stop_manager);
}
