/*
 * Where the lines of nodes and global locks lie; shared by the node's side (lock.c, lease.c) and the manager.
 */
#ifndef PRISMEM_SRC_LOCKTABLE_H
#define PRISMEM_SRC_LOCKTABLE_H

#include "handle.h"

static inline pmi_request *pmi_request_of(pm_pool *pool, uint32_t lock, uint32_t node) {
  const uint64_t stride = PM_MUTANT_ON(padding_halved) ? sizeof(pmi_request) / 2 : sizeof(pmi_request);
  return pmi_at(pool, pool->layout.requests + ((uint64_t)lock * pool->params.nodes + node) * stride);
}

static inline pmi_turn *pmi_turn_of(pm_pool *pool, uint32_t lock, uint32_t node) {
  const uint64_t skew = PM_MUTANT_ON(padding_halved) ? sizeof(pmi_turn) / 2 : 0;
  return pmi_at(pool, pool->layout.requests + ((uint64_t)lock * pool->params.nodes + node) * sizeof(pmi_turn) + skew);
}

static inline pmi_grant *pmi_grant_of(pm_pool *pool, uint32_t lock, uint32_t node) {
  return (pmi_grant *)pmi_at(pool, pool->layout.grants) + (size_t)lock * pool->params.nodes + node;
}

static inline pmi_lock_state *pmi_lock_state_of(pm_pool *pool, uint32_t lock) {
  return (pmi_lock_state *)pmi_at(pool, pool->layout.lock_states) + lock;
}

static inline pmi_verdict *pmi_verdict_of(pm_pool *pool, uint32_t node) {
  return (pmi_verdict *)pmi_at(pool, pool->layout.verdicts) + node;
}

static inline pmi_node_record *pmi_node_record_of(pm_pool *pool, uint32_t node) {
  return (pmi_node_record *)pmi_at(pool, pool->layout.nodes) + node;
}

static inline pmi_doorbell *pmi_doorbell_of(pm_pool *pool, uint32_t node) {
  return (pmi_doorbell *)pmi_at(pool, pool->layout.doorbells) + node;
}

#endif
