/*
 * A mailbox whose receiver drops its copy of the message before it waits for the flag.
 * The fault: while it waits, its cache may fetch the line again, as prefetchers do, and keep it.
 */
#include "mailbox.h"

static int receiver(struct mailbox *box) {
#ifndef MENDED
  flush(&box->message, sizeof box->message);
#endif
  await_flag(box);
#ifdef MENDED
  flush(&box->message, sizeof box->message);
#endif
  return box->message == 42 ? 0 : 1;
}

int main(void) {
  return pass_a_message(put, receiver);
}
