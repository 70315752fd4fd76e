/**
 * @file object.h
 * Object store: few named roots, key -> (offset, generation).
 *
 * @threads any thread.
 * @visibility name and offset are published on return; what lies at the offset is the caller's to publish before.
 * @see software/examples/library/hello.c
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
/** Place and generation (either may be NULL) of a key; a key that was destroyed and put again has another generation. -ENOENT
 *  unknown key. */
int pm_get(pm_pool *pool, const void *key, size_t key_bytes, uint64_t *offset, uint32_t *generation);
/** Forget a key; what lies at its offset stays. -ENOENT unknown key. */
int pm_destroy(pm_pool *pool, const void *key, size_t key_bytes);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
