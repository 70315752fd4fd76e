/*
 * Format, attach and detach of a pool, and the questions a handle answers about itself.
 *
 * Format clears all metadata, writes the superblock and publishes its magic last: whoever sees the magic sees all of it.
 * Attach acquires the superblock, checks each field and recomputes the layout from the parameters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "dma_cuda.h"
#include "hold.h"
#include "lease.h"

#define ALIVE_BYTES 4096u

static uint64_t scramble(uint64_t x) {
  x ^= x >> 32;
  x *= UINT64_C(0xD6E8FEB86659FD93);
  return x ^ (x >> 32);
}

static void make_uuid(uint8_t uuid[16], uint64_t seed) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t half[2];
  half[0] = scramble(seed + (uint64_t)now.tv_nsec);
  half[1] = scramble(half[0] ^ (uint64_t)now.tv_sec ^ ((uint64_t)getpid() << 32));
  memcpy(uuid, half, 16);
}

int pm_format(const char *path, const pm_format_options *opts) {
  if (opts == NULL) return pmi_error(EINVAL, "opts: is NULL");
  pmi_params params = {.index_slots = opts->index_slots,
                       .index_capacity = opts->index_capacity,
                       .block_bytes = opts->block_bytes,
                       .chunk_bytes = opts->chunk_bytes,
                       .nodes = opts->nodes,
                       .locks = opts->locks,
                       .objects = opts->objects,
                       .channels = opts->channels,
                       .hash_seed = opts->hash_seed,
                       .lease_ns = opts->lease_ns,
                       .replacement = opts->replacement,
                       .lock_tier = opts->lock_tier,
                       .place_bits = opts->place_bits};
  unsigned char *base = NULL;
  int rc = pmi_region_map(path, opts->pool_bytes, PMI_MAP_CREATE, &base, &params.pool_bytes);
  if (rc < 0) return rc;
  pmi_layout layout;
  rc = pmi_params_check(&params);
  if (rc == 0) rc = pmi_layout_compute(&params, &layout);
  if (rc == 0) {
    pmi_superblock *sb = (pmi_superblock *)base;
    pm_acquire(base, layout.meta_end);
    pmi_dma_zero(base, layout.nodes);
    pmi_dma_zero(base + layout.nodes, layout.meta_end - layout.nodes);
    pm_acquire(base, layout.meta_end);
    sb->version = PMI_LAYOUT_VERSION;
    sb->layout_digest = layout.digest;
    make_uuid(sb->uuid, opts->hash_seed);
    memcpy(sb->name_space, opts->name_space, sizeof sb->name_space);
    memcpy(&sb->params, &params, sizeof params);
    sb->check = pmi_superblock_check(sb);
    pm_publish(sb->uuid, sizeof *sb - offsetof(pmi_superblock, uuid));
    pmi_store(&sb->magic, PMI_MAGIC);
    pm_publish(&sb->magic, sizeof sb->magic);
    pm_sync();
  }
  pmi_region_unmap(base, params.pool_bytes);
  return rc;
}

static int differs(const char *field, uint64_t theirs, uint64_t ours) {
  return pmi_error(EPROTO, "%s: the pool has 0x%llx, 0x%llx is expected", field, (unsigned long long)theirs,
                   (unsigned long long)ours);
}

int pmi_attach(pm_pool *pool, const char *path, const pm_open_options *opts) {
  const pmi_superblock *sb = (const pmi_superblock *)pool->base;
  pm_acquire(sb, sizeof *sb);
  const uint64_t magic = pmi_load(&sb->magic);
  if (magic == 0) return pmi_error(EAGAIN, "magic: %s is not formatted yet", path);
  if (magic != PMI_MAGIC) return differs("magic", magic, PMI_MAGIC);
  pm_acquire(sb, sizeof *sb); /* after the synchronizing read */
  if (sb->version != PMI_LAYOUT_VERSION) return differs("layout version", sb->version, PMI_LAYOUT_VERSION);
  memcpy(&pool->params, &sb->params, sizeof pool->params);
  const uint64_t check = pmi_superblock_check(sb);
  if (sb->check != check) return differs("superblock check word", sb->check, check);
  if (pool->params.pool_bytes > pool->bytes)
    return pmi_error(EPROTO, "pool_bytes: the pool was formatted with %llu, %s has %llu",
                     (unsigned long long)pool->params.pool_bytes, path, (unsigned long long)pool->bytes);
  int rc = pmi_params_check(&pool->params);
  if (rc == 0) rc = pmi_layout_compute(&pool->params, &pool->layout);
  if (rc < 0) return rc;
  if (sb->layout_digest != pool->layout.digest) return differs("layout digest", sb->layout_digest, pool->layout.digest);
  if (opts->check_namespace && memcmp(sb->name_space, opts->name_space, sizeof opts->name_space) != 0) {
    uint64_t theirs, ours;
    memcpy(&theirs, sb->name_space, sizeof theirs);
    memcpy(&ours, opts->name_space, sizeof ours);
    return pmi_error(EPROTO, "name space: the pool has %016llx..., the caller asks for %016llx...",
                     (unsigned long long)theirs, (unsigned long long)ours);
  }
  if (opts->block_bytes != 0 && opts->block_bytes != pool->params.block_bytes)
    return differs("block_bytes", pool->params.block_bytes, opts->block_bytes);
  if (opts->check_hash_seed && opts->hash_seed != pool->params.hash_seed)
    return differs("hash_seed", pool->params.hash_seed, opts->hash_seed);
  pool->root = pm_digest_seed(pool->params.hash_seed, sb->name_space);
  return 0;
}

