/*
 * Checks of the parameters of a pool and the arithmetic of its regions.
 */
#include "layout.h"

#include <errno.h>
#include <string.h>

#include "error.h"

#define SLOTS_MAX (UINT64_C(1) << 31)
#define CHUNK_BYTES_MIN UINT64_C(4096)
#define CHUNK_BYTES_MAX (UINT64_C(1) << 30)
#define OBJECTS_MAX 4096u
#define CHANNELS_MAX 64u
#define LEASE_NS_DEFAULT UINT64_C(2000000000)
#define LEASE_NS_MIN UINT64_C(1000)
#define LEASE_NS_MAX UINT64_C(3600000000000)
#define PLACE_BITS_MAX 64u

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static int power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

static int outside(const char *field, uint64_t value, uint64_t least, uint64_t most) {
  return pmi_error(EINVAL, "%s: %llu is outside %llu..%llu", field, (unsigned long long)value,
                   (unsigned long long)least, (unsigned long long)most);
}

static void params_default(pmi_params *p) {
  if (p->nodes == 0) p->nodes = 4;
  if (p->locks == 0) p->locks = 16;
  if (p->index_slots == 0) p->index_slots = 4096;
  if (p->index_capacity == 0) p->index_capacity = p->index_slots / 4 * 3;
  if (p->block_bytes == 0) p->block_bytes = 4096;
  if (p->chunk_bytes == 0) p->chunk_bytes = UINT64_C(64) << 10;
  if (p->objects == 0) p->objects = 64;
  if (p->channels == 0) p->channels = 1;
  if (p->lease_ns == 0) p->lease_ns = LEASE_NS_DEFAULT;
  if (p->place_bits == 0) p->place_bits = PLACE_BITS_MAX;
}

int pmi_params_check(pmi_params *p) {
  params_default(p);
  if (p->nodes > PM_NODES_MAX) return outside("nodes", p->nodes, 1, PM_NODES_MAX);
  if (p->locks < PMI_LOCKS_OWN || p->locks > PM_LOCKS_MAX)
    return outside("locks", p->locks, PMI_LOCKS_OWN, PM_LOCKS_MAX);
  if (!power_of_two(p->index_slots) || p->index_slots < 8 || p->index_slots > SLOTS_MAX)
    return pmi_error(EINVAL, "index_slots: %llu is not a power of two in 8..2^31", (unsigned long long)p->index_slots);
  if (p->index_capacity >= p->index_slots) return outside("index_capacity", p->index_capacity, 1, p->index_slots - 1);
  if (!power_of_two(p->chunk_bytes) || p->chunk_bytes < CHUNK_BYTES_MIN || p->chunk_bytes > CHUNK_BYTES_MAX)
    return pmi_error(EINVAL, "chunk_bytes: %llu is not a power of two in 4096..2^30",
                     (unsigned long long)p->chunk_bytes);
  if (p->block_bytes % PM_LINE != 0 || p->block_bytes > p->pool_bytes)
    return pmi_error(EINVAL, "block_bytes: %llu is not a multiple of 64 within the pool",
                     (unsigned long long)p->block_bytes);
  if (p->objects > OBJECTS_MAX) return outside("objects", p->objects, 1, OBJECTS_MAX);
  if (p->channels > CHANNELS_MAX) return outside("channels", p->channels, 1, CHANNELS_MAX);
  if (p->lease_ns < LEASE_NS_MIN || p->lease_ns > LEASE_NS_MAX)
    return outside("lease_ns", p->lease_ns, LEASE_NS_MIN, LEASE_NS_MAX);
  if (p->replacement > PM_REPLACE_CLOCK) return outside("replacement", p->replacement, 0, PM_REPLACE_CLOCK);
  if (p->lock_tier > PM_LOCK_BAKERY) return outside("lock_tier", p->lock_tier, 0, PM_LOCK_BAKERY);
  if (p->place_bits > PLACE_BITS_MAX) return outside("place_bits", p->place_bits, 1, PLACE_BITS_MAX);
  if (p->pool_bytes == 0 || p->pool_bytes % PMI_POOL_ALIGN != 0)
    return pmi_error(EINVAL, "pool_bytes: %llu is not a multiple of 2 MiB", (unsigned long long)p->pool_bytes);
  return 0;
}

