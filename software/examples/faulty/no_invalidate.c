/*
 * A mailbox that is used twice: the receiver answers each message by emptying the box.
 * The fault: the receiver never drops its copy of the message, so the second time it may read the first one.
 */
#include "../shared.h"

enum { MESSAGES = 2 };

struct mailbox {
  _Alignas(LINE_BYTES) uint64_t message;
  _Alignas(LINE_BYTES) _Atomic uint64_t sent;
  _Alignas(LINE_BYTES) _Atomic uint64_t taken;
};

static void wait_for(_Atomic uint64_t *counter, uint64_t value) {
  do flush(counter, sizeof *counter);
  while (atomic_load_explicit(counter, memory_order_acquire) != value);
}

static void tell(_Atomic uint64_t *counter, uint64_t value) {
  atomic_store_explicit(counter, value, memory_order_release);
  flush(counter, sizeof *counter);
}

static int sender(struct mailbox *box) {
  for (uint64_t n = 1; n <= MESSAGES; ++n) {
    wait_for(&box->taken, n - 1);
    box->message = 10 * n;
    flush(&box->message, sizeof box->message);
    tell(&box->sent, n);
  }
  return 0;
}

static int receiver(struct mailbox *box) {
  for (uint64_t n = 1; n <= MESSAGES; ++n) {
    wait_for(&box->sent, n);
#ifdef MENDED
    flush(&box->message, sizeof box->message);
#endif
    if (box->message != 10 * n) return 1;
    tell(&box->taken, n);
  }
  return 0;
}

int main(void) {
  struct mailbox *box = map_pool();
  if (box == NULL) return 2;
  return host_id() == 0 ? sender(box) : receiver(box);
}
