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
  unsigned char space[512];
} shared;

static uint64_t *record_of(shared *s) {
  return (uint64_t *)(void *)(s->space + RECORD_AT);
}

static int setup(pm_test_ctx *ctx) {
  return pm_test_region_make(ctx, "publish", sizeof(shared));
}

static int write_records(pm_test_ctx *ctx, shared *s) {
  for (uint64_t round = 1; round <= ROUNDS * ctx->scale; ++round) {
    for (uint32_t node = 1; node < ctx->nodes; ++node) {
      do {
        pm_relax();
        pm_acquire(&s->nodes[node], PM_LINE);
      } while (__atomic_load_n(&s->nodes[node].seen, __ATOMIC_ACQUIRE) != round - 1);
    }
    for (uint32_t i = 0; i < RECORD_WORDS; ++i) record_of(s)[i] = round * 1000 + i;
    pm_publish(record_of(s), RECORD_WORDS * sizeof(uint64_t));
    __atomic_store_n(&s->flag, round, __ATOMIC_RELEASE);
    pm_publish(&s->flag, sizeof s->flag);
  }
  return 0;
}

static int read_records(pm_test_ctx *ctx, shared *s) {
  for (uint64_t round = 1; round <= ROUNDS * ctx->scale; ++round) {
    do {
      pm_relax();
      pm_acquire(&s->flag, sizeof s->flag);
    } while (__atomic_load_n(&s->flag, __ATOMIC_ACQUIRE) != round);
    pm_acquire(record_of(s), RECORD_WORDS * sizeof(uint64_t));
    for (uint32_t i = 0; i < RECORD_WORDS; ++i) {
      const uint64_t word = record_of(s)[i];
      PM_EXPECT(ctx, word == round * 1000 + i, "round %llu word %u: %llu", (unsigned long long)round, i,
                (unsigned long long)word);
    }
    __atomic_store_n(&s->nodes[ctx->node].seen, round, __ATOMIC_RELEASE);
    pm_publish(&s->nodes[ctx->node], PM_LINE);
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
