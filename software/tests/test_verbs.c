/*
 * Verbs: node 0 publishes a record and then a flag, over and over; the others see each record whole.
 */
#include "tests.h"

#define ROUNDS 12u
#define RECORD_AT 56u /* the last word of a line: 26 words from there touch five lines */
#define RECORD_WORDS 26u

typedef struct shared {
  uint64_t flag; /* line of node 0 */
  uint64_t spare[7];
  struct {
    uint64_t seen; /* line of the node */
    uint64_t spare[7];
  } nodes[PM_NODES_MAX];
  _Alignas(PM_LINE) unsigned char space[512];
} shared;

static uint64_t *record_of(shared *s) {
  return (uint64_t *)(void *)(s->space + RECORD_AT);
}

static int setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "publish", sizeof(shared));
}

static void wait_until_seen(const pm_test_ctx *ctx, shared *s, uint64_t round) {
  for (uint32_t node = 1; node < ctx->nodes; ++node) {
    do {
      pm_relax();
      pm_acquire(&s->nodes[node], PM_LINE);
    } while (__atomic_load_n(&s->nodes[node].seen, __ATOMIC_ACQUIRE) != round);
  }
}

static void wait_for_flag(shared *s, uint64_t round) {
  do {
    pm_relax();
    pm_acquire(&s->flag, sizeof s->flag);
  } while (__atomic_load_n(&s->flag, __ATOMIC_ACQUIRE) != round);
}

static void tell_seen(const pm_test_ctx *ctx, shared *s, uint64_t round) {
  __atomic_store_n(&s->nodes[ctx->node].seen, round, __ATOMIC_RELEASE);
  pm_publish(&s->nodes[ctx->node], PM_LINE);
}

static int write_records(pm_test_ctx *ctx, shared *s) {
  for (uint64_t round = 1; round <= (uint64_t)ROUNDS * ctx->scale; ++round) {
    wait_until_seen(ctx, s, round - 1);
    for (uint32_t i = 0; i < RECORD_WORDS; ++i) record_of(s)[i] = round * 1000 + i;
    pm_publish(record_of(s), RECORD_WORDS * sizeof(uint64_t));
    __atomic_store_n(&s->flag, round, __ATOMIC_RELEASE);
    pm_publish(&s->flag, sizeof s->flag);
  }
  return 0;
}

static int read_records(pm_test_ctx *ctx, shared *s) {
  for (uint64_t round = 1; round <= (uint64_t)ROUNDS * ctx->scale; ++round) {
    wait_for_flag(s, round);
    pm_acquire(record_of(s), RECORD_WORDS * sizeof(uint64_t));
    for (uint32_t i = 0; i < RECORD_WORDS; ++i) {
      const uint64_t word = record_of(s)[i];
      PM_EXPECT(ctx, word == round * 1000 + i, "round %llu word %u: %llu", (unsigned long long)round, i,
                (unsigned long long)word);
    }
    tell_seen(ctx, s, round);
  }
  return 0;
}

static int worker(pm_test_ctx *ctx) {
  shared *s = pm_test_region(ctx, "publish", sizeof(shared));
  if (s == NULL) return 1;
  return ctx->node == 0 ? write_records(ctx, s) : read_records(ctx, s);
}

const pm_test pm_test_publish_consume = {
    .name = "publish_consume", .about = "records of several lines, then a flag", .setup = setup, .worker = worker};

/* The same with records of one line that go around the cache, by pm_store_line or by DMA. No lock or other fence of the test
 * stands between the record and the flag. */
static int write_line_records(pm_test_ctx *ctx, shared *s, int by_dma) {
  for (uint64_t round = 1; round <= (uint64_t)ROUNDS * ctx->scale; ++round) {
    const _Alignas(PM_LINE) uint64_t record[PM_LINE / sizeof(uint64_t)] = {round, round + 1, 0, 0, 0, 0, 0, round + 7};
    wait_until_seen(ctx, s, round - 1);
    if (by_dma)
      PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, pm_offset(ctx->pool, s->space), record, sizeof record));
    else
      pm_store_line(s->space, record);
    __atomic_store_n(&s->flag, round, __ATOMIC_RELEASE);
    pm_publish(&s->flag, sizeof s->flag);
  }
  return 0;
}

static int read_line_records(pm_test_ctx *ctx, shared *s) {
  const uint64_t *record = (const uint64_t *)(const void *)s->space;
  for (uint64_t round = 1; round <= (uint64_t)ROUNDS * ctx->scale; ++round) {
    wait_for_flag(s, round);
    pm_acquire(record, PM_LINE);
    PM_EXPECT(ctx, record[0] == round && record[1] == round + 1 && record[7] == round + 7, "round %llu: %llu %llu %llu",
              (unsigned long long)round, (unsigned long long)record[0], (unsigned long long)record[1],
              (unsigned long long)record[7]);
    tell_seen(ctx, s, round);
  }
  return 0;
}

static int line_worker(pm_test_ctx *ctx) {
  shared *s = pm_test_region(ctx, "publish", sizeof(shared));
  if (s == NULL) return 1;
  return ctx->node == 0 ? write_line_records(ctx, s, 0) : read_line_records(ctx, s);
}

static int dma_worker(pm_test_ctx *ctx) {
  shared *s = pm_test_region(ctx, "publish", sizeof(shared));
  if (s == NULL) return 1;
  return ctx->node == 0 ? write_line_records(ctx, s, 1) : read_line_records(ctx, s);
}

const pm_test pm_test_store_line = {.name = "store_line",
                                    .about = "records of one line by pm_store_line, then a flag",
                                    .setup = setup,
                                    .worker = line_worker};

const pm_test pm_test_dma_flag = {
    .name = "dma_flag", .about = "records of one line by DMA, then a flag", .setup = setup, .worker = dma_worker};
