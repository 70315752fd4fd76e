/*
 * The list of tests.
 */
#include "tests.h"

const pm_test *const pm_tests[] = {&pm_test_publish_consume,
                                   &pm_test_store_line,
                                   &pm_test_dma_flag,
                                   &pm_test_lock_counter,
                                   &pm_test_lock_manager_fair,
                                   &pm_test_lock_errors,
                                   &pm_test_alloc_exchange,
                                   &pm_test_alloc_errors,
                                   &pm_test_alloc_runs,
                                   &pm_test_alloc_migrate,
                                   &pm_test_object_store,
                                   &pm_test_index_share,
                                   &pm_test_index_handoff,
                                   &pm_test_index_insert_race,
                                   &pm_test_index_evict_race,
                                   &pm_test_index_full,
                                   &pm_test_index_tombstones,
                                   &pm_test_index_pins,
                                   &pm_test_index_exists,
                                   &pm_test_index_pending,
                                   &pm_test_rendezvous_ring,
                                   &pm_test_dma_dirty,
                                   &pm_test_pool_refuse,
                                   &pm_test_pool_reformat,
                                   &pm_test_node_reuse,
                                   &pm_test_claim_race,
                                   &pm_test_tract,
                                   NULL};
