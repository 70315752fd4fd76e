/**
 * @file software_ops.c
 * Every part times one kind of operation on all nodes; a barrier between parts lets none reach into the next. The barrier,
 * and who is next, lie in memory that all threads of the emulation share: they cost simulated time and no message.
 */
#define _POSIX_C_SOURCE 200809L
#include "software_ops.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Polls before somebody who does not come counts as an error. */
enum { POLLS_MAX = 1000000, BARRIER_POLL_NS = 200, TOKENS = 16 };

/** What one node works with. */
typedef struct worker {
  ops_job *job;
  pm_pool *pool;
  uint32_t node;
  ops_sample *sample; /**< that is being taken */
  pm_stats before;
  pm_digest *chain;
  pm_ref *refs;
  pm_ticket *tickets;
  uint8_t *payload; /**< ordinary memory, as much as a stream */
  uint64_t place;   /**< pool offset of as much */
} worker;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t size_of(uint32_t index) {
  return OPS_SIZE_MIN << (2 * index);
}

/** Blocks of a stream. */
static uint32_t stream_of(uint32_t size) {
  uint32_t blocks = OPS_STREAM_BYTES / size;
  return blocks > OPS_STREAM_BLOCKS ? OPS_STREAM_BLOCKS : blocks < 2 ? 2 : blocks;
}

static int begin(worker *w, enum software_op op) {
  uint32_t *count = &w->job->counts[w->node];
  if (*count == w->job->samples_max) return -ENOBUFS;
  w->sample = &w->job->samples[(size_t)w->node * w->job->samples_max + (*count)++];
  *w->sample = (ops_sample){.op = op, .node = w->node};
  pm_get_stats(w->pool, &w->before);
  w->sample->start_ns = now_ns();
  return 0;
}

static void end(worker *w) {
  pm_stats after;
  w->sample->end_ns = now_ns();
  pm_get_stats(w->pool, &after);
  w->sample->published = (uint32_t)(after.lines_published - w->before.lines_published);
  w->sample->acquired = (uint32_t)(after.lines_acquired - w->before.lines_acquired);
}

/** Run `call`, which gives rc, as one sample of `op`; leave the function with an error. */
#define SAMPLE(w, op, call)        \
  do {                             \
    int begun_ = begin((w), (op)); \
    if (begun_ < 0) return begun_; \
    int done_ = (int)(call);       \
    end(w);                        \
    if (done_ < 0) return done_;   \
  } while (0)

/** All nodes are here, or one of them has failed. */
static int barrier(worker *w) {
  ops_job *job = w->job;
  int part = __atomic_load_n(&job->part, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&job->arrived, 1, __ATOMIC_ACQ_REL) == (int)job->nodes) {
    __atomic_store_n(&job->arrived, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&job->part, part + 1, __ATOMIC_RELEASE);
    return 0;
  }
  for (int polls = 0; __atomic_load_n(&job->part, __ATOMIC_ACQUIRE) == part; polls++) {
    if (__atomic_load_n(&job->failed, __ATOMIC_ACQUIRE)) return -ECANCELED;
    if (polls == POLLS_MAX) return -ETIMEDOUT;
    nanosleep(&(struct timespec){.tv_nsec = BARRIER_POLL_NS}, NULL);
  }
  return 0;
}

static int lock_alone(worker *w) {
  ops_job *job = w->job;
  uint32_t turns = job->rounds > job->nodes ? job->rounds : job->nodes;
  int rc = 0;
  for (uint32_t turn = 0; rc == 0 && turn < turns; turn++) {
    if (turn % job->nodes == w->node) {
      SAMPLE(w, OP_LOCK_ALONE, pm_lock_acquire(w->pool, (uint32_t)job->lock, NULL));
      SAMPLE(w, OP_UNLOCK, pm_lock_release(w->pool, (uint32_t)job->lock));
    }
    rc = barrier(w);
  }
  return rc;
}

static int lock_contended(worker *w) {
  for (uint32_t round = 0; round < w->job->rounds; round++) {
    SAMPLE(w, OP_LOCK_CONTENDED, pm_lock_acquire(w->pool, (uint32_t)w->job->lock, NULL));
    int rc = pm_lock_release(w->pool, (uint32_t)w->job->lock);
    if (rc < 0) return rc;
  }
  return barrier(w);
}

/** Poll until the value of this round is there. */
static int read_value(const volatile uint64_t *word, uint64_t value) {
  for (int polls = 0; polls < POLLS_MAX; polls++) {
    pm_acquire((const void *)(uintptr_t)word, sizeof *word);
    if (*word == value) return 0;
  }
  return -ETIMEDOUT;
}

