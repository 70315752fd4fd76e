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
#include "repair.h"

#define LOOKUP_ROUNDS_MAX 4u       /* how often a prefix that changed under the lookup is tried again */
#define READ_ROUNDS_MAX 64u        /* how often a bucket that changes while it is read is read again */
#define DROP_AHEAD_MAX 32u         /* homes that a lookup drops from the cache ahead of its reading */
#define LOOKUP_FINISHED (-1)       /* of a chain: its next block is not resident */
#define EVICTING_POLLS_MAX 100000u /* an evictor that takes longer counts as one that succeeds */

/* One consistent reading of a bucket. */
typedef struct reading {
  uint64_t control, offset;
  pm_digest digest, parent;
} reading;

static void drop_bucket(pm_pool *pool, uint64_t slot) {
  if (!PM_MUTANT_ON(reader_no_invalidate)) pmi_drop(pool, pmi_bucket_at(pool, slot), sizeof(pmi_bucket));
}

static void acquire_bucket(pm_pool *pool, uint64_t slot) {
  drop_bucket(pool, slot);
  pmi_invalidate_fence();
}

/* A bucket that was dropped from the cache since the lookup began, and may be as old as that: it is looked at once more
 * before anybody relies on it. A control word that is the same on both sides of the rest belongs to it: every change of
 * hands stores it last, and comes with another generation. */
static reading read_dropped(pm_pool *pool, uint64_t slot) {
  const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
  reading r = {0};
  for (unsigned i = 0; i < READ_ROUNDS_MAX; ++i) {
    r.control = pmi_look(&bucket->control);
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    const enum pmi_bucket_state state = pmi_state_of(r.control);
    if (state == BUCKET_FREE || state == BUCKET_TOMBSTONE) return r;
    r.digest = pmi_digest_get(&bucket->digest);
    r.parent = pmi_digest_get(&bucket->parent);
    r.offset = bucket->offset;
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    if (pmi_look(&bucket->control) == r.control) return r;
  }
  r.control = pmi_with_state(r.control, BUCKET_TOMBSTONE);
  return r;
}

static reading read_bucket(pm_pool *pool, uint64_t slot) {
  acquire_bucket(pool, slot);
  return read_dropped(pool, slot);
}

/* An evictor decides within a few line accesses; wait for its decision. */
static reading settle(pm_pool *pool, uint64_t slot, reading r) {
  for (unsigned i = 0; i < EVICTING_POLLS_MAX && pmi_state_of(r.control) == BUCKET_EVICTING; ++i) {
    pm_relax();
    r = read_bucket(pool, slot);
  }
  return r;
}

static int is_wanted(const reading *r, pm_digest digest, const pm_digest *parent) {
  return pmi_digest_is(&r->digest, digest) && (parent == NULL || pmi_digest_is(&r->parent, *parent));
}

/* Find the digest's bucket, whose home was dropped before. `parent` may be NULL. Returns READY, RESERVED or FREE. */
static enum pmi_bucket_state find(pm_pool *pool, pm_digest digest, const pm_digest *parent, pm_ref *ref) {
  const uint64_t mask = pmi_slot_mask(pool), home = pmi_home_of(pool, digest);
  for (uint64_t i = 0; i <= mask; ++i) {
    const uint64_t slot = (home + i) & mask;
    pmi_count(pool, probes, 1);
    reading r = i == 0 ? read_dropped(pool, slot) : read_bucket(pool, slot);
    if (pmi_state_of(r.control) == BUCKET_FREE) return BUCKET_FREE;
    if (pmi_state_of(r.control) == BUCKET_TOMBSTONE || !is_wanted(&r, digest, parent)) continue;
    r = settle(pool, slot, r);
    if (!is_wanted(&r, digest, parent)) continue;
    const enum pmi_bucket_state state = pmi_state_of(r.control);
    if (state != BUCKET_READY && state != BUCKET_RESERVED) continue;
    *ref = (pm_ref){.slot = slot, .offset = r.offset, .generation = pmi_generation_of(r.control), .state = PM_REF_NONE};
    return state;
  }
  return BUCKET_FREE;
}

