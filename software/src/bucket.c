/*
 * Buckets under the index lock. Linear probing needs tombstones, or an emptied bucket would cut the chains that pass over it.
 * Their number is bounded: an insert takes the first one of its chain, a retired bucket in front of a free one becomes free
 * with all tombstones before it, and more than one in TOMBSTONE_SHARE buckets start a compaction in place.
 */
#include "bucket.h"

#include <stdlib.h>
#include <string.h>

#include "lru.h"
#include "pins.h"
#include "policy.h"

#define TOMBSTONE_SHARE 16u

pmi_index_head *pmi_index_head_of(pm_pool *pool) {
  pmi_index_head *head = pmi_at(pool, pool->layout.index_head);
  pmi_hold_read(pool, &pool->index, head);
  return head;
}

/* While RESERVED a bucket is its reserver's, who turns it READY without the lock: such a copy may be old. */
uint64_t pmi_bucket_read(pm_pool *pool, uint64_t slot) {
  const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  pmi_hold_read(pool, &pool->index, bucket);
  if (pmi_state_of(pmi_peek(&bucket->control)) == BUCKET_RESERVED) pmi_hold_reread(pool, &pool->index, bucket);
  return pmi_load(&bucket->control);
}

void pmi_bucket_store(pm_pool *pool, uint64_t slot, uint64_t control) {
  pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  pmi_store(&bucket->control, control);
  pmi_publish(pool, bucket, sizeof *bucket);
}

static void note_probes(pm_pool *pool, uint64_t probes) {
  pmi_index_head *head = pmi_index_head_of(pool);
  if (probes <= head->probe_max) return;
  head->probe_max = probes;
  pmi_hold_changed(pool, &pool->index, head);
}

enum pmi_bucket_state pmi_bucket_find(pm_pool *pool, pm_digest digest, pm_digest parent, uint64_t *slot) {
  const uint64_t mask = pmi_slot_mask(pool), home = pmi_home_of(pool, digest);
  int vacant_found = 0;
  for (uint64_t i = 0; i <= mask; ++i) {
    const uint64_t at = (home + i) & mask;
    const enum pmi_bucket_state state = pmi_state_of(pmi_bucket_read(pool, at));
    const pmi_bucket *bucket = pmi_bucket_at(pool, at);
    if (state == BUCKET_FREE || state == BUCKET_TOMBSTONE) {
      if (!vacant_found) *slot = at;
      vacant_found = 1;
      if (state == BUCKET_TOMBSTONE) continue;
      note_probes(pool, i + 1);
      return BUCKET_FREE;
    }
    if (pmi_digest_is(&bucket->digest, digest) && pmi_digest_is(&bucket->parent, parent)) {
      *slot = at;
      return state;
    }
  }
  assert(vacant_found); /* the capacity is below the number of slots */
  note_probes(pool, mask + 1);
  return BUCKET_FREE;
}

uint32_t pmi_bucket_take(pm_pool *pool, uint64_t slot, pm_digest digest, pm_digest parent, uint64_t offset) {
  const uint64_t control = pmi_bucket_read(pool, slot);
  pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  if (pmi_state_of(control) == BUCKET_TOMBSTONE) {
    pmi_index_head *head = pmi_index_head_of(pool);
    head->tombstones -= 1;
    pmi_hold_changed(pool, &pool->index, head);
  }
  uint32_t generation = pmi_generation_of(control) + 1;
  if (PM_MUTANT_ON(generation_not_bumped) && generation > 1) generation -= 1;
  pmi_digest_set(&bucket->digest, digest);
  pmi_digest_set(&bucket->parent, parent);
  bucket->offset = offset;
  bucket->length = pool->params.block_bytes;
  pmi_bucket_store(pool, slot, pmi_control(BUCKET_RESERVED, pool->node, generation));
  return generation;
}

/* A Dekker step with the readers: they publish a pin, sync and read the state; the evictor publishes the state, syncs and
 * reads the pins. At least one of the two sees the other. The sync holds also between threads of one node, whose pins are read
 * without an acquire: there the store of the state must leave the store buffer before the pins are read. */
int pmi_bucket_close(pm_pool *pool, uint64_t slot, uint32_t *uses) {
  const uint64_t control = pmi_bucket_read(pool, slot);
  pmi_bucket_store(pool, slot, pmi_with_state(control, BUCKET_EVICTING));
  pmi_sync(pool);
  const pmi_use use = pmi_pins_use(pool, slot);
  *uses = use.uses;
  if (use.pins == 0) return 1;
  pmi_bucket_store(pool, slot, pmi_with_state(control, BUCKET_READY));
  return 0;
}

