/*
 * A mailbox whose writer flushes the message and forgets the flag.
 * The fault: the receiver sees the flag when the writer's cache happens to evict it, which may be never.
 */
#include "mailbox.h"

static int sender(struct mailbox *box) {
  box->message = 42;
  flush(&box->message, sizeof box->message);
  atomic_store_explicit(&box->full, 1, memory_order_release);
#ifdef MENDED
  flush(&box->full, sizeof box->full);
#endif
  return 0;
}

int main(void) {
  return pass_a_message(sender, take);
}
