/*
 * Replacement list. Links lie apart from the buckets, so that a bucket line has one writer while it is RESERVED, and four to
 * a line. All changes of one tenure of the lock stay in the node's cache and are published once at its end.
 */
#include "lru.h"

#include "bucket.h"

#define USES_MASK UINT32_C(0xffff)

static pmi_link *link_of(pm_pool *pool, uint64_t slot) {
  pmi_link *link = (pmi_link *)pmi_at(pool, pool->layout.links) + slot;
  pmi_hold_read(pool, &pool->index, link);
  return link;
}

static uint64_t slot_of(uint64_t stored) {
  return stored == 0 ? PMI_NO_SLOT : stored - 1;
}

/* Numbers are slots plus one, 0 is the end of the list, whose link is in the head line. */
static void set_older(pm_pool *pool, uint64_t number, uint64_t older) {
  if (number == 0) {
    pmi_index_head *head = pmi_index_head_of(pool);
    head->youngest = older;
    pmi_hold_changed(pool, &pool->index, head);
  } else {
    pmi_link *link = link_of(pool, number - 1);
    link->older = (uint32_t)older;
    pmi_hold_changed(pool, &pool->index, link);
  }
}

static void set_younger(pm_pool *pool, uint64_t number, uint64_t younger) {
  if (number == 0) {
    pmi_index_head *head = pmi_index_head_of(pool);
    head->oldest = younger;
    pmi_hold_changed(pool, &pool->index, head);
  } else {
    pmi_link *link = link_of(pool, number - 1);
    link->younger = (uint32_t)younger;
    if (!PM_MUTANT_ON(lru_one_neighbour)) pmi_hold_changed(pool, &pool->index, link);
  }
}

void pmi_lru_insert(pm_pool *pool, uint64_t slot) {
  const uint64_t number = slot + 1, first = pmi_index_head_of(pool)->youngest;
  set_younger(pool, first, number);
  set_older(pool, number, first);
  set_younger(pool, number, 0);
  set_older(pool, 0, number);
}

void pmi_lru_remove(pm_pool *pool, uint64_t slot) {
  const pmi_link *link = link_of(pool, slot);
  const uint32_t older = link->older, younger = link->younger;
  set_younger(pool, older, younger);
  set_older(pool, younger, older);
}

void pmi_lru_touch(pm_pool *pool, uint64_t slot) {
  if (pmi_index_head_of(pool)->youngest == slot + 1) return;
  pmi_lru_remove(pool, slot);
  pmi_lru_insert(pool, slot);
}

void pmi_lru_replace(pm_pool *pool, uint64_t from, uint64_t to) {
  const pmi_link *link = link_of(pool, from);
  const uint32_t older = link->older, younger = link->younger;
  set_older(pool, to + 1, older);
  set_younger(pool, to + 1, younger);
  set_younger(pool, older, to + 1);
  set_older(pool, younger, to + 1);
}

uint64_t pmi_lru_oldest(pm_pool *pool) {
  return slot_of(pmi_index_head_of(pool)->oldest);
}

uint64_t pmi_lru_younger(pm_pool *pool, uint64_t slot) {
  return slot_of(link_of(pool, slot)->younger);
}

uint64_t pmi_lru_youngest(pm_pool *pool) {
  return slot_of(pmi_index_head_of(pool)->youngest);
}

uint64_t pmi_lru_older(pm_pool *pool, uint64_t slot) {
  return slot_of(link_of(pool, slot)->older);
}

uint32_t pmi_lru_seen(pm_pool *pool, uint64_t slot) {
  return link_of(pool, slot)->seen;
}

void pmi_lru_see(pm_pool *pool, uint64_t slot, uint32_t uses) {
  pmi_link *link = link_of(pool, slot);
  if (link->seen == (uses & USES_MASK)) return;
  link->seen = uses & USES_MASK;
  pmi_hold_changed(pool, &pool->index, link);
}

void pmi_lru_rebuild(pm_pool *pool, const uint64_t *slots, uint64_t n) {
  uint64_t younger = 0;
  for (uint64_t i = 0; i < n; ++i) {
    set_older(pool, younger, slots[i] + 1);
    set_younger(pool, slots[i] + 1, younger);
    younger = slots[i] + 1;
  }
  set_older(pool, younger, 0);
  set_younger(pool, 0, younger);
}