static int guards_open(pm_pool *pool) {
  const pmi_layout *l = &pool->layout;
  int rc = pmi_guard_open(pool, &pool->meta, PMI_LOCK_META, l->lock_table, sizeof(pmi_lock_table));
  if (rc == 0)
    rc = pmi_guard_open(pool, &pool->object, PMI_LOCK_OBJECT, l->objects, pool->params.objects * sizeof(pmi_object));
  if (rc == 0) rc = pmi_guard_open(pool, &pool->alloc, PMI_LOCK_ALLOC, l->owners, l->live - l->owners);
  if (rc == 0) rc = pmi_guard_open(pool, &pool->index, PMI_LOCK_INDEX, l->index_head, l->pins - l->index_head);
  return rc;
}

/* A page whose content a forked child does not inherit. */
static int alive_open(pm_pool *pool) {
  void *page = mmap(NULL, ALIVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return pmi_error(errno, "memory: %s", strerror(errno));
  pool->alive = page;
  *pool->alive = PMI_ALIVE;
  pool->pid = (int)getpid();
  pool->alive_is_wiped = madvise(page, ALIVE_BYTES, MADV_WIPEONFORK) == 0;
  return 0;
}

int pmi_usable(const pm_pool *pool) {
  if (pool == NULL) return pmi_error(EINVAL, "pool: is NULL");
  if (*pool->alive == PMI_ALIVE && (pool->alive_is_wiped || pool->pid == (int)getpid()))
    return pmi_is_fenced(pool) ? pmi_fenced_error(pool) : 0;
  return pmi_error(EOWNERDEAD, "pool: the handle belongs to the parent process; open the pool in the child");
}

static void dispose(pm_pool *pool) {
  pmi_cuda_close(pool);
  pmi_channels_close(pool);
  pmi_manager_close(pool);
  pmi_pins_close(pool);
  pmi_heap_close(pool);
  pmi_locks_close(pool);
  pmi_guard_close(&pool->index);
  pmi_guard_close(&pool->alloc);
  pmi_guard_close(&pool->object);
  pmi_guard_close(&pool->meta);
  if (pool->alive != NULL) munmap(pool->alive, ALIVE_BYTES);
  if (pool->base != NULL) pmi_region_unmap(pool->base, pool->bytes);
  free(pool);
}

int pm_open(const char *path, const pm_open_options *opts, pm_pool **out) {
  if (opts == NULL || out == NULL) return pmi_error(EINVAL, "%s: is NULL", opts == NULL ? "opts" : "out");
  pm_pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) return pmi_error(ENOMEM, "memory: no room for a handle");
  int rc = pmi_verbs_check();
  if (rc == 0) rc = pmi_region_map(path, 0, PMI_MAP_EXISTING, &pool->base, &pool->bytes);
  if (rc == 0) rc = pmi_attach(pool, path, opts);
  if (rc == 0) rc = alive_open(pool);
  if (rc == 0) rc = guards_open(pool);
  if (rc == 0) rc = pmi_locks_open(pool);
  if (rc == 0) rc = pmi_heap_open(pool);
  if (rc == 0) rc = pmi_channels_open(pool);
  if (rc == 0) {
    const int queue = pmi_region_lock(path);
    rc = pmi_claim(pool, opts->node);
    pmi_region_unlock(queue);
  }
  if (rc == 0) pmi_lease_open(pool);
  if (rc == 0) rc = pmi_pins_open(pool);
  if (rc < 0) {
    dispose(pool);
    return rc;
  }
  *out = pool;
  return 0;
}

int pm_close(pm_pool *pool) {
  const int rc = pmi_usable(pool);
  if (rc == -EOWNERDEAD || rc == -ESTALE) {
    dispose(pool);
    return 0;
  }
  if (rc < 0) return rc;
  if (pmi_locks_held(pool)) return pmi_error(EBUSY, "locks: this node still holds a lock");
  const uint64_t pins = pmi_pins_total(pool);
  if (pins != 0) return pmi_error(EBUSY, "pins: %llu are still held by this node", (unsigned long long)pins);
  pmi_lease_end(pool);
  pmi_unclaim(pool);
  dispose(pool);
  return 0;
}

void *pm_ptr(const pm_pool *pool, uint64_t offset) {
  return offset < pool->params.pool_bytes ? pool->base + offset : NULL;
}

uint64_t pm_offset(const pm_pool *pool, const void *p) {
  return (uint64_t)((const unsigned char *)p - pool->base);
}

uint32_t pm_node(const pm_pool *pool) {
  return pool->node;
}

uint32_t pm_nodes(const pm_pool *pool) {
  return pool->params.nodes;
}

uint64_t pm_pool_bytes(const pm_pool *pool) {
  return pool->params.pool_bytes;
}

uint64_t pm_block_bytes(const pm_pool *pool) {
  return pool->params.block_bytes;
}

void pm_get_stats(const pm_pool *pool, pm_stats *out) {
  const uint64_t *from = (const uint64_t *)&pool->stats;
  uint64_t *to = (uint64_t *)out;
  for (size_t i = 0; i < sizeof *out / sizeof *to; ++i) to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
