/**
 * @file recover.h
 * After the death of a node.
 *
 * A node that runs pm_manager_run() beats; when its heartbeat stops for a lease (pm_format_options.lease_ns) the lock manager
 * declares it dead, revokes its locks, and whoever next takes a lock that it may have left half-way repairs what the lock
 * protects: the library does so for its own structures, a user for locks of his own (PM_LOCK_OWNER_DIED). A node that was
 * declared dead by mistake gets -ESTALE from every call: it closes its handle and opens the pool again.
 *
 * @threads any thread.
 * @visibility on return 0 every repair is published.
 * @see docs/crashes.md
 */
#ifndef PRISMEM_RECOVER_H
#define PRISMEM_RECOVER_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/** Have the dead node `node` buried now, and all that it left repaired; its id may be claimed again when this returns 0 (also
 *  when there is nothing to do). Needed only to reuse an id at once, or for a node without a heartbeat, which nobody misses.
 *  Make sure first that the node is off: a host that merely stands still for longer than its lease may wake up with changed
 *  lines in its caches. Takes a lease or two of waiting at most. -EBUSY: it is alive; -ETIMEDOUT: no lock manager runs. */
int pm_recover(pm_pool *pool, uint32_t node);

/** Write back and drop every line of the pool that the caches of this host hold. A process that dies leaves what it stored and
 *  did not publish in the caches of its host; as long as the host lives, such a line may come out at any later time, and over
 *  what others have repaired by then. So whoever looks after the processes of a host calls this when one of them has ended
 *  otherwise than by pm_close, before its lease is over. Takes the time to flush the pool line by line (a lease of two
 *  seconds covers some tens of GiB); needs neither an open pool nor a node id. -errno as pm_open. */
int pm_flush_host(const char *path);

enum pm_node_state {
  PM_NODE_VACANT = 0,  /**< the id may be claimed */
  PM_NODE_CLAIMED = 1, /**< by a node that is alive as far as anybody knows */
  PM_NODE_DEAD = 2     /**< declared dead, and not repaired yet */
};
/** enum pm_node_state of an id, or -EINVAL. */
int pm_node_state(pm_pool *pool, uint32_t node);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
