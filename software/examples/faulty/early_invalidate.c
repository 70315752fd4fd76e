/*
 * A mailbox whose receiver drops its copy of the message before it waits for the flag.
 * The fault: while it waits, its cache may fetch the line again, as prefetchers do, and keep it.
 */
#include "shared.h"

struct mailbox {
  _Alignas(LINE_BYTES) uint64_t message;
  _Alignas(LINE_BYTES) _Atomic uint64_t full;
};

static int sender(struct mailbox *box) {
  box->message = 42;
  flush(&box->message, sizeof box->message);
  atomic_store_explicit(&box->full, 1, memory_order_release);
  flush(&box->full, sizeof box->full);
  return 0;
}

static int receiver(struct mailbox *box) {
#ifndef MENDED
  flush(&box->message, sizeof box->message);
#endif
  do flush(&box->full, sizeof box->full);
  while (atomic_load_explicit(&box->full, memory_order_acquire) == 0);
#ifdef MENDED
  flush(&box->message, sizeof box->message);
#endif
  return box->message == 42 ? 0 : 1;
}

int main(void) {
  struct mailbox *box = map_pool();
  if (box == NULL) return 2;
  return host_id() == 0 ? sender(box) : receiver(box);
}
