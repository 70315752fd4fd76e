/*
 * A mailbox whose writer flushes everything at the end.
 * The fault: the flag may reach the memory before the message does, by its own flush or because its line is evicted.
 */
#include "mailbox.h"

static int sender(struct mailbox *box) {
  box->message = 42;
#ifdef MENDED
  flush(&box->message, sizeof box->message);
#endif
  raise_flag(box);
#ifndef MENDED
  flush(&box->message, sizeof box->message);
#endif
  return 0;
}

int main(void) {
  return pass_a_message(sender, take);
}
