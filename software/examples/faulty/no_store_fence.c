/*
 * A mailbox whose writer uses CLFLUSHOPT, which is faster because it is ordered with less.
 * The fault: no SFENCE behind it, so the flag may be written before the message's flush has taken effect.
 */
#include "shared.h"

struct mailbox {
  _Alignas(LINE_BYTES) uint64_t message;
  _Alignas(LINE_BYTES) _Atomic uint64_t full;
};

static int sender(struct mailbox *box) {
  box->message = 42;
  _mm_clflushopt(&box->message);
#ifdef MENDED
  _mm_sfence();
#endif
  atomic_store_explicit(&box->full, 1, memory_order_release);
  flush(&box->full, sizeof box->full);
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
