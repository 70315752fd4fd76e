/*
 * Prefix index, the side without lock: lookup, commit, check, release.
 *
 * A reader acquires the bucket, reads its control word (acquire), the rest, and the control word again. To use the payload it
 * pins the slot, publishes the pin, syncs, acquires the bucket once more and finds the same control word: from then on no
 * evictor takes the block (bucket.c, pmi_bucket_close).
 */
#include "prismem/index.h"

#include <errno.h>

#include "bucket.h"
#include "pins.h"

#define LOOKUP_ROUNDS_MAX 4u       /* how often a prefix that changed under the lookup is tried again */
#define READ_ROUNDS_MAX 64u        /* how often a bucket that changes while it is read is read again */
#define EVICTING_POLLS_MAX 100000u /* an evictor that takes longer counts as one that succeeds */

/* One consistent reading of a bucket. */
typedef struct reading {
  uint64_t control, offset;
  pm_digest digest, parent;
} reading;

static void acquire_bucket(pm_pool *pool, uint64_t slot) {
  if (!PM_MUTANT_ON(reader_no_invalidate)) pmi_acquire(pool, pmi_bucket_at(pool, slot), sizeof(pmi_bucket));
}

/* A control word that is the same on both sides of the rest belongs to it: every
 * change of hands stores it last, and comes with another generation. */
static reading read_bucket(pm_pool *pool, uint64_t slot) {
  const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  reading r = {0};
  acquire_bucket(pool, slot);
  for (unsigned i = 0; i < READ_ROUNDS_MAX; ++i) {
    r.control = pmi_load(&bucket->control);
    const enum pmi_bucket_state state = pmi_state_of(r.control);
    if (state == BUCKET_FREE || state == BUCKET_TOMBSTONE) return r;
    r.digest = pmi_digest_get(&bucket->digest);
    r.parent = pmi_digest_get(&bucket->parent);
    r.offset = bucket->offset;
    if (pmi_load(&bucket->control) == r.control) return r;
  }
  r.control = pmi_with_state(r.control, BUCKET_TOMBSTONE);
  return r;
}

/* An evictor decides within a few line accesses; wait for its decision. */
static reading read_settled(pm_pool *pool, uint64_t slot) {
  reading r = read_bucket(pool, slot);
  for (unsigned i = 0; i < EVICTING_POLLS_MAX && pmi_state_of(r.control) == BUCKET_EVICTING; ++i) {
    pm_relax();
    r = read_bucket(pool, slot);
  }
  return r;
}

/* Find the digest's bucket. `parent` may be NULL. Returns READY, RESERVED or FREE. */
static enum pmi_bucket_state find(pm_pool *pool, pm_digest digest, const pm_digest *parent, pm_ref *ref) {
  const uint64_t mask = pmi_slot_mask(pool), home = pmi_home_of(pool, digest);
  for (uint64_t i = 0; i <= mask; ++i) {
    const uint64_t slot = (home + i) & mask;
    pmi_count(pool, probes, 1);
    reading r = read_bucket(pool, slot);
    if (pmi_state_of(r.control) == BUCKET_FREE) return BUCKET_FREE;
    if (pmi_state_of(r.control) == BUCKET_TOMBSTONE || !pmi_digest_is(&r.digest, digest)) continue;
    if (parent != NULL && !pmi_digest_is(&r.parent, *parent)) continue;
    if (pmi_state_of(r.control) == BUCKET_EVICTING) r = read_settled(pool, slot);
    if (!pmi_digest_is(&r.digest, digest)) continue;
    const enum pmi_bucket_state state = pmi_state_of(r.control);
    if (state != BUCKET_READY && state != BUCKET_RESERVED) continue;
    *ref = (pm_ref){.slot = slot, .offset = r.offset, .generation = pmi_generation_of(r.control), .state = PM_REF_NONE};
    return state;
  }
  return BUCKET_FREE;
}

/* Longest READY prefix of chain[from..n) without pins. */
static size_t find_prefix(pm_pool *pool, const pm_digest *chain, size_t from, size_t n, pm_ref *refs) {
  size_t at = from;
  while (at < n && find(pool, chain[at], at == 0 ? NULL : &chain[at - 1], &refs[at]) == BUCKET_READY) at += 1;
  return at - from;
}

