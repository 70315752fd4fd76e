/**
 * @file tract.h
 * The names of the TraCT paper (arXiv 2512.18194) over libprismem: thin inline functions, for code written against the paper.
 * Unlike there, every function says which pool it works on, and the lock manager must run on one node (pm_manager_run).
 *
 * @threads as the calls that it stands for.
 * @visibility as the calls that it stands for.
 * @see software/tests/test_tract.c
 */
#ifndef PRISMEM_TRACT_H
#define PRISMEM_TRACT_H

#include <string.h>

#include "prismem.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int cxl_shm_allocate_lock(pm_pool *pool, uint32_t *lock) {
  return pm_lock_alloc(pool, lock);
}
static inline int cxl_shm_free_lock(pm_pool *pool, uint32_t lock) {
  return pm_lock_free(pool, lock);
}
/** *fresh (may be NULL): what the lock protects must be acquired before it is read. */
static inline int cxl_shm_acquire_lock(pm_pool *pool, uint32_t lock, int *fresh) {
  return pm_lock_acquire(pool, lock, fresh);
}
static inline int cxl_shm_release_lock(pm_pool *pool, uint32_t lock) {
  return pm_lock_release(pool, lock);
}

static inline uint64_t cxl_shm_get_offset(const pm_pool *pool, const void *p) {
  return pm_offset(pool, p);
}
static inline void *cxl_shm_get_ptr(const pm_pool *pool, uint64_t offset) {
  return pm_ptr(pool, offset);
}

/** NULL when there is no memory; pm_error_text() says more. */
static inline void *shmalloc(pm_pool *pool, size_t bytes) {
  uint64_t offset;
  return pm_alloc(pool, bytes, &offset) == 0 ? pm_ptr(pool, offset) : NULL;
}
static inline int shfree(pm_pool *pool, void *p) {
  return pm_free(pool, pm_offset(pool, p));
}

static inline int cxl_shm_put(pm_pool *pool, const void *key, size_t key_bytes, const void *object) {
  return pm_put(pool, key, key_bytes, pm_offset(pool, object));
}
/** NULL for an unknown key. */
static inline void *cxl_shm_get(pm_pool *pool, const void *key, size_t key_bytes) {
  uint64_t offset;
  return pm_get(pool, key, key_bytes, &offset, NULL) == 0 ? pm_ptr(pool, offset) : NULL;
}
static inline int cxl_shm_destroy(pm_pool *pool, const void *key, size_t key_bytes) {
  return pm_destroy(pool, key, key_bytes);
}

/** The paper's clflush(addr, size): what was stored there before is in the device before any later publish. */
static inline void clflush(const void *addr, size_t size) {
  pm_publish(addr, size);
}

/** Attach as `node`. */
static inline int tract_init(const char *path, uint32_t node, pm_pool **pool) {
  pm_open_options options;
  memset(&options, 0, sizeof options);
  options.node = node;
  return pm_open(path, &options, pool);
}
/** Make room for a chain; refs[0..hits) come from tract_lookup_prefix. Returns the number of blocks to fill. */
static inline int tract_alloc(pm_pool *pool, uint64_t request, const pm_digest *chain, size_t n, size_t hits,
                              pm_ref *refs) {
  return pm_index_reserve(pool, request, pm_digest_root(pool), chain, n, hits, refs);
}
/** Payload into a reserved block; complete in the device on return. */
static inline int tract_gpu_to_cxl(pm_pool *pool, const pm_ref *ref, const void *src) {
  const pm_ticket ticket = pm_dma_write(pool, ref->offset, src, pm_block_bytes(pool));
  return ticket < 0 ? (int)ticket : pm_dma_wait(pool, ticket);
}
static inline int tract_publish_prefix(pm_pool *pool, pm_ref *refs, size_t n) {
  return pm_index_commit(pool, refs, n);
}
/** Longest resident prefix, pinned for `request` until pm_index_release. */
static inline int tract_lookup_prefix(pm_pool *pool, uint64_t request, const pm_digest *chain, size_t n, pm_ref *refs) {
  return pm_index_lookup(pool, request, chain, n, refs);
}
/** Payload of a pinned block. -ESTALE: the bytes are of another block, drop them. */
static inline int tract_cxl_to_gpu(pm_pool *pool, const pm_ref *ref, void *dst) {
  const pm_ticket ticket = pm_dma_read(pool, ref->offset, dst, pm_block_bytes(pool));
  const int rc = ticket < 0 ? (int)ticket : pm_dma_wait(pool, ticket);
  return rc < 0 ? rc : pm_index_check(pool, ref);
}

#ifdef __cplusplus
}
#endif
#endif
