/*
 * Ownership of a node id.
 *
 * Openers of the same id have no name yet by which to tell them apart, and nothing in the pool is atomic across hosts, so an
 * id is entered through a door that at most one of any number of openers passes (Lamport's fast path, Moir and Anderson's
 * splitter). For each tenure (epoch) of the id:
 *
 *   last := my token;  if the door is closed: lose;  close the door;  if last is still my token: win
 *
 * Of two that find the door open, the later writer of `last` makes the earlier one lose. It may happen that two collide so
 * closely that nobody wins; such an id stays unused until the pool is formatted again, and PM_NODE_ANY takes the next.
 * Openers on one machine never collide: pm_open queues them by an advisory lock on the pool's file first.
 *
 * Each line is written whole (pm_store_line), so a copy that comes back late never mixes two writers.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "locktable.h"

static void store_claim(pmi_claim_line *line, uint64_t word) {
  const pmi_claim_line whole = {.word = word};
  pm_store_line(line, &whole);
  pm_sync();
}

static uint64_t make_token(uint32_t node) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)getpid() << 40) ^ (uint64_t)now.tv_sec * UINT64_C(1000000000) ^ (uint64_t)now.tv_nsec ^ node;
}

/* That tenure of the id ended by the death of its owner, and nothing of it is left. */
static int is_repaired(pm_pool *pool, uint32_t node, uint64_t epoch) {
  const pmi_verdict *verdict = pmi_verdict_of(pool, node);
  pm_acquire(verdict, sizeof *verdict);
  return pmi_load(&verdict->dead_epoch) >= epoch && pmi_load(&verdict->repaired_epoch) >= epoch;
}

/* 1 claimed, 0 taken by another. */
static int try_claim(pm_pool *pool, uint32_t node) {
  pmi_node_record *record = pmi_node_record_of(pool, node);
  pmi_claim_line *last = (pmi_claim_line *)pmi_at(pool, pool->layout.claims) + (size_t)2 * node;
  pmi_claim_line *door = last + 1;
  pm_acquire(record, sizeof *record);
  const uint64_t state = pmi_load(&record->state);
  if ((state & 1u) && !is_repaired(pool, node, state >> 1)) return 0;
  const uint64_t epoch = (state >> 1) + 1;
  const uint64_t token = make_token(node);
  store_claim(last, token);
  pm_acquire(door, sizeof *door);
  if (pmi_load(&door->word) >= epoch) return 0;
  store_claim(door, epoch);
  pm_acquire(last, sizeof *last);
  if (pmi_load(&last->word) != token) return 0;
  record->token = token;
  pmi_store(&record->state, epoch * 2 + 1);
  pm_publish(record, sizeof *record);
  pm_sync();
  pool->node = node;
  pool->claim_epoch = epoch;
  return 1;
}

int pmi_claim(pm_pool *pool, uint32_t node) {
  const uint32_t nodes = pool->params.nodes;
  if (node != PM_NODE_ANY && node >= nodes) return pmi_error(EINVAL, "node: %u is outside 0..%u", node, nodes - 1);
  const uint32_t first = node == PM_NODE_ANY ? 0 : node;
  const uint32_t last = node == PM_NODE_ANY ? nodes - 1 : node;
  for (uint32_t id = first; id <= last; ++id) {
    if (try_claim(pool, id)) return 0;
  }
  if (node == PM_NODE_ANY) return pmi_error(EBUSY, "node: all %u ids are taken", nodes);
  return pmi_error(EBUSY, "node: id %u is taken; close its owner, have it recovered if it died, or choose another id",
                   node);
}

void pmi_unclaim(pm_pool *pool) {
  pmi_node_record *record = pmi_node_record_of(pool, pool->node);
  pmi_store(&record->state, pool->claim_epoch * 2);
  pm_publish(record, sizeof *record);
  pm_sync();
}
