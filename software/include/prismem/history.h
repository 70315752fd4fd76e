/**
 * @file history.h
 * A history of calls: who asked what when, and what it was told. For a check of linearizability afterwards
 * (prismem.models.linearize): between its invocation and its answer each call must seem to happen at one instant.
 *
 * Header only. The caller gives the memory, which is ordinary memory of the process, not of the pool. On emulated hosts
 * recording is invisible: no access of the program is ordered or delayed by it.
 *
 *     pm_operation *op = pm_history_invoke(&history, node, PM_CALL_ACQUIRE, PM_KEY(PM_KEY_LOCK, lock), 0);
 *     int rc = pm_lock_acquire(pool, lock, &fresh);
 *     pm_history_respond(&history, op, rc);
 */
#ifndef PRISMEM_HISTORY_H
#define PRISMEM_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a key names; the key of an object is its kind and its number. */
enum pm_key_kind { PM_KEY_LOCK = 1, PM_KEY_BLOCK = 2, PM_KEY_ENTRY = 3, PM_KEY_ALL_ENTRIES = 4 };
#define PM_KEY(kind, number) ((uint64_t)(kind) << 56 | (uint64_t)(number))

enum pm_call {
  PM_CALL_ACQUIRE = 1,
  PM_CALL_RELEASE_LOCK,
  PM_CALL_ALLOC,
  PM_CALL_FREE,
  PM_CALL_LOOKUP,
  PM_CALL_EXISTS,
  PM_CALL_RESERVE,
  PM_CALL_COMMIT,
  PM_CALL_RELEASE,
  PM_CALL_EVICT
};

typedef struct pm_operation {
  uint64_t key;
  uint64_t invoked, responded; /**< on the history's clock, which counts events from 1; responded 0: never */
  int64_t argument, result;
  uint32_t call; /**< enum pm_call */
  uint32_t process;
} pm_operation;

typedef struct pm_history {
  pm_operation *operation;
  uint64_t capacity; /**< operations; further ones are counted in `lost` */
  uint64_t used, clock, lost;
} pm_history;

#ifdef __SANITIZE_THREAD__ /* emulated hosts run on one processor, and change only at an access of the program */
#define PM_HISTORY_FN __attribute__((no_sanitize("thread"), noinline, unused)) static
#define PM_HISTORY_NEXT(counter) ((counter)++)
#else
#define PM_HISTORY_FN __attribute__((unused)) static inline
#define PM_HISTORY_NEXT(counter) __atomic_fetch_add(&(counter), 1, __ATOMIC_SEQ_CST)
#endif

/** The call begins. NULL when the history is full. */
PM_HISTORY_FN pm_operation *pm_history_invoke(pm_history *history, uint32_t process, enum pm_call call, uint64_t key,
                                              int64_t argument) {
  const uint64_t index = PM_HISTORY_NEXT(history->used);
  if (index >= history->capacity) {
    (void)PM_HISTORY_NEXT(history->lost);
    return NULL;
  }
  pm_operation *operation = &history->operation[index];
  operation->key = key;
  operation->argument = argument;
  operation->result = 0;
  operation->call = (uint32_t)call;
  operation->process = process;
  operation->responded = 0;
  operation->invoked = PM_HISTORY_NEXT(history->clock) + 1;
  return operation;
}

/** The call has ended with `result`; of NULL nothing is kept. */
PM_HISTORY_FN void pm_history_respond(pm_history *history, pm_operation *operation, int64_t result) {
  if (operation == NULL) return;
  operation->result = result;
  operation->responded = PM_HISTORY_NEXT(history->clock) + 1;
}

#ifdef __cplusplus
}
#endif
#endif