/** Each node in turn stores a value and publishes it; all others poll for it. */
static int visible(worker *w) {
  ops_job *job = w->job;
  volatile uint64_t *word = pm_ptr(w->pool, job->line);
  int rc = 0;
  for (uint32_t round = 1; rc == 0 && round <= job->rounds; round++) {
    if (round % job->nodes != w->node) {
      SAMPLE(w, OP_VISIBLE, read_value(word, round));
      w->sample->start_ns = __atomic_load_n(&job->stored_ns, __ATOMIC_ACQUIRE);
      __atomic_add_fetch(&job->seen, 1, __ATOMIC_ACQ_REL);
    } else {
      nanosleep(&(struct timespec){.tv_nsec = 10L * BARRIER_POLL_NS}, NULL); /* until the others poll */
      pm_acquire((const void *)(uintptr_t)word, sizeof *word);               /* another node wrote the line before */
      __atomic_store_n(&job->stored_ns, now_ns(), __ATOMIC_RELEASE);
      *word = round;
      SAMPLE(w, OP_PUBLISH, (pm_publish((const void *)(uintptr_t)word, sizeof *word), pm_sync(), 0));
      for (int polls = 0; __atomic_load_n(&job->seen, __ATOMIC_ACQUIRE) < (int)job->nodes - 1; polls++) {
        if (polls == POLLS_MAX) return -ETIMEDOUT;
        pm_relax();
      }
      __atomic_store_n(&job->seen, 0, __ATOMIC_RELEASE);
    }
    rc = barrier(w);
  }
  return rc;
}

static int receive_from(worker *w, uint32_t node) {
  pm_signal signal;
  SAMPLE(w, OP_RENDEZVOUS, pm_receive(w->pool, node, 0, &signal));
  w->sample->start_ns = signal.tag;
  return 0;
}

static int send_to(worker *w, uint32_t node) {
  return pm_send(w->pool, node, 0, &(pm_signal){.tag = now_ns()});
}

/** Neighbours signal each other, one way and then the other, all pairs at once. */
static int rendezvous(worker *w) {
  bool even = w->node % 2 == 0, paired = !even || w->node + 1 < w->job->nodes;
  uint32_t peer = even ? w->node + 1 : w->node - 1;
  for (uint32_t round = 0; round < 2 * w->job->rounds; round++) {
    bool sends = even == (round % 2 == 0);
    int rc = !paired ? 0 : sends ? send_to(w, peer) : receive_from(w, peer);
    if (rc == 0) rc = barrier(w);
    if (rc < 0) return rc;
  }
  return 0;
}

/** Digests of the chain that `node` inserts in `round`; the following round of no node is never inserted. */
static void make_chain(worker *w, uint32_t node, uint32_t round) {
  uint32_t tokens[TOKENS] = {node, round};
  pm_digest parent = pm_digest_root(w->pool);
  for (uint32_t i = 0; i < w->job->blocks; i++) {
    tokens[2] = i;
    parent = w->chain[i] = pm_digest_chain(parent, tokens, TOKENS);
  }
}

static int insert(worker *w, uint64_t request) {
  uint32_t blocks = w->job->blocks;
  size_t bytes = (size_t)pm_block_bytes(w->pool);
  int rc = pm_index_reserve(w->pool, request, pm_digest_root(w->pool), w->chain, blocks, 0, w->refs);
  if (rc >= 0 && rc != (int)blocks) return -EEXIST;
  for (uint32_t i = 0; rc >= 0 && i < blocks; i++) {
    pm_ticket ticket = pm_dma_write(w->pool, w->refs[i].offset, w->payload, bytes);
    rc = ticket < 0 ? (int)ticket : pm_dma_wait(w->pool, ticket);
  }
  return rc < 0 ? rc : pm_index_commit(w->pool, w->refs, blocks);
}

static int prefix_index(worker *w) {
  ops_job *job = w->job;
  for (uint32_t round = 0; round < job->rounds; round++) {
    uint64_t request = (uint64_t)w->node << 32 | round;
    uint32_t neighbour = (w->node + 1) % job->nodes;
    make_chain(w, w->node, round);
    memset(w->refs, 0, job->blocks * sizeof *w->refs);
    SAMPLE(w, OP_INSERT, insert(w, request));
    int rc = pm_index_release(w->pool, request, w->refs, job->blocks);
    if (rc == 0) rc = barrier(w);
    if (rc < 0) return rc;
    make_chain(w, neighbour, round);
    int hits = 0;
    SAMPLE(w, OP_LOOKUP_HIT, hits = pm_index_lookup(w->pool, request, w->chain, job->blocks, w->refs));
    if (hits != (int)job->blocks) return -ENODATA;
    SAMPLE(w, OP_RELEASE, pm_index_release(w->pool, request, w->refs, job->blocks));
    make_chain(w, neighbour, job->rounds + round);
    SAMPLE(w, OP_LOOKUP_MISS, hits = pm_index_lookup(w->pool, request, w->chain, job->blocks, w->refs));
    if (hits != 0) return -EEXIST;
    rc = barrier(w);
    if (rc < 0) return rc;
    int gone = 0;
    SAMPLE(w, OP_EVICT, gone = pm_index_evict(w->pool, job->blocks));
    if (gone != (int)job->blocks) return -EBUSY;
    rc = barrier(w);
    if (rc < 0) return rc;
  }
  return 0;
}

