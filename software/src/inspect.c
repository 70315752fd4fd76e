/*
 * pm_inspect: facts about a pool for people and scripts. Everything is read from the mapping as it stands, without a lock, so
 * each number is checked for its range before it is used: a damaged pool is shown as far as it goes.
 */
#include "prismem/inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bucket.h"
#include "chunk.h"
#include "fsck.h"
#include "locktable.h"
#include "pins.h"
#include "tier.h"

typedef struct teller {
  pm_pool *pool;
  pm_inspect_fact fact;
  void *context;
} teller;

static void number(const teller *t, const char *section, uint64_t id, const char *field, uint64_t value) {
  t->fact(t->context, section, id, field, value, NULL);
}

static void text(const teller *t, const char *section, uint64_t id, const char *field, const char *value) {
  t->fact(t->context, section, id, field, 0, value);
}

static void damaged(const teller *t, const char *section, uint64_t id, const char *field, uint64_t value) {
  char words[48];
  snprintf(words, sizeof words, "damaged: 0x%llx", (unsigned long long)value);
  text(t, section, id, field, words);
}

/* Bytes as hexadecimal digits. */
static void hex(const teller *t, const char *section, uint64_t id, const char *field, const uint8_t *bytes,
                size_t count) {
  char digits[2 * PM_KEY_MAX + 1] = "";
  for (size_t i = 0; i < count && i < PM_KEY_MAX; ++i) snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
  text(t, section, id, field, digits);
}

static void tell_superblock(const teller *t) {
  static const char *const replacements[] = {"lru", "clock"};
  static const char *const tiers[] = {"queue", "slots", "bakery"};
  static const char *const s = "superblock";
  const pmi_superblock *sb = (const pmi_superblock *)t->pool->base;
  const pmi_params *p = &t->pool->params;
  number(t, s, 0, "version", sb->version);
  hex(t, s, 0, "uuid", sb->uuid, sizeof sb->uuid);
  hex(t, s, 0, "name_space", sb->name_space, sizeof sb->name_space);
  number(t, s, 0, "layout_digest", sb->layout_digest);
  number(t, s, 0, "pool_bytes", p->pool_bytes);
  number(t, s, 0, "nodes", p->nodes);
  number(t, s, 0, "locks", p->locks);
  number(t, s, 0, "index_slots", p->index_slots);
  number(t, s, 0, "index_capacity", p->index_capacity);
  number(t, s, 0, "block_bytes", p->block_bytes);
  number(t, s, 0, "chunk_bytes", p->chunk_bytes);
  number(t, s, 0, "objects", p->objects);
  number(t, s, 0, "channels", p->channels);
  number(t, s, 0, "hash_seed", p->hash_seed);
  number(t, s, 0, "lease_ns", p->lease_ns);
  text(t, s, 0, "replacement", replacements[p->replacement]);
  text(t, s, 0, "lock_tier", tiers[p->lock_tier]);
  number(t, s, 0, "place_bits", p->place_bits);
  number(t, s, 0, "metadata_bytes", t->pool->layout.heap);
}

static void tell_node(const teller *t, uint32_t node) {
  const uint64_t state = pmi_load(&pmi_node_record_of(t->pool, node)->state);
  const pmi_verdict *verdict = pmi_verdict_of(t->pool, node);
  const pmi_doorbell *bell = pmi_doorbell_of(t->pool, node);
  const uint64_t epoch = state >> 1, dead = pmi_load(&verdict->dead_epoch);
  const int repaired = pmi_load(&verdict->repaired_epoch) >= epoch;
  const uint64_t term = pmi_load(&bell->term);
  const char *word = "vacant";
  if (state & 1u) word = dead < epoch ? "claimed" : repaired ? "vacant" : "dead";
  text(t, "node", node, "state", word);
  number(t, "node", node, "epoch", epoch);
  number(t, "node", node, "beats", pmi_load(&bell->beat));
  number(t, "node", node, "manager", term & 1u);
  number(t, "node", node, "manager_term", term >> 1);
  number(t, "node", node, "pinned_slots", pmi_pins_count(t->pool, node));
}

