/**
 * @file lock.h
 * Two-tier lock: a mutex a lock and node in DRAM, and above it request/grant lines in the pool served by a lock manager.
 */
#ifndef PRISMEM_LOCK_H
#define PRISMEM_LOCK_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/** Take an unused lock id / give it back. -ENOSPC when all are taken. */
int pm_lock_alloc(pm_pool *pool, uint32_t *lock);
int pm_lock_free(pm_pool *pool, uint32_t lock);
/** Blocks until this thread holds the lock. On return *fresh (may be NULL) is 1 when another node held it since this node
 *  last did: what the lock protects must then be acquired (pm_acquire) before it is read. -EINVAL bad id, -EDEADLK held by
 *  this thread. */
int pm_lock_acquire(pm_pool *pool, uint32_t lock, int *fresh);
/** What was changed must have been published before. -EPERM when this thread does not hold it. */
int pm_lock_release(pm_pool *pool, uint32_t lock);

/** One scan of the lock manager over all locks; returns the number of grants. One thread of one node runs it in a loop. */
int pm_manager_step(pm_pool *pool);
/** Scans until *stop is non-zero. */
int pm_manager_run(pm_pool *pool, const int *stop);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
