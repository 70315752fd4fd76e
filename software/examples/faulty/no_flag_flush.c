/*
 * A mailbox whose writer flushes the message and forgets the flag.
 * The fault: the receiver sees the flag when the writer's cache happens to evict it, which may be never.
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
#ifdef MENDED
  flush(&box->full, sizeof box->full);
#endif
  return 0;
}

static int receiver(struct mailbox *box) {
  do flush(&box->full, sizeof box->full);
  while (atomic_load_explicit(&box->full, memory_order_acquire) == 0);
  flush(&box->message, sizeof box->message);
  return box->message == 42 ? 0 : 1;
}

int main(void) {
  struct mailbox *box = map_pool();
  if (box == NULL) return 2;
  return host_id() == 0 ? sender(box) : receiver(box);
}