static uint64_t place(uint64_t *at, uint64_t bytes) {
  const uint64_t here = *at;
  *at = round_up(here + bytes, PM_LINE);
  return here;
}

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 29);
}

/* Sizes of all structures and offsets of all regions. */
static uint64_t layout_digest(const pmi_layout *l) {
  const uint64_t parts[] = {PMI_LAYOUT_VERSION,
                            sizeof(pmi_superblock),
                            sizeof(pmi_request),
                            sizeof(pmi_bucket),
                            sizeof(pmi_link),
                            sizeof(pmi_pin_cell),
                            sizeof(pmi_channel),
                            offsetof(pmi_bucket, offset),
                            l->nodes,
                            l->claims,
                            l->verdicts,
                            l->doorbells,
                            l->requests,
                            l->grants,
                            l->lock_states,
                            l->lock_table,
                            l->objects,
                            l->channels,
                            l->owners,
                            l->freed_count,
                            l->chunks,
                            l->freed,
                            l->live,
                            l->index_head,
                            l->links,
                            l->buckets,
                            l->pins,
                            l->heap,
                            l->chunk_count};
  uint64_t h = PMI_MAGIC;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) h = mix(h, parts[i]);
  return h;
}

int pmi_layout_compute(const pmi_params *p, pmi_layout *l) {
  memset(l, 0, sizeof *l);
  uint64_t at = round_up(sizeof(pmi_superblock), 4096);
  const uint64_t chunks_most = p->pool_bytes / p->chunk_bytes;
  l->bitmap_bytes = round_up(p->chunk_bytes / PM_LINE / 8, PM_LINE);
  l->pins_bytes = round_up(p->index_slots * sizeof(pmi_pin_cell), PM_LINE);
  l->nodes = place(&at, p->nodes * sizeof(pmi_node_record));
  l->claims = place(&at, (uint64_t)p->nodes * 2 * sizeof(pmi_claim_line));
  l->verdicts = place(&at, p->nodes * sizeof(pmi_verdict));
  l->doorbells = place(&at, p->nodes * sizeof(pmi_doorbell));
  l->requests = place(&at, (uint64_t)p->locks * p->nodes * sizeof(pmi_request));
  l->grants = place(&at, (uint64_t)p->locks * p->nodes * sizeof(pmi_grant));
  l->lock_states = place(&at, p->locks * sizeof(pmi_lock_state));
  l->lock_table = place(&at, sizeof(pmi_lock_table));
  l->objects = place(&at, p->objects * sizeof(pmi_object));
  l->channels = place(&at, (uint64_t)p->nodes * p->nodes * p->channels * sizeof(pmi_channel));
  l->owners = place(&at, chunks_most);
  l->freed_count = place(&at, p->nodes * sizeof(pmi_freed_count));
  l->chunks = place(&at, chunks_most * sizeof(pmi_chunk));
  l->freed = place(&at, chunks_most * l->bitmap_bytes);
  l->live = place(&at, chunks_most * l->bitmap_bytes);
  l->index_head = place(&at, sizeof(pmi_index_head));
  l->links = place(&at, p->index_slots * sizeof(pmi_link));
  l->buckets = place(&at, p->index_slots * sizeof(pmi_bucket));
  l->pins = place(&at, p->nodes * l->pins_bytes);
  l->meta_end = at;
  l->heap = round_up(at, p->chunk_bytes);
  if (l->heap + p->chunk_bytes > p->pool_bytes) {
    return pmi_error(ENOSPC, "pool_bytes: %llu is too small for these parts; %llu would do",
                     (unsigned long long)p->pool_bytes,
                     (unsigned long long)round_up(l->heap + p->chunk_bytes + at / 64, PMI_POOL_ALIGN));
  }
  l->chunk_count = (p->pool_bytes - l->heap) / p->chunk_bytes;
  l->digest = layout_digest(l);
  return 0;
}

uint64_t pmi_superblock_check(const pmi_superblock *sb) {
  pmi_superblock copy = {0};
  memcpy(&copy.version, &sb->version, sizeof copy - offsetof(pmi_superblock, version));
  copy.check = 0;
  uint64_t words[sizeof copy / 8];
  memcpy(words, &copy, sizeof copy);
  uint64_t h = PMI_MAGIC;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) h = mix(h, words[i]);
  return h;
}
