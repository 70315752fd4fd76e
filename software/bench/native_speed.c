/*
 * Speed of the library on real instructions, and lines moved by its operations; one JSON object on standard output.
 *
 * usage: native_speed FILE   (a pool file of 192 MiB is made there; on /dev/shm it stands for memory of the device)
 *
 * Times are the best of several rounds, since other programs share the machine. Copies go round a region none of whose lines is
 * in a cache when the round begins, on both sides of the comparison: that is what shared memory looks like to its reader.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prismem/prismem.h"

#define POOL_BYTES (UINT64_C(192) << 20)
#define REGION_BYTES (UINT64_C(128) << 20)
#define PREFIX 64u
#define BLOCK_BYTES (64u << 10)
#define ROUNDS 7u
#define LOOKUPS 200u
#define PUBLISHES 200u
#define COUNTED 256u
#define CHURN_SLOTS 4096u

typedef struct bench {
  const char *path;
  pm_pool *pool, *other, *keeper; /* two nodes, and the lock manager's */
  int stop;
  pthread_t manager;
} bench;

static void must(int rc, const char *what) {
  if (rc >= 0) return;
  fprintf(stderr, "native_speed: %s: %s\n", what, pm_error_text());
  _exit(1); /* the lock manager of the other thread is left where it is */
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *manager_main(void *arg) {
  bench *b = arg;
  must(pm_manager_run(b->keeper, &b->stop), "manager");
  return NULL;
}

static void open_bench(bench *b, pm_format_options format) {
  format.nodes = 3;
  must(pm_format(b->path, &format), "format");
  must(pm_open(b->path, &(pm_open_options){.node = 0}, &b->pool), "open");
  must(pm_open(b->path, &(pm_open_options){.node = 1}, &b->other), "open");
  must(pm_open(b->path, &(pm_open_options){.node = 2}, &b->keeper), "open");
  b->stop = 0;
  if (pthread_create(&b->manager, NULL, manager_main, b) != 0) abort();
}

static void close_bench(bench *b) {
  __atomic_store_n(&b->stop, 1, __ATOMIC_RELEASE);
  pthread_join(b->manager, NULL);
  must(pm_close(b->pool), "close");
  must(pm_close(b->other), "close");
  must(pm_close(b->keeper), "close");
}

static void make_chain(const pm_pool *pool, uint32_t number, pm_digest *chain, size_t n) {
  pm_digest parent = pm_digest_root(pool);
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t tokens[2] = {number, i};
    parent = chain[i] = pm_digest_chain(parent, tokens, 2);
  }
}

/* Insert what is missing of a chain; `payload` may be NULL. */
static void publish(pm_pool *pool, uint64_t request, const pm_digest *chain, size_t n, pm_ref *refs,
                    const void *payload) {
  const int hits = pm_index_lookup(pool, request, chain, n, refs);
  must(hits, "lookup");
  must(pm_index_reserve(pool, request, pm_digest_root(pool), chain, n, (size_t)hits, refs), "reserve");
  for (size_t i = 0; payload != NULL && i < n; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    const pm_ticket ticket = pm_dma_write(pool, refs[i].offset, payload, pm_block_bytes(pool));
    must(ticket < 0 ? (int)ticket : pm_dma_wait(pool, ticket), "dma");
  }
  must(pm_index_commit(pool, refs, n), "commit");
  must(pm_index_release(pool, request, refs, n), "release");
}

static void *aligned(size_t bytes) {
  void *memory = aligned_alloc(4096, bytes);
  if (memory == NULL) abort();
  memset(memory, 0x5a, bytes);
  return memory;
}

/* A prefix of 64 resident blocks: lookup with pins, and the release. */
static void measure_lookup(bench *b) {
  pm_digest chain[PREFIX];
  pm_ref refs[PREFIX];
  double best = 1e18;
  make_chain(b->pool, 1, chain, PREFIX);
  publish(b->pool, 1, chain, PREFIX, refs, NULL);
  for (unsigned round = 0; round < ROUNDS; ++round) {
    const double start = now_ns();
    for (unsigned i = 0; i < LOOKUPS; ++i) {
      if (pm_index_lookup(b->pool, 2, chain, PREFIX, refs) != PREFIX) abort();
      must(pm_index_release(b->pool, 2, refs, PREFIX), "release");
    }
    const double each = (now_ns() - start) / LOOKUPS;
    if (each < best) best = each;
  }
  printf("\"lookup_64_ns\": %.0f,\n", best);
}