void pmi_bucket_retire(pm_pool *pool, uint64_t slot) {
  const uint64_t mask = pmi_slot_mask(pool);
  pmi_index_head *head = pmi_index_head_of(pool);
  pmi_hold_changed(pool, &pool->index, head);
  pmi_bucket_store(pool, slot, pmi_with_state(pmi_bucket_read(pool, slot), BUCKET_TOMBSTONE));
  head->tombstones += 1;
  if (pmi_state_of(pmi_bucket_read(pool, (slot + 1) & mask)) != BUCKET_FREE) return;
  for (uint64_t control = pmi_bucket_read(pool, slot); pmi_state_of(control) == BUCKET_TOMBSTONE;
       control = pmi_bucket_read(pool, slot)) {
    pmi_bucket_store(pool, slot, pmi_with_state(control, BUCKET_FREE));
    head->tombstones -= 1;
    slot = (slot - 1) & mask;
  }
}

/* Move an unpinned block to the tombstone `to`. The new bucket is in the device before the old one goes, so a lock-free
 * reader finds the block in one place or the other. */
static void move(pm_pool *pool, uint64_t from, uint64_t to) {
  uint32_t uses;
  if (pmi_pins_use(pool, from).pins != 0 || !pmi_bucket_close(pool, from, &uses)) return;
  const pmi_bucket *old = pmi_bucket_at(pool, from);
  const uint64_t control = pmi_bucket_read(pool, to);
  pmi_bucket *bucket = pmi_bucket_at(pool, to);
  pmi_digest_set(&bucket->digest, pmi_digest_get(&old->digest));
  pmi_digest_set(&bucket->parent, pmi_digest_get(&old->parent));
  bucket->offset = old->offset;
  bucket->length = old->length;
  pmi_bucket_store(pool, to, pmi_control(BUCKET_READY, pool->node, pmi_generation_of(control) + 1));
  pmi_lru_replace(pool, from, to);
  pmi_policy_moved(pool, from, to, uses);
  pmi_bucket_store(pool, from, pmi_with_state(pmi_bucket_read(pool, from), BUCKET_TOMBSTONE));
}

static int is_live(enum pmi_bucket_state state) {
  return state == BUCKET_RESERVED || state == BUCKET_READY || state == BUCKET_EVICTING;
}

/* Tombstones between its home and a block keep the block reachable: mark them. */
static void keep_chain(pm_pool *pool, uint64_t slot, uint8_t *keep) {
  const uint64_t mask = pmi_slot_mask(pool);
  for (uint64_t at = pmi_home_of(pool, pmi_digest_get(&pmi_bucket_at(pool, slot)->digest)); at != slot;
       at = (at + 1) & mask)
    keep[at] = 1;
}

static void free_unneeded(pm_pool *pool, const uint8_t *keep) {
  pmi_index_head *head = pmi_index_head_of(pool);
  pmi_hold_changed(pool, &pool->index, head);
  for (uint64_t slot = 0; slot <= pmi_slot_mask(pool); ++slot) {
    const uint64_t control = pmi_bucket_read(pool, slot);
    if (pmi_state_of(control) != BUCKET_TOMBSTONE || keep[slot]) continue;
    pmi_bucket_store(pool, slot, pmi_with_state(control, BUCKET_FREE));
    head->tombstones -= 1;
  }
}

void pmi_bucket_compact(pm_pool *pool) {
  const uint64_t mask = pmi_slot_mask(pool);
  if (pmi_index_head_of(pool)->tombstones * TOMBSTONE_SHARE <= mask) return;
  uint8_t *keep = calloc(mask + 1, sizeof *keep);
  if (keep == NULL) return; /* an optimization; the next insert tries again */
  for (uint64_t slot = 0; slot <= mask; ++slot) {
    if (pmi_state_of(pmi_bucket_read(pool, slot)) != BUCKET_READY) continue;
    uint64_t to = pmi_home_of(pool, pmi_digest_get(&pmi_bucket_at(pool, slot)->digest));
    while (to != slot && pmi_state_of(pmi_bucket_read(pool, to)) != BUCKET_TOMBSTONE) to = (to + 1) & mask;
    if (to != slot) move(pool, slot, to);
  }
  for (uint64_t slot = 0; slot <= mask; ++slot) {
    if (is_live(pmi_state_of(pmi_bucket_read(pool, slot)))) keep_chain(pool, slot, keep);
  }
  free_unneeded(pool, keep);
  free(keep);
}
