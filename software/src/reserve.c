/*
 * Prefix index, the side under PMI_LOCK_INDEX that changes it: reserve, abort, evict.
 *
 * Order of pm_index_reserve: blocks of the chain that are there are pinned and used, last to first; missing ones are inserted
 * first to last, each taking the memory of a block that the policy names (policy.c) when there is no room; at last the whole
 * chain is used, last to first. So under LRU a parent is never older than its child, and residency is block by block that of
 * a plain cache with the same policy which sees the same chains in the same order.
 *
 * Order of the stores, for the sake of a node that dies in between: a bucket is published before the memory that it names
 * changes hands, and the list and the counters come last, since index_repair.c can write them anew.
 */
#include <errno.h>

#include "bucket.h"
#include "lru.h"
#include "pins.h"
#include "policy.h"
#include "repair.h"

/* Evict the block that the policy names; *offset gets its memory. -ENOSPC when there is none. */
static int evict_one(pm_pool *pool, uint64_t *offset) {
  const uint64_t slot = pmi_policy_close_victim(pool);
  if (slot == PMI_NO_SLOT)
    return pmi_error(ENOSPC, "index: every block is pinned or being filled, none can be evicted");
  *offset = pmi_bucket_at(pool, slot)->offset;
  pmi_lru_remove(pool, slot);
  pmi_bucket_retire(pool, slot);
  pmi_index_head *head = pmi_index_head_of(pool);
  head->count -= 1;
  head->evictions += 1;
  pmi_hold_changed(pool, &pool->index, head);
  pmi_count(pool, evictions, 1);
  return 0;
}

static int find_memory(pm_pool *pool, uint64_t *offset) {
  if (pmi_index_head_of(pool)->count < pool->params.index_capacity) {
    const int rc = pmi_alloc_payload(pool, offset);
    if (rc != -ENOMEM) return rc;
  }
  return evict_one(pool, offset);
}

/* Insert chain[i], which is absent. */
static int insert(pm_pool *pool, uint64_t request, pm_digest digest, pm_digest parent, pm_ref *ref) {
  uint64_t offset, slot;
  int rc = find_memory(pool, &offset);
  if (rc < 0) return rc;
  const enum pmi_bucket_state state = pmi_bucket_find(pool, digest, parent, &slot);
  if (state != BUCKET_FREE) { /* the same digest twice in one chain */
    *ref = (pm_ref){.slot = slot, .state = PM_REF_PENDING};
    return pm_free(pool, offset);
  }
  const uint32_t generation = pmi_bucket_take(pool, slot, digest, parent, offset);
  const pm_ref taken = {.slot = slot, .offset = offset, .generation = generation, .state = PM_REF_RESERVED};
  pmi_policy_inserted(pool, slot);
  pmi_index_head *head = pmi_index_head_of(pool);
  head->count += 1;
  head->inserts += 1;
  pmi_hold_changed(pool, &pool->index, head);
  *ref = taken;
  rc = pmi_pins_take(pool, request, &taken, 1);
  if (rc == 0) pmi_count(pool, inserts, 1);
  return rc;
}

/* Undo an insert: the bucket, the place in the list and the memory. */
static int remove_reserved(pm_pool *pool, const pm_ref *ref) {
  pmi_policy_removed(pool, ref->slot);
  pmi_bucket_retire(pool, ref->slot);
  pmi_index_head *head = pmi_index_head_of(pool);
  head->count -= 1;
  pmi_hold_changed(pool, &pool->index, head);
  return pm_free(pool, ref->offset);
}

/* Pin what is there of chain[hits..n); returns how many are absent, or -errno with refs[hits..*done) looked at. */
static int pin_present(pm_pool *pool, uint64_t request, pm_digest root, const pm_digest *chain, size_t n, size_t hits,
                       pm_ref *refs) {
  int absent = 0;
  for (size_t i = hits; i < n; ++i) refs[i] = (pm_ref){.state = PM_REF_NONE};
  for (size_t i = hits; i < n; ++i) {
    uint64_t slot;
    const enum pmi_bucket_state state = pmi_bucket_find(pool, chain[i], i == 0 ? root : chain[i - 1], &slot);
    if (state == BUCKET_FREE) {
      absent += 1;
      continue;
    }
    const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
    pm_ref ref = {.slot = slot, .offset = bucket->offset, .generation = pmi_generation_of(pmi_load(&bucket->control))};
    ref.state = state == BUCKET_READY ? PM_REF_HIT : PM_REF_PENDING;
    if (state == BUCKET_READY) {
      const int rc = pmi_pins_take(pool, request, &ref, 1);
      if (rc < 0) return rc;
    }
    refs[i] = ref;
  }
  return absent;
}

