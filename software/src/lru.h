/*
 * Replacement list of the index: a doubly linked list over the slots, youngest to oldest. PMI_LOCK_INDEX is held.
 */
#ifndef PRISMEM_SRC_LRU_H
#define PRISMEM_SRC_LRU_H

#include "hold.h"

#define PMI_NO_SLOT UINT64_MAX

void pmi_lru_insert(pm_pool *pool, uint64_t slot);
void pmi_lru_remove(pm_pool *pool, uint64_t slot);
/** Move to the young end. */
void pmi_lru_touch(pm_pool *pool, uint64_t slot);
/** The block of `from` now lies in `to`, at the same place of the list. */
void pmi_lru_replace(pm_pool *pool, uint64_t from, uint64_t to);
/** Oldest slot, and the next younger one; and the other way. PMI_NO_SLOT at the end. */
uint64_t pmi_lru_oldest(pm_pool *pool);
uint64_t pmi_lru_younger(pm_pool *pool, uint64_t slot);
uint64_t pmi_lru_youngest(pm_pool *pool);
uint64_t pmi_lru_older(pm_pool *pool, uint64_t slot);
/** What the list remembers of the uses of a slot, modulo 2^16; stays when the slot leaves the list. */
uint32_t pmi_lru_seen(pm_pool *pool, uint64_t slot);
void pmi_lru_see(pm_pool *pool, uint64_t slot, uint32_t uses);
/** Write the whole list anew: slots[0..n), the youngest first; others are in no list. */
void pmi_lru_rebuild(pm_pool *pool, const uint64_t *slots, uint64_t n);

#endif
