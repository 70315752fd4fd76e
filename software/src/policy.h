/*
 * Which block has to go when there is no room: two policies behind one seam. PMI_LOCK_INDEX is held, except where noted.
 */
#ifndef PRISMEM_SRC_POLICY_H
#define PRISMEM_SRC_POLICY_H

#include "hold.h"

/** Whether a use of resident blocks changes the replacement list, which takes the lock. Needs no lock itself. */
int pmi_policy_moves_on_use(const pm_pool *pool);
/** The block of a new bucket enters the list; this node has pinned it once. */
void pmi_policy_inserted(pm_pool *pool, uint64_t slot);
/** Blocks of refs[0..n) that are there were used, the last one first. */
void pmi_policy_used(pm_pool *pool, const pm_ref *refs, size_t n);
/** Choose and close (READY -> EVICTING) the block that goes; PMI_NO_SLOT when all are pinned or being filled. */
uint64_t pmi_policy_close_victim(pm_pool *pool);
/** A block that was closed with `uses` now lies in another slot. */
void pmi_policy_moved(pm_pool *pool, uint64_t from, uint64_t to, uint32_t uses);
/** A RESERVED block is given up: it leaves the list. */
void pmi_policy_removed(pm_pool *pool, uint64_t slot);

#endif