/* A new block of 64 KiB: lookup, room made, payload, READY, release; and the same without the payload. */
static void measure_publish(bench *b) {
  void *payload = aligned(BLOCK_BYTES);
  uint32_t number = 1000;
  for (int with = 0; with < 2; ++with) {
    double best = 1e18;
    for (unsigned round = 0; round < ROUNDS; ++round) {
      const double start = now_ns();
      for (unsigned i = 0; i < PUBLISHES; ++i) {
        pm_digest digest;
        pm_ref ref;
        make_chain(b->pool, number++, &digest, 1);
        publish(b->pool, 3, &digest, 1, &ref, with ? payload : NULL);
      }
      const double each = (now_ns() - start) / PUBLISHES;
      if (each < best) best = each;
    }
    printf("\"%s\": %.0f,\n", with ? "publish_ns" : "publish_without_payload_ns", best);
  }
  free(payload);
}

enum side { COPY_DMA, COPY_PLAIN, FLUSH_ONLY, SIDES };

static double copy_once(bench *b, enum side side, int in, uint64_t base, unsigned char *buffer, size_t bytes) {
  pm_acquire(pm_ptr(b->pool, base), REGION_BYTES); /* a last-level cache may be larger than the region */
  const double start = now_ns();
  for (uint64_t at = 0; at + bytes <= REGION_BYTES; at += bytes) {
    if (side == COPY_DMA) {
      const pm_ticket ticket =
          in ? pm_dma_write(b->pool, base + at, buffer, bytes) : pm_dma_read(b->pool, base + at, buffer, bytes);
      must(ticket < 0 ? (int)ticket : pm_dma_wait(b->pool, ticket), "dma");
    } else if (side == FLUSH_ONLY) {
      pm_acquire(pm_ptr(b->pool, base + at), bytes);
    } else {
      unsigned char *pool = pm_ptr(b->pool, base + at);
      if (in)
        memcpy(pool, buffer, bytes);
      else
        memcpy(buffer, pool, bytes);
      __asm__ volatile("" ::: "memory");
    }
  }
  return (double)(REGION_BYTES - REGION_BYTES % bytes) / (now_ns() - start);
}

/* GB/s, best of the rounds, the sides by turns. A copy out drops every line from the cache first: "flush" is that alone. */
static void measure_copies(bench *b) {
  static const size_t sizes[] = {4u << 10, 64u << 10, 256u << 10, 1u << 20};
  uint64_t base;
  must(pm_alloc(b->pool, REGION_BYTES, &base), "alloc");
  printf("\"payload\": {");
  for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    unsigned char *buffer = aligned(sizes[s]);
    double best[2][SIDES] = {{0}};
    for (unsigned round = 0; round < ROUNDS; ++round) {
      for (int in = 0; in < 2; ++in) {
        for (int side = 0; side < (in ? FLUSH_ONLY : SIDES); ++side) {
          const double speed = copy_once(b, (enum side)side, in, base, buffer, sizes[s]);
          if (speed > best[in][side]) best[in][side] = speed;
        }
      }
    }
    printf("%s\"%zu\": {\"in\": %.3f, \"in_memcpy\": %.3f, \"out\": %.3f, \"out_memcpy\": %.3f, \"flush\": %.3f}",
           s ? ", " : "", sizes[s], best[1][0], best[1][1], best[0][0], best[0][1], best[0][FLUSH_ONLY]);
    free(buffer);
  }
  printf("},\n");
  must(pm_free(b->pool, base), "free");
}

/* Counters of all nodes together: what an operation costs, the lock manager's part included. */
static pm_stats all_stats(const bench *b) {
  pm_stats sum, more;
  pm_get_stats(b->pool, &sum);
  pm_get_stats(b->other, &more);
  sum.lines_published += more.lines_published;
  sum.syncs += more.syncs;
  pm_get_stats(b->keeper, &more);
  sum.lines_published += more.lines_published;
  return sum;
}

static void print_lines(const char *name, const pm_stats *before, const pm_stats *after, const char *end) {
  printf("\"%s\": %.2f%s", name, (double)(after->lines_published - before->lines_published) / COUNTED, end);
}

