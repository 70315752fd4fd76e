/*
 * Repair of the prefix index. The buckets are the truth: each is one line, its control word is stored last, and every change
 * of hands is published before the next one begins. What else the index keeps follows from them and is written anew: the
 * replacement list (in its old order as far as its links still make sense), the counters in the head line, and the pins.
 *
 * What a holder of the index lock may leave behind, and why no READY bucket has wrong bytes:
 *   insert   bucket RESERVED, or not yet; memory that is in no bucket is found by pmi_alloc_reclaim
 *   commit   RESERVED or READY; the payload is in the device before READY is stored
 *   evict    EVICTING or gone. The memory is used again only after the bucket is published as a tombstone, so an EVICTING
 *            bucket still has its bytes and turns READY again
 *   move     EVICTING in the old slot and READY, with the same memory, nearer to its home: the old one goes
 *   abort    RESERVED or gone; its memory is found by pmi_alloc_reclaim if it was not freed
 */
#include <errno.h>
#include <stdlib.h>

#include "bucket.h"
#include "lru.h"
#include "pins.h"
#include "repair.h"

static int is_block_place(const pm_pool *pool, const pmi_bucket *bucket) {
  return bucket->length == pool->params.block_bytes && bucket->offset >= pool->layout.heap &&
         bucket->offset % PM_LINE == 0 && bucket->offset <= pool->params.pool_bytes - bucket->length;
}

/* Whether the block of an EVICTING bucket was moved already: to a slot between its home and here. */
static int was_moved(pm_pool *pool, uint64_t slot) {
  const pmi_bucket *old = pmi_bucket_at(pool, slot);
  for (uint64_t at = pmi_home_of(pool, pmi_digest_get(&old->digest)); at != slot; at = (at + 1) & pmi_slot_mask(pool)) {
    const pmi_bucket *other = pmi_bucket_at(pool, at);
    if (pmi_state_of(pmi_bucket_read(pool, at)) == BUCKET_READY && other->offset == old->offset) return 1;
  }
  return 0;
}

static enum pmi_bucket_state settled_state(pm_pool *pool, uint64_t slot, uint64_t dead) {
  const uint64_t control = pmi_bucket_read(pool, slot);
  const uint32_t reserver = pmi_reserver_of(control);
  switch (pmi_state_of(control)) {
    case BUCKET_FREE:
      return BUCKET_FREE;
    case BUCKET_TOMBSTONE:
      return BUCKET_TOMBSTONE;
    case BUCKET_RESERVED:
      return reserver < PM_NODES_MAX && !(dead >> reserver & 1u) ? BUCKET_RESERVED : BUCKET_TOMBSTONE;
    case BUCKET_READY:
      return is_block_place(pool, pmi_bucket_at(pool, slot)) ? BUCKET_READY : BUCKET_TOMBSTONE;
    case BUCKET_EVICTING:
      return was_moved(pool, slot) ? BUCKET_TOMBSTONE : BUCKET_READY;
  }
  return BUCKET_TOMBSTONE;
}

static void settle(pm_pool *pool, uint64_t slot, uint64_t dead) {
  const uint64_t control = pmi_bucket_read(pool, slot);
  const enum pmi_bucket_state state = settled_state(pool, slot, dead);
  if (state != pmi_state_of(control)) pmi_bucket_store(pool, slot, pmi_with_state(control, state));
}

static int is_block(pm_pool *pool, uint64_t slot) {
  const enum pmi_bucket_state state = pmi_state_of(pmi_bucket_read(pool, slot));
  return state == BUCKET_READY || state == BUCKET_RESERVED;
}

/* The old list from its young end, up to the first link that leads nowhere; then whatever it misses. Returns how many. */
static uint64_t collect_blocks(pm_pool *pool, uint64_t *order, uint8_t *listed) {
  const uint64_t slots = pool->params.index_slots;
  uint64_t n = 0;
  for (uint64_t slot = pmi_lru_youngest(pool); slot < slots && !listed[slot]; slot = pmi_lru_older(pool, slot)) {
    listed[slot] = 1;
    if (is_block(pool, slot)) order[n++] = slot;
  }
  for (uint64_t slot = 0; slot < slots; ++slot) {
    if (!listed[slot] && is_block(pool, slot)) order[n++] = slot;
  }
  return n;
}

static void write_head(pm_pool *pool, uint64_t blocks) {
  pmi_index_head *head = pmi_index_head_of(pool);
  uint64_t tombstones = 0;
  for (uint64_t slot = 0; slot < pool->params.index_slots; ++slot)
    tombstones += pmi_state_of(pmi_bucket_read(pool, slot)) == BUCKET_TOMBSTONE;
  head->count = blocks;
  head->tombstones = tombstones;
  if (head->inserts < blocks) head->inserts = blocks;
  head->evictions = head->inserts - blocks;
  pmi_hold_changed(pool, &pool->index, head);
}

int pmi_index_repair(pm_pool *pool, uint64_t dead_nodes_mask) {
  const uint64_t slots = pool->params.index_slots;
  uint64_t *order = calloc(slots, sizeof *order);
  uint8_t *listed = calloc(slots, sizeof *listed);
  int rc = 0;
  if (order == NULL || listed == NULL) {
    rc = pmi_error(ENOMEM, "memory: no room to repair %llu slots", (unsigned long long)slots);
  } else {
    pool->index.epoch += 1; /* no copy from before is trusted */
    for (uint64_t slot = 0; slot < slots; ++slot) settle(pool, slot, dead_nodes_mask);
    const uint64_t blocks = collect_blocks(pool, order, listed);
    pmi_lru_rebuild(pool, order, blocks);
    write_head(pool, blocks);
    for (uint32_t node = 0; node < pool->params.nodes; ++node) {
      if (dead_nodes_mask >> node & 1u) (void)pmi_pins_clear(pool, node);
    }
    pmi_hold_publish(pool, &pool->index);
  }
  free(order);
  free(listed);
  return rc;
}
