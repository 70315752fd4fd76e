/*
 * All tests, one file a part of the library.
 */
#ifndef PRISMEM_TESTS_TESTS_H
#define PRISMEM_TESTS_TESTS_H

#include "pm_test.h"

extern const pm_test pm_test_publish_consume, pm_test_store_line, pm_test_dma_flag;
extern const pm_test pm_test_lock_counter, pm_test_lock_counter_slots, pm_test_lock_counter_bakery, pm_test_lock_quota;
extern const pm_test pm_test_lock_manager_fair, pm_test_lock_errors;
extern const pm_test pm_test_lease_zombie, pm_test_lease_zombie_slots, pm_test_lease_zombie_bakery;
extern const pm_test pm_test_lease_takeover, pm_test_lease_takeover_slots, pm_test_lease_standstill;
extern const pm_test pm_test_lock_give_up, pm_test_lock_give_up_bakery;
extern const pm_test pm_test_lock_patience_slots, pm_test_lock_inherit, pm_test_lock_inherit_slots;
extern const pm_test pm_test_lock_inherit_bakery;
extern const pm_test pm_test_lock_patience, pm_test_lock_withdraw, pm_test_flush_host;
extern const pm_test pm_test_index_flag, pm_test_lease_pins, pm_test_pool_early, pm_test_lease_return,
    pm_test_index_late;
extern const pm_test pm_test_alloc_exchange, pm_test_alloc_errors, pm_test_alloc_runs, pm_test_alloc_migrate;
extern const pm_test pm_test_out_of_band, pm_test_lock_stat, pm_test_lock_stat_slots, pm_test_lock_stat_bakery,
    pm_test_index_audit;
extern const pm_test pm_test_index_audit_clock, pm_test_lock_crowd;
extern const pm_test pm_test_alloc_crowd, pm_test_alloc_wide, pm_test_lease_fence;
extern const pm_test pm_test_object_store, pm_test_object_churn;
extern const pm_test pm_test_index_share, pm_test_index_handoff, pm_test_index_insert_race, pm_test_index_evict_race;
extern const pm_test pm_test_index_full, pm_test_index_tombstones, pm_test_index_pins;
extern const pm_test pm_test_index_share_clock, pm_test_index_share_collide;
extern const pm_test pm_test_index_batch, pm_test_index_batch_single;
extern const pm_test pm_test_index_churn, pm_test_index_collide;
extern const pm_test pm_test_index_exists, pm_test_index_pending;
extern const pm_test pm_test_rendezvous_ring;
extern const pm_test pm_test_dma_dirty;
extern const pm_test pm_test_pool_refuse, pm_test_pool_reformat;
extern const pm_test pm_test_node_reuse, pm_test_claim_race;
extern const pm_test pm_test_tract, pm_test_tract_share;

#endif