/* Longest READY prefix of chain[from..n) without pins. The homes of a few blocks are dropped ahead, with one fence. */
static size_t find_prefix(pm_pool *pool, const pm_digest *chain, size_t from, size_t n, pm_ref *refs) {
  size_t at = from, dropped = from;
  while (at < n) {
    if (at == dropped) {
      for (; dropped < n && dropped < at + DROP_AHEAD_MAX; ++dropped)
        drop_bucket(pool, pmi_home_of(pool, chain[dropped]));
      pmi_invalidate_fence();
    }
    if (find(pool, chain[at], at == 0 ? NULL : &chain[at - 1], &refs[at]) != BUCKET_READY) break;
    at += 1;
  }
  return at - from;
}

/* 1 while the bucket, dropped before, still holds the block of `ref`. EVICTING is no answer yet: an evictor that finds a pin
 * turns back. */
static int is_current(pm_pool *pool, const pm_ref *ref) {
  const reading r = settle(pool, ref->slot, read_dropped(pool, ref->slot));
  return pmi_state_of(r.control) == BUCKET_READY && pmi_generation_of(r.control) == ref->generation;
}

/* Look on from chain.hits; chain.result gets how many blocks were found, without pins. */
static size_t find_all(pm_pool *pool, pm_chain *chains, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    pm_chain *c = &chains[i];
    if (c->result < 0) continue; /* finished */
    c->result = (int)find_prefix(pool, c->digests, c->hits, c->n, c->refs);
    if (c->result == 0) c->result = LOOKUP_FINISHED;
    if (c->result > 0) found += (size_t)c->result;
  }
  return found;
}

/* Pin what was found. On an error nothing stays pinned. */
static int pin_all(pm_pool *pool, pm_chain *chains, size_t count) {
  size_t done = 0;
  int rc = 0;
  for (; rc == 0 && done < count; done += (size_t)(rc == 0)) {
    pm_chain *c = &chains[done];
    if (c->result > 0) rc = pmi_pins_take(pool, c->request, c->refs + c->hits, (size_t)c->result);
  }
  for (size_t i = 0; rc < 0 && i < count; ++i) {
    pm_chain *c = &chains[i];
    const size_t fresh = i < done && c->result > 0 ? (size_t)c->result : 0;
    (void)pmi_pins_drop(pool, c->request, c->refs, c->hits + fresh);
    c->hits = 0;
  }
  pmi_sync(pool);
  for (size_t i = 0; rc == 0 && i < count; ++i) {
    const pm_chain *c = &chains[i];
    for (int at = 0; at < c->result; ++at) drop_bucket(pool, c->refs[c->hits + (size_t)at].slot);
  }
  pmi_invalidate_fence();
  return rc;
}

/* Keep the pins before the first block that went away meanwhile; a chain that lost one is tried again. */
static int keep_current(pm_pool *pool, pm_chain *c) {
  size_t kept = 0;
  while (kept < (size_t)c->result && (PM_MUTANT_ON(lookup_no_recheck) || is_current(pool, &c->refs[c->hits + kept])))
    c->refs[c->hits + kept++].state = PM_REF_HIT;
  pmi_looked();
  const size_t lost = (size_t)c->result - kept;
  c->hits += kept;
  if (lost == 0) c->result = LOOKUP_FINISHED;
  return pmi_pins_drop(pool, c->request, c->refs + c->hits, lost);
}

static int lookup_round(pm_pool *pool, pm_chain *chains, size_t count) {
  int rc = pin_all(pool, chains, count);
  for (size_t i = 0; rc == 0 && i < count; ++i) {
    if (chains[i].result > 0) rc = keep_current(pool, &chains[i]);
  }
  return rc;
}

