/**
 * @file object.h
 * Object store: few named roots, key -> (offset, generation).
 */
#ifndef PRISMEM_OBJECT_H
#define PRISMEM_OBJECT_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define PM_KEY_MAX 32u

/** Name `offset` by `key` (1..PM_KEY_MAX bytes). -EEXIST duplicate key, -ENOSPC table full. Offset 0 is a legal value. */
int pm_put(pm_pool *pool, const void *key, size_t key_bytes, uint64_t offset);
/** -ENOENT unknown key. */
int pm_get(pm_pool *pool, const void *key, size_t key_bytes, uint64_t *offset, uint32_t *generation);
int pm_destroy(pm_pool *pool, const void *key, size_t key_bytes);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
