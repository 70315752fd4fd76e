/*
 * Replacement policies over one doubly linked list of the slots (lru.c).
 *
 * LRU, as in the paper: every use moves the block to the young end, so the list is exact, and each hit takes the index lock
 * and rewrites the links of up to three blocks and the head line.
 *
 * CLOCK (second chance): the list is in the order of insertion. A use leaves its trace where the reader writes anyway: the
 * line with its pin also counts how often the node took one. Whoever needs room looks at the oldest block: when the sum of
 * these counts, over all nodes, differs from the sum it had when the list last looked (`seen`), the block goes to the young
 * end and gets a second chance; else it is evicted. The counts are on the lines that an evictor reads for the pins. So a hit
 * costs neither lock nor line. The counts are never reset, for they belong to another node; `seen` follows them instead, also
 * when a slot changes its block. Two looks that are exactly 65,536 uses apart take a block for unused, which costs a miss.
 */
#include "policy.h"

#include "bucket.h"
#include "lru.h"
#include "pins.h"

#define CLOCK_ROUNDS_MAX 3u /* over the list; in the last one uses count no more, only pins */

static int is_clock(const pm_pool *pool) {
  return pool->params.replacement == PM_REPLACE_CLOCK;
}

int pmi_policy_moves_on_use(const pm_pool *pool) {
  return !is_clock(pool);
}

/* The pin that the filler holds is no use of the block. */
void pmi_policy_inserted(pm_pool *pool, uint64_t slot) {
  pmi_lru_insert(pool, slot);
  if (is_clock(pool)) pmi_lru_see(pool, slot, pmi_lru_seen(pool, slot) + 1);
}

void pmi_policy_used(pm_pool *pool, const pm_ref *refs, size_t n) {
  if (is_clock(pool)) return;
  for (size_t i = n; i-- > 0;) {
    if (refs[i].state != PM_REF_NONE) pmi_lru_touch(pool, refs[i].slot);
  }
}

static uint64_t close_least_recent(pm_pool *pool) {
  for (uint64_t slot = pmi_lru_oldest(pool); slot != PMI_NO_SLOT; slot = pmi_lru_younger(pool, slot)) {
    uint32_t uses;
    if (pmi_state_of(pmi_bucket_read(pool, slot)) != BUCKET_READY || pmi_pins_use(pool, slot).pins != 0) continue;
    if (pmi_bucket_close(pool, slot, &uses)) return slot;
  }
  return PMI_NO_SLOT;
}

/* 1 closed; else it has another chance, and *uses is what to remember. */
static int close_unused(pm_pool *pool, uint64_t slot, int last_round, uint32_t *uses) {
  const pmi_use use = pmi_pins_use(pool, slot);
  *uses = use.uses;
  if (pmi_state_of(pmi_bucket_read(pool, slot)) != BUCKET_READY || use.pins != 0) return 0;
  if (!last_round && use.uses != pmi_lru_seen(pool, slot)) return 0;
  return pmi_bucket_close(pool, slot, uses);
}

static uint64_t close_second_chance(pm_pool *pool) {
  const uint64_t count = pmi_index_head_of(pool)->count;
  for (uint64_t step = 0; step < CLOCK_ROUNDS_MAX * count; ++step) {
    const uint64_t slot = pmi_lru_oldest(pool);
    uint32_t uses;
    const int closed = close_unused(pool, slot, step >= (CLOCK_ROUNDS_MAX - 1) * count, &uses);
    pmi_lru_see(pool, slot, uses);
    if (closed) return slot;
    pmi_lru_touch(pool, slot);
  }
  return PMI_NO_SLOT;
}

uint64_t pmi_policy_close_victim(pm_pool *pool) {
  return is_clock(pool) ? close_second_chance(pool) : close_least_recent(pool);
}

/* The counts of the new slot do not know of the block: a use that nobody has looked at is kept by remembering one less. */
void pmi_policy_moved(pm_pool *pool, uint64_t from, uint64_t to, uint32_t uses) {
  if (!is_clock(pool)) return;
  if (uses != pmi_lru_seen(pool, from)) pmi_lru_see(pool, to, pmi_lru_seen(pool, to) - 1);
  pmi_lru_see(pool, from, uses);
}

void pmi_policy_removed(pm_pool *pool, uint64_t slot) {
  pmi_lru_remove(pool, slot);
  if (is_clock(pool)) pmi_lru_see(pool, slot, pmi_pins_use(pool, slot).uses);
}