int pm_index_lookup_many(pm_pool *pool, pm_chain *chains, size_t count) {
  int rc = pmi_usable(pool);
  for (size_t i = 0; rc == 0 && i < count; ++i) {
    rc = pmi_chain_check(&chains[i], i);
    chains[i].hits = 0;
    chains[i].result = 0;
  }
  for (unsigned round = 0; rc == 0 && round < LOOKUP_ROUNDS_MAX && find_all(pool, chains, count) != 0; ++round)
    rc = lookup_round(pool, chains, count);
  if (rc < 0) return rc;
  size_t hits = 0;
  for (size_t i = 0; i < count; ++i) {
    pm_chain *c = &chains[i];
    for (size_t at = c->hits; at < c->n; ++at) c->refs[at] = (pm_ref){.state = PM_REF_NONE};
    c->result = (int)c->hits;
    hits += c->hits;
  }
  pmi_count(pool, lookups, count);
  pmi_count(pool, hits, hits);
  return (int)hits;
}

int pm_index_lookup(pm_pool *pool, uint64_t request, const pm_digest *chain, size_t n, pm_ref *refs) {
  pm_chain one = {.request = request, .digests = chain, .n = n, .refs = refs};
  return pm_index_lookup_many(pool, &one, 1);
}

/* The reserver is the only writer of the bucket while it lives; one that was taken for dead has lost it, so it looks. */
static int check_reserved(pm_pool *pool, const pm_ref *refs, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (refs[i].state == PM_REF_RESERVED && refs[i].slot <= pmi_slot_mask(pool)) drop_bucket(pool, refs[i].slot);
  }
  pmi_invalidate_fence();
  for (size_t i = 0; i < n; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    if (refs[i].slot <= pmi_slot_mask(pool) && pmi_look(&pmi_bucket_at(pool, refs[i].slot)->control) ==
                                                   pmi_control(BUCKET_RESERVED, pool->node, refs[i].generation))
      continue;
    return pmi_error(ESTALE, "refs[%zu]: slot %llu is not reserved with generation %u by this node", i,
                     (unsigned long long)refs[i].slot, refs[i].generation);
  }
  return 0;
}

/* All write-backs at once: each bucket announces its payload, which is in the device already, and nothing else. */
int pm_index_commit(pm_pool *pool, pm_ref *refs, size_t n) {
  int rc = pmi_usable(pool);
  if (rc == 0) rc = check_reserved(pool, refs, n);
  if (rc == 0) rc = pmi_fence(pool); /* a dead node's reservations are free again */
  if (rc < 0) return rc;
  pmi_poking();
  for (size_t i = 0; i < n; ++i) {
    if (refs[i].state != PM_REF_RESERVED) continue;
    pmi_bucket *bucket = pmi_bucket_at(pool, refs[i].slot);
    pmi_poke(&bucket->control, pmi_control(BUCKET_READY, pool->node, refs[i].generation));
    if (!PM_MUTANT_ON(publish_no_flag_flush)) pmi_push(pool, bucket, sizeof *bucket);
    refs[i].state = PM_REF_HIT;
  }
  pmi_sync(pool);
  return 0;
}

int pm_index_check_many(pm_pool *pool, const pm_ref *refs, size_t n) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  for (size_t i = 0; i < n; ++i) {
    if (refs[i].slot > pmi_slot_mask(pool))
      return pmi_error(EINVAL, "refs[%zu]: slot %llu is not in the table", i, (unsigned long long)refs[i].slot);
    drop_bucket(pool, refs[i].slot);
  }
  pmi_invalidate_fence();
  for (size_t i = 0; i < n; ++i) {
    if (!is_current(pool, &refs[i]))
      return pmi_error(ESTALE, "refs[%zu]: slot %llu no longer holds generation %u", i,
                       (unsigned long long)refs[i].slot, refs[i].generation);
  }
  pmi_looked();
  return 0;
}

int pm_index_check(pm_pool *pool, const pm_ref *ref) {
  return pm_index_check_many(pool, ref, 1);
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
  acquire_bucket(pool, pmi_home_of(pool, digest));
  return find(pool, digest, NULL, &ref) == BUCKET_READY;
}