static void tell_lock(const teller *t, uint32_t lock) {
  static const char *const own[PMI_LOCKS_OWN] = {"lock table", "allocator", "index", "objects"};
  const pmi_lock_table *table = pmi_at(t->pool, t->pool->layout.lock_table);
  const pmi_lock_left left = pmi_tier_of(t->pool)->left(t->pool, lock);
  const uint64_t waiters = (uint64_t)__builtin_popcountll(left.nodes & ~left.holders);
  const uint64_t holders = (uint64_t)__builtin_popcountll(left.holders);
  const char *use = lock < PMI_LOCKS_OWN ? own[lock] : table->taken[lock] ? "allocated" : "unused";
  text(t, "lock", lock, "use", use);
  if (holders > 1)
    damaged(t, "lock", lock, "state", holders); /* nodes that hold it at once */
  else
    text(t, "lock", lock, "state", holders != 0 ? "held" : waiters != 0 ? "wanted" : "free");
  if (holders == 1) number(t, "lock", lock, "holder", (uint64_t)__builtin_ctzll(left.holders));
  number(t, "lock", lock, "waiters", waiters);
  number(t, "lock", lock, "tenure", left.tenure);
  const pmi_lock_state *state = pmi_lock_state_of(t->pool, lock);
  const int repaired = pmi_tier_of(t->pool)->repaired(t->pool, lock) >= pmi_load(&state->since);
  number(t, "lock", lock, "dead_nodes", repaired ? 0 : pmi_load(&state->dead));
}

/* Live blocks of a chunk of small blocks, and bytes of a block; 0 bytes: the class cannot be. */
static uint64_t block_bytes_of(const teller *t, uint64_t word) {
  const uint32_t class = pmi_class_of(word);
  if (class >= 32 || (uint64_t)PM_LINE << class > t->pool->params.chunk_bytes) return 0;
  return (uint64_t)PM_LINE << class;
}

static uint64_t tell_small(const teller *t, uint32_t chunk, uint64_t word) {
  const uint64_t bytes = block_bytes_of(t, word);
  uint64_t live = 0;
  if (bytes == 0) {
    damaged(t, "chunk", chunk, "block_bytes", word);
    return 0;
  }
  for (uint32_t w = 0; w < pmi_words_in_bitmap(t->pool, pmi_class_of(word)); ++w) {
    const uint64_t freed = pmi_load(&pmi_freed_of(t->pool, chunk)[w]);
    live += (uint64_t)__builtin_popcountll(pmi_load(&pmi_live_of(t->pool, chunk)[w]) & ~freed);
  }
  number(t, "chunk", chunk, "block_bytes", bytes);
  number(t, "chunk", chunk, "blocks", pmi_blocks_in_chunk(t->pool, pmi_class_of(word)));
  number(t, "chunk", chunk, "live", live);
  return live * bytes;
}

/* Returns the bytes that are allocated in the chunk. */
static uint64_t tell_chunk(const teller *t, uint32_t chunk, uint64_t word) {
  static const char *const kinds[] = {"free", "small", "run", "inside"};
  static const char *const purposes[PURPOSES] = {"user", "payload"};
  const uint64_t kind = word & 0xff, purpose = word >> 24 & 0xff;
  if (kind > CHUNK_INSIDE) {
    damaged(t, "chunk", chunk, "kind", word);
    return 0;
  }
  text(t, "chunk", chunk, "kind", kinds[kind]);
  number(t, "chunk", chunk, "owner", pmi_owner_of(word));
  if (purpose < PURPOSES)
    text(t, "chunk", chunk, "purpose", purposes[purpose]);
  else
    damaged(t, "chunk", chunk, "purpose", word);
  if (kind == CHUNK_SMALL) return tell_small(t, chunk, word);
  if (kind == CHUNK_RUN) number(t, "chunk", chunk, "run", pmi_run_of(word));
  return t->pool->params.chunk_bytes;
}

