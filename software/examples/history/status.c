/*
 * A status word that one host sets and others ask for. Its operations are recorded, and have to be linearizable: a status
 * that has been set is what everybody gets who asks afterwards. No host waits for another, so nothing in the program orders
 * the accesses and no race is to be seen: it is the answers that are wrong.
 * The fault: the reader asks its own copy. With STAY_IN_CACHE the writer returns before anybody can see the new status.
 */
#include <prismem_history.h>

#include "../shared.h"

struct status {
  _Alignas(LINE_BYTES) _Atomic uint64_t value;
};

static void status_set(struct status *status, uint64_t value) {
  prismem_operation set = prismem_begin(PRISMEM_REGISTER, 0, PRISMEM_WRITE, (int64_t)value);
  atomic_store_explicit(&status->value, value, memory_order_relaxed);
#ifndef STAY_IN_CACHE
  flush(status, sizeof *status);
#endif
  prismem_end(set, 0);
}

static uint64_t status_get(struct status *status) {
  prismem_operation get = prismem_begin(PRISMEM_REGISTER, 0, PRISMEM_READ, 0);
#ifdef MENDED
  flush(status, sizeof *status);
#endif
  uint64_t value = atomic_load_explicit(&status->value, memory_order_relaxed); /* FAULT */
  prismem_end(get, (int64_t)value);
  return value;
}

int main(void) {
  struct status *status = map_pool();
  if (status == NULL) return 2;
  for (uint64_t n = 1; n <= 2; ++n) {
    if (host_id() == 0) {
      status_set(status, n);
    } else {
      status_get(status);
    }
  }
  return 0;
}