/* 1 while the bucket still holds the block of `ref`. EVICTING is no answer yet: an evictor that finds a pin turns back. */
static int is_current(pm_pool *pool, const pm_ref *ref) {
  const reading r = read_settled(pool, ref->slot);
  return pmi_state_of(r.control) == BUCKET_READY && pmi_generation_of(r.control) == ref->generation;
}

/* Pin refs[0..n) and keep those before the first that went away meanwhile. Returns how many, or -errno. */
static int pin_prefix(pm_pool *pool, uint64_t request, pm_ref *refs, size_t n) {
  int rc = pmi_pins_take(pool, request, refs, n);
  if (rc < 0) return rc;
  pmi_sync(pool);
  size_t kept = 0;
  while (kept < n && (PM_MUTANT_ON(lookup_no_recheck) || is_current(pool, &refs[kept])))
    refs[kept++].state = PM_REF_HIT;
  rc = pmi_pins_drop(pool, request, refs + kept, n - kept);
  return rc < 0 ? rc : (int)kept;
}

int pm_index_lookup(pm_pool *pool, uint64_t request, const pm_digest *chain, size_t n, pm_ref *refs) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (n > INT32_MAX || (n != 0 && (chain == NULL || refs == NULL)))
    return pmi_error(EINVAL, "chain, refs, n: %zu blocks without memory for them", n);
  size_t k = 0;
  for (unsigned round = 0; round < LOOKUP_ROUNDS_MAX; ++round) {
    const size_t found = find_prefix(pool, chain, k, n, refs);
    if (found == 0) break;
    const int kept = pin_prefix(pool, request, refs + k, found);
    if (kept < 0) {
      (void)pmi_pins_drop(pool, request, refs, k);
      return kept;
    }
    k += (size_t)kept;
    if ((size_t)kept == found) break;
  }
  for (size_t i = k; i < n; ++i) refs[i] = (pm_ref){.state = PM_REF_NONE};
  pmi_count(pool, lookups, 1);
  pmi_count(pool, hits, k);
  return (int)k;
}

/* The reserver is the only writer of the bucket while it lives; one that was taken for dead has lost it, so it looks. */
int pm_index_commit(pm_pool *pool, pm_ref *refs, size_t n) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  for (size_t i = 0; i < n; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    pmi_bucket *bucket = pmi_bucket_at(pool, refs[i].slot);
    acquire_bucket(pool, refs[i].slot);
    const uint64_t reserved = pmi_control(BUCKET_RESERVED, pool->node, refs[i].generation);
    if (pmi_load(&bucket->control) != reserved)
      return pmi_error(ESTALE, "refs[%zu]: slot %llu is not reserved with generation %u by this node", i,
                       (unsigned long long)refs[i].slot, refs[i].generation);
    pmi_store(&bucket->control, pmi_with_state(reserved, BUCKET_READY));
    if (!PM_MUTANT_ON(publish_no_flag_flush)) pmi_publish(pool, bucket, sizeof *bucket);
    refs[i].state = PM_REF_HIT;
  }
  return 0;
}

int pm_index_check(pm_pool *pool, const pm_ref *ref) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (ref->slot > pmi_slot_mask(pool))
    return pmi_error(EINVAL, "ref: slot %llu is not in the table", (unsigned long long)ref->slot);
  if (is_current(pool, ref)) return 0;
  return pmi_error(ESTALE, "ref: slot %llu no longer holds generation %u", (unsigned long long)ref->slot,
                   ref->generation);
}

int pm_index_release(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n) {
  int rc = pmi_usable(pool);
  for (size_t at = 0; rc == 0 && at < n;) {
    size_t run = 0; /* of refs that are pinned */
    while (at + run < n && refs[at + run].state == PM_REF_HIT) run += 1;
    rc = pmi_pins_drop(pool, request, refs + at, run);
    at += run == 0 ? 1 : run;
  }
  return rc;
}

int pm_index_exists(pm_pool *pool, pm_digest digest) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  pm_ref ref;
  return find(pool, digest, NULL, &ref) == BUCKET_READY;
}