/** Move `count` blocks, all in flight. */
static int move(worker *w, bool out, uint32_t size, uint32_t count) {
  w->sample->size = size;
  w->sample->bytes = size * count;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t offset = w->place + (uint64_t)i * size;
    uint8_t *memory = w->payload + (size_t)i * size;
    w->tickets[i] = out ? pm_dma_read(w->pool, offset, memory, size) : pm_dma_write(w->pool, offset, memory, size);
    if (w->tickets[i] < 0) return (int)w->tickets[i];
  }
  for (uint32_t i = 0; i < count; i++) {
    int rc = pm_dma_wait(w->pool, w->tickets[i]);
    if (rc < 0) return rc;
  }
  return 0;
}

static int transfers(worker *w) {
  for (uint32_t i = 0; i < OPS_SIZES; i++) {
    uint32_t size = size_of(i), stream = stream_of(size);
    /* The first pass over the blocks brings them into the module's front; the second one counts. */
    for (uint32_t pass = 0; pass < 2; pass++) {
      SAMPLE(w, OP_TRANSFER_IN, move(w, false, size, 1));
      SAMPLE(w, OP_TRANSFER_OUT, move(w, true, size, 1));
      int rc = barrier(w);
      if (rc < 0) return rc;
      SAMPLE(w, OP_STREAM_IN, move(w, false, size, stream));
      rc = barrier(w);
      if (rc < 0) return rc;
      SAMPLE(w, OP_STREAM_OUT, move(w, true, size, stream));
      rc = barrier(w);
      if (rc < 0) return rc;
      if (pass == 0) w->job->counts[w->node] -= 4;
    }
  }
  return 0;
}

static int open_pool(ops_job *job, uint32_t node, pm_pool **pool) {
  pm_open_options opts = {.node = node};
  for (int i = 0; i < POLLS_MAX; i++) {
    int rc = pm_open(job->pool_path, &opts, pool);
    if (rc != -EAGAIN && rc != -ENOENT) return rc;
    pm_relax();
  }
  return -ETIMEDOUT;
}

static int worker_open(worker *w, const ops_node *self) {
  ops_job *job = self->job;
  size_t stream = (size_t)size_of(OPS_SIZES - 1) * stream_of(size_of(OPS_SIZES - 1));
  *w = (worker){.job = job, .node = self->node};
  int rc = self->node == 0 ? pm_format(job->pool_path, &job->format) : 0;
  if (rc == 0) rc = open_pool(job, self->node, &w->pool);
  if (rc < 0) return rc;
  w->chain = calloc(job->blocks, sizeof *w->chain);
  w->refs = calloc(job->blocks, sizeof *w->refs);
  w->tickets = calloc(OPS_STREAM_BLOCKS, sizeof *w->tickets);
  w->payload = aligned_alloc(PM_LINE, stream);
  if (!w->chain || !w->refs || !w->tickets || !w->payload) return -ENOMEM;
  memset(w->payload, (int)w->node, stream);
  rc = pm_alloc(w->pool, stream, &w->place);
  if (rc == 0 && w->node == 0) {
    uint32_t lock;
    rc = pm_lock_alloc(w->pool, &lock);
    job->lock = lock;
    if (rc == 0) rc = pm_alloc(w->pool, PM_LINE, &job->line);
  }
  return rc < 0 ? rc : barrier(w);
}

int64_t software_ops(void *arg) {
  ops_node *self = arg;
  ops_job *job = self->job;
  worker w;
  int rc = worker_open(&w, self);
  if (rc == 0) rc = lock_alone(&w);
  if (rc == 0) rc = lock_contended(&w);
  if (rc == 0) rc = visible(&w);
  if (rc == 0) rc = rendezvous(&w);
  if (rc == 0) rc = prefix_index(&w);
  if (rc == 0) rc = transfers(&w);
  if (rc < 0) __atomic_store_n(&job->failed, rc, __ATOMIC_RELEASE);
  if (self->node == 0) __atomic_store_n(&job->stop_manager, 1, __ATOMIC_RELEASE);
  if (rc == 0) rc = pm_close(w.pool);
  free(w.chain);
  free(w.refs);
  free(w.tickets);
  free(w.payload);
  return rc < 0 ? rc : 0;
}

int64_t software_ops_manager(void *arg) {
  ops_node *self = arg;
  pm_pool *pool;
  int rc = open_pool(self->job, self->node, &pool);
  return rc ? rc : pm_manager_run(pool, &self->job->stop_manager);
}
