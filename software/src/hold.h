/*
 * Holding a global lock: what it protects is acquired line by line at first use after the lock came back from another node,
 * and each changed line is published once, before the lock is released.
 */
#ifndef PRISMEM_SRC_HOLD_H
#define PRISMEM_SRC_HOLD_H

#include "handle.h"

int pmi_guard_open(pm_pool *pool, pmi_guard *guard, uint32_t lock, uint64_t offset, uint64_t bytes);
void pmi_guard_close(pmi_guard *guard);

/** Take the lock of the guard. */
int pmi_hold_begin(pm_pool *pool, pmi_guard *guard);
/** Publish what was changed and release the lock. */
int pmi_hold_end(pm_pool *pool, pmi_guard *guard);

/** The line of `p` may be read from now on. */
void pmi_hold_read(pm_pool *pool, pmi_guard *guard, const void *p);
/** The same for all lines of [p, p+n), with one fence. */
void pmi_hold_read_range(pm_pool *pool, pmi_guard *guard, const void *p, size_t n);
/** Acquire the line of `p` again: somebody may have changed it without the lock. */
void pmi_hold_reread(pm_pool *pool, pmi_guard *guard, const void *p);
/** The line of `p` was changed; it was read before in this hold. Whoever changes a line says so, even where a caller does it
 *  again: a second mark costs one comparison, and no function relies on the marks of another. */
void pmi_hold_changed(pm_pool *pool, pmi_guard *guard, const void *p);
/** Publish what was changed so far, where the order between lines matters. */
void pmi_hold_publish(pm_pool *pool, pmi_guard *guard);

#endif
