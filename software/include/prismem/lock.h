/**
 * @file lock.h
 * Two-tier lock: a mutex a lock and node in DRAM, and above it a global lock in the pool (pm_format_options.lock_tier).
 *
 * @threads any thread; a lock belongs to the thread that acquired it.
 * @visibility a release publishes nothing but the lock: publish what you changed before it; acquire what you read after
 *   *fresh.
 * @see software/examples/library/counter.c
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
 *  last did: what the lock protects must then be acquired (pm_acquire) before it is read. Returns 0, or PM_LOCK_OWNER_DIED
 *  when nodes died while they held it, or when their turn had come, and nobody has repaired what it protects since: it is
 *  held, and to be repaired. -EINVAL bad id, -EDEADLK held by this thread, -ESTALE this node was taken for dead, -ETIMEDOUT
 *  somebody is before this node and for six leases no lock manager has run. Two threads of a node pass the lock on between
 *  them at most eight times in a row while other nodes wait; of these none is passed by the same node twice. */
int pm_lock_acquire(pm_pool *pool, uint32_t lock, int *fresh);
#define PM_LOCK_OWNER_DIED 1
/** The caller, who holds the lock, has repaired and published what it protects: the next one is told nothing. */
int pm_lock_consistent(pm_pool *pool, uint32_t lock);
/** Bit n: node n died; valid while the caller holds the lock. */
uint64_t pm_lock_dead(pm_pool *pool, uint32_t lock);
/** What was changed must have been published before. -EPERM when this thread does not hold it; -ESTALE this node was taken
 *  for dead, the lock was revoked. */
int pm_lock_release(pm_pool *pool, uint32_t lock);

/** What this node has done with a lock since it opened the pool; another thread may see counts of different moments. */
typedef struct pm_lock_info {
  uint64_t queued;               /**< times that it stood in the queue of the nodes, visibly for the others */
  uint64_t taken, taken_here;    /**< from the other nodes, and from another thread of this one */
  uint64_t polls;                /**< looks at the line of somebody else while it waited */
  uint64_t wait_ns, wait_ns_max; /**< of the `taken`: all of them, and the longest */
} pm_lock_info;
/** -EINVAL: bad id. */
int pm_lock_stat(pm_pool *pool, uint32_t lock, pm_lock_info *out);

/** One turn of the lock manager: a heartbeat when it is due, then, if this node leads, a look at the nodes that may have died
 *  and, with PM_LOCK_SLOTS, a scan over all locks. Any number of
 *  nodes may run it, each on one thread, in a loop without pauses longer than a quarter of a lease; the others watch the one
 *  that leads, and the next in the order of ids takes over when it closes or dies. Returns the number of grants. */
int pm_manager_step(pm_pool *pool);
/** Turns until *stop is non-zero; then this node's lease ends and another may lead. -ESTALE: this node was taken for dead. */
int pm_manager_run(pm_pool *pool, const int *stop);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