static void tell_allocator(const teller *t) {
  const uint64_t total = t->pool->layout.chunk_count;
  uint64_t used = 0, live_bytes = 0;
  for (uint32_t chunk = 0; chunk < total; ++chunk) {
    const uint64_t word = pmi_load(&pmi_chunk_at(t->pool, chunk)->word);
    if (word == CHUNK_FREE || pmi_kind_of(word) == CHUNK_FREE) continue;
    used += 1;
    live_bytes += tell_chunk(t, chunk, word);
  }
  number(t, "allocator", 0, "chunks", total);
  number(t, "allocator", 0, "chunks_used", used);
  number(t, "allocator", 0, "bytes_live", live_bytes);
}

static void tell_index(const teller *t) {
  static const char *const states[] = {"free", "reserved", "ready", "evicting", "tombstones"};
  enum { STATES = sizeof states / sizeof states[0] };
  pm_pool *pool = t->pool;
  const pmi_index_head *head = pmi_at(pool, pool->layout.index_head);
  const uint64_t slots = pool->params.index_slots;
  uint64_t counts[STATES] = {0}, unknown = 0, probes = 0, probes_max = 0;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const pmi_bucket *bucket = pmi_bucket_at(pool, slot);
    const uint64_t state = pmi_load(&bucket->control) & 0xff;
    if (state >= STATES) {
      unknown += 1;
      continue;
    }
    counts[state] += 1;
    if (state == BUCKET_FREE || state == BUCKET_TOMBSTONE) continue;
    const uint64_t length = ((slot - pmi_home_of(pool, bucket->digest)) & pmi_slot_mask(pool)) + 1;
    probes += length;
    if (length > probes_max) probes_max = length;
  }
  number(t, "index", 0, "slots", slots);
  number(t, "index", 0, "capacity", pool->params.index_capacity);
  for (unsigned i = 0; i < STATES; ++i) number(t, "index", 0, states[i], counts[i]);
  if (unknown != 0) damaged(t, "index", 0, "unknown_states", unknown);
  number(t, "index", 0, "probes", probes);
  number(t, "index", 0, "probes_max", probes_max);
  number(t, "index", 0, "inserts", head->inserts);
  number(t, "index", 0, "evictions", head->evictions);
}

static void tell_pins(const teller *t) {
  for (uint64_t slot = 0; slot < t->pool->params.index_slots; ++slot) {
    for (uint32_t node = 0; node < t->pool->params.nodes; ++node) {
      const uint32_t pins = pmi_pins_of(t->pool, node, slot);
      const uint64_t id = slot * PM_NODES_MAX + node;
      if (pins == 0) continue;
      number(t, "pin", id, "slot", slot);
      number(t, "pin", id, "node", node);
      number(t, "pin", id, "pins", pins);
      number(t, "pin", id, "generation", pmi_generation_of(pmi_load(&pmi_bucket_at(t->pool, slot)->control)));
    }
  }
}

static void tell_objects(const teller *t) {
  const pmi_object *objects = pmi_at(t->pool, t->pool->layout.objects);
  for (uint32_t i = 0; i < t->pool->params.objects; ++i) {
    const pmi_object *o = &objects[i];
    if (o->key_bytes == 0) continue;
    if (o->key_bytes > PM_KEY_MAX) {
      damaged(t, "object", i, "key_bytes", o->key_bytes);
      continue;
    }
    hex(t, "object", i, "key", o->key, o->key_bytes);
    number(t, "object", i, "offset", o->offset);
    number(t, "object", i, "generation", o->generation);
  }
}

int pm_inspect(const char *path, pm_inspect_fact fact, void *context) {
  if (fact == NULL) return pmi_error(EINVAL, "fact: is NULL");
  int rc;
  const teller t = {.pool = pmi_view_open(path, PMI_MAP_READ, &rc), .fact = fact, .context = context};
  if (rc == 0) {
    pm_acquire(t.pool->base, t.pool->layout.meta_end);
    tell_superblock(&t);
    for (uint32_t node = 0; node < t.pool->params.nodes; ++node) tell_node(&t, node);
    for (uint32_t lock = 0; lock < t.pool->params.locks; ++lock) tell_lock(&t, lock);
    tell_allocator(&t);
    tell_index(&t);
    tell_pins(&t);
    tell_objects(&t);
  }
  pmi_view_close(t.pool);
  return rc;
}
