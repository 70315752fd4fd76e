/*
 * Prefix index: counters and the full audit, under PMI_LOCK_INDEX.
 */
#include <errno.h>
#include <stdlib.h>

#include "bucket.h"
#include "lru.h"
#include "pins.h"

int pm_index_stat(pm_pool *pool, pm_index_info *out) {
  int rc = pmi_usable(pool);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->index);
  if (rc < 0) return rc;
  const pmi_index_head *head = pmi_index_head_of(pool);
  *out = (pm_index_info){.slots = pool->params.index_slots,
                         .capacity = pool->params.index_capacity,
                         .tombstones = head->tombstones,
                         .inserts = head->inserts,
                         .evictions = head->evictions,
                         .probe_max = head->probe_max};
  for (uint64_t slot = pmi_lru_oldest(pool); slot != PMI_NO_SLOT; slot = pmi_lru_younger(pool, slot)) {
    if (pmi_state_of(pmi_bucket_read(pool, slot)) == BUCKET_RESERVED)
      out->reserved += 1;
    else
      out->resident += 1;
  }
  return pmi_hold_end(pool, &pool->index);
}

static int unclean(const char *what, uint64_t slot) {
  return pmi_error(EUCLEAN, "index: %s (slot %llu)", what, (unsigned long long)slot);
}

/* The list from the old end: each link answered by its neighbour, each slot live, as many as the head says. */
static int audit_list(pm_pool *pool, uint8_t *listed) {
  const pmi_link *links = pmi_at(pool, pool->layout.links);
  const pmi_index_head *head = pmi_index_head_of(pool);
  uint64_t count = 0, last = 0;
  for (uint64_t slot = pmi_lru_oldest(pool); slot != PMI_NO_SLOT; slot = pmi_lru_younger(pool, slot)) {
    if (slot > pmi_slot_mask(pool)) return unclean("a link leads outside the table", slot);
    if (listed[slot]) return unclean("the replacement list has a loop", slot);
    listed[slot] = 1;
    pmi_hold_read(pool, &pool->index, &links[slot]);
    if (links[slot].older != last) return unclean("a link to the older block is wrong", slot);
    last = slot + 1;
    count += 1;
  }
  if (head->youngest != last) return unclean("the young end of the replacement list is wrong", last - 1);
  if (head->count != count) return unclean("the number of blocks is wrong", count);
  if (count > pool->params.index_capacity) return unclean("more blocks than the capacity", count);
  return 0;
}

static int audit_live(pm_pool *pool, uint64_t slot) {
  const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  uint64_t found;
  if (pmi_bucket_find(pool, pmi_digest_get(&bucket->digest), pmi_digest_get(&bucket->parent), &found) == BUCKET_FREE ||
      found != slot)
    return unclean("probing does not find the block where it is", slot);
  if (bucket->length != pool->params.block_bytes) return unclean("the length is wrong", slot);
  if (!pmi_alloc_is_live(pool, bucket->offset)) return unclean("the payload is not a live allocation", slot);
  return 0;
}

static int audit_bucket(pm_pool *pool, uint64_t slot, int listed, uint64_t *tombstones) {
  switch (pmi_state_of(pmi_bucket_read(pool, slot))) {
    case BUCKET_FREE:
    case BUCKET_TOMBSTONE:
      *tombstones += pmi_state_of(pmi_bucket_read(pool, slot)) == BUCKET_TOMBSTONE;
      if (listed) return unclean("an empty bucket is in the replacement list", slot);
      return 0;
    case BUCKET_RESERVED:
    case BUCKET_READY:
      if (!listed) return unclean("a block is missing in the replacement list", slot);
      return audit_live(pool, slot);
    case BUCKET_EVICTING:
      return unclean("an eviction was left half-way", slot);
  }
  return unclean("the state is unknown", slot);
}

/* Readers pin a slot before they look at it a second time, so a pin on an empty bucket may be on its way out; it is an error
 * only while this node is the one that holds it and no lookup runs, which the caller of an audit sees to. */
static int audit_pins(pm_pool *pool, uint64_t slot) {
  const enum pmi_bucket_state state = pmi_state_of(pmi_bucket_read(pool, slot));
  if ((state == BUCKET_FREE || state == BUCKET_TOMBSTONE) && pmi_pins_use(pool, slot).pins != 0)
    return unclean("a pin is held on an empty bucket", slot);
  return 0;
}

int pm_index_audit(pm_pool *pool) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  uint8_t *listed = calloc(pool->params.index_slots, sizeof *listed);
  if (listed == NULL) return pmi_error(ENOMEM, "memory: no room for an audit");
  rc = pmi_hold_begin(pool, &pool->index);
  if (rc == 0) {
    uint64_t tombstones = 0;
    rc = audit_list(pool, listed);
    for (uint64_t slot = 0; rc == 0 && slot < pool->params.index_slots; ++slot) {
      rc = audit_bucket(pool, slot, listed[slot], &tombstones);
      if (rc == 0) rc = audit_pins(pool, slot);
    }
    if (rc == 0 && tombstones != pmi_index_head_of(pool)->tombstones)
      rc = unclean("the number of tombstones is wrong", tombstones);
    const int end = pmi_hold_end(pool, &pool->index);
    if (rc == 0) rc = end;
  }
  free(listed);
  return rc;
}