/* Lines flushed by a hit, an insert into a full index (which evicts) and into one with room, an eviction, a lock hand-over. */
static void count_lines(bench *b, const char *name, uint32_t replacement) {
  pm_digest digest[COUNTED];
  pm_ref ref;
  open_bench(b, (pm_format_options){.pool_bytes = UINT64_C(16) << 20,
                                    .index_slots = 1024,
                                    .index_capacity = UINT64_C(2) * COUNTED,
                                    .block_bytes = 256,
                                    .replacement = replacement});
  for (uint32_t i = 0; i < COUNTED; ++i) make_chain(b->pool, i, &digest[i], 1);
  pm_stats start = all_stats(b);
  for (uint32_t i = 0; i < COUNTED; ++i) publish(b->pool, 1, &digest[i], 1, &ref, NULL);
  pm_stats inserted = all_stats(b);
  for (uint32_t i = 0; i < COUNTED; ++i) publish(b->pool, 2, &digest[(i * 37) % COUNTED], 1, &ref, NULL);
  pm_stats hit = all_stats(b);
  for (uint32_t i = 0; i < COUNTED; ++i) must(pm_index_evict(b->pool, 1), "evict");
  pm_stats evicted = all_stats(b);
  for (uint32_t i = 0; i < COUNTED; ++i) {
    pm_pool *node = i % 2 ? b->pool : b->other;
    must(pm_lock_acquire(node, 8, NULL), "lock");
    must(pm_lock_release(node, 8), "unlock");
  }
  pm_stats handed = all_stats(b);
  printf("\"%s\": {", name);
  print_lines("insert", &start, &inserted, ", ");
  print_lines("hit", &inserted, &hit, ", ");
  print_lines("evict", &hit, &evicted, ", ");
  print_lines("lock_hand_over", &evicted, &handed, "}");
  close_bench(b);
}

/* Ten times the capacity through a full table of the default load: probes a lookup. */
static void count_probes(bench *b) {
  open_bench(b, (pm_format_options){.pool_bytes = UINT64_C(16) << 20, .index_slots = CHURN_SLOTS, .block_bytes = 64});
  pm_index_info info;
  must(pm_index_stat(b->pool, &info), "stat");
  const uint64_t inserts = 10 * info.capacity;
  pm_stats start, end;
  uint64_t probes = 0;
  for (uint32_t i = 0; i < inserts; ++i) {
    pm_digest digest;
    pm_ref ref;
    make_chain(b->pool, i, &digest, 1);
    publish(b->pool, 1, &digest, 1, &ref, NULL);
    pm_get_stats(b->pool, &start);
    if (pm_index_exists(b->pool, digest) != 1) abort();
    pm_get_stats(b->pool, &end);
    probes += end.probes - start.probes;
  }
  must(pm_index_stat(b->pool, &info), "stat");
  printf(
      "\"churn\": {\"slots\": %llu, \"capacity\": %llu, \"inserted\": %llu, \"probes_a_hit\": %.2f, \"probe_max\": "
      "%llu, "
      "\"tombstones\": %llu},\n",
      (unsigned long long)info.slots, (unsigned long long)info.capacity, (unsigned long long)inserts,
      (double)probes / (double)inserts, (unsigned long long)info.probe_max, (unsigned long long)info.tombstones);
  close_bench(b);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: native_speed FILE\n");
    return 2;
  }
  bench b = {.path = argv[1]};
  printf("{");
  open_bench(&b, (pm_format_options){.pool_bytes = POOL_BYTES,
                                     .index_slots = 1024,
                                     .index_capacity = 512,
                                     .block_bytes = BLOCK_BYTES,
                                     .chunk_bytes = 1 << 20,
                                     .replacement = PM_REPLACE_CLOCK});
  measure_lookup(&b);
  measure_publish(&b);
  must(pm_index_evict(b.pool, 1024), "evict");
  measure_copies(&b);
  close_bench(&b);
  unlink(argv[1]);
  count_probes(&b);
  unlink(argv[1]);
  printf("\"lines\": {");
  count_lines(&b, "lru", PM_REPLACE_LRU);
  unlink(argv[1]);
  printf(", ");
  count_lines(&b, "clock", PM_REPLACE_CLOCK);
  unlink(argv[1]);
  printf("}}\n");
  return 0;
}