static void undo(pm_pool *pool, uint64_t request, pm_ref *refs, size_t hits, size_t n) {
  for (size_t i = hits; i < n; ++i) {
    if (refs[i].state == PM_REF_HIT || refs[i].state == PM_REF_RESERVED)
      (void)pmi_pins_drop(pool, request, &refs[i], 1);
    if (refs[i].state == PM_REF_RESERVED) (void)remove_reserved(pool, &refs[i]);
    refs[i] = (pm_ref){.state = PM_REF_NONE};
  }
}

static int reserve_locked(pm_pool *pool, uint64_t request, pm_digest root, const pm_digest *chain, size_t n,
                          size_t hits, pm_ref *refs) {
  pmi_bucket_compact(pool);
  int rc = pin_present(pool, request, root, chain, n, hits, refs);
  int reserved = 0;
  if (rc > 0) pmi_policy_used(pool, refs, n);
  for (size_t i = hits; rc >= 0 && i < n; ++i) {
    if (refs[i].state != PM_REF_NONE) continue;
    rc = insert(pool, request, chain[i], i == 0 ? root : chain[i - 1], &refs[i]);
    if (rc == 0 && refs[i].state == PM_REF_RESERVED) reserved += 1;
  }
  if (rc < 0) {
    undo(pool, request, refs, hits, n);
    return rc;
  }
  pmi_policy_used(pool, refs, n);
  return reserved;
}

static int check_chain(const pm_pool *pool, const pm_chain *c, size_t number) {
  const int rc = pmi_chain_check(c, number);
  if (rc < 0) return rc;
  if (c->hits > c->n)
    return pmi_error(EINVAL, "chains[%zu]: hits: %zu is more than the %zu blocks of the chain", number, c->hits, c->n);
  for (size_t i = 0; i < c->hits; ++i) {
    if (c->refs[i].state != PM_REF_HIT || c->refs[i].slot > pmi_slot_mask(pool))
      return pmi_error(EINVAL, "chains[%zu]: refs[%zu]: is not a pinned block of a lookup", number, i);
  }
  return 0;
}

/* Pins that were taken on the way are published with the rest, before the lock goes. */
static int reserve_all(pm_pool *pool, pm_digest root, pm_chain *chains, size_t count) {
  int reserved = 0, rc = 0;
  for (size_t i = 0; i < count; ++i) {
    pm_chain *c = &chains[i];
    c->result = reserve_locked(pool, c->request, root, c->digests, c->n, c->hits, c->refs);
    if (c->result >= 0)
      reserved += c->result;
    else if (rc == 0)
      rc = c->result;
  }
  pmi_sync(pool);
  return rc < 0 ? rc : reserved;
}

int pm_index_reserve_many(pm_pool *pool, pm_digest root, pm_chain *chains, size_t count) {
  int rc = pmi_usable(pool), complete = !pmi_policy_moves_on_use(pool);
  for (size_t i = 0; rc == 0 && i < count; ++i) {
    rc = check_chain(pool, &chains[i], i);
    complete = complete && chains[i].hits == chains[i].n;
    chains[i].result = 0;
  }
  if (rc < 0 || complete) return rc;
  rc = pmi_hold_begin(pool, &pool->index);
  if (rc < 0) return rc;
  rc = reserve_all(pool, root, chains, count);
  const int end = pmi_hold_end(pool, &pool->index);
  return end < 0 ? end : rc;
}

int pm_index_reserve(pm_pool *pool, uint64_t request, pm_digest root, const pm_digest *chain, size_t n, size_t hits,
                     pm_ref *refs) {
  pm_chain one = {.request = request, .digests = chain, .n = n, .refs = refs, .hits = hits};
  return pm_index_reserve_many(pool, root, &one, 1);
}

int pm_index_abort(pm_pool *pool, uint64_t request, pm_ref *refs, size_t n) {
  int rc = pmi_usable(pool);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->index);
  if (rc < 0) return rc;
  for (size_t i = 0; rc == 0 && i < n; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    if (pmi_bucket_read(pool, refs[i].slot) != pmi_control(BUCKET_RESERVED, pool->node, refs[i].generation)) {
      rc = pmi_error(ESTALE, "refs[%zu]: slot %llu is not reserved with generation %u by this node", i,
                     (unsigned long long)refs[i].slot, refs[i].generation);
      break;
    }
    rc = pmi_pins_drop(pool, request, &refs[i], 1);
    if (rc == 0) rc = remove_reserved(pool, &refs[i]);
    refs[i].state = PM_REF_NONE;
  }
  const int end = pmi_hold_end(pool, &pool->index);
  return rc < 0 ? rc : end;
}

int pm_index_evict(pm_pool *pool, size_t n) {
  int rc = pmi_usable(pool);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->index);
  if (rc < 0) return rc;
  size_t evicted = 0;
  while (evicted < n) {
    uint64_t offset;
    rc = evict_one(pool, &offset);
    if (rc == 0) rc = pm_free(pool, offset);
    if (rc < 0) break;
    evicted += 1;
  }
  const int end = pmi_hold_end(pool, &pool->index);
  if (rc < 0 && rc != -ENOSPC) return rc;
  return end < 0 ? end : (int)evicted;
}
