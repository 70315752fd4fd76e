/*
 * A mailbox: host 0 writes a message and raises a flag, host 1 waits for the flag and reads the message.
 * The fault: the message stays in the writer's cache. A coherent machine hides it.
 */
#include "mailbox.h"

static int sender(struct mailbox *box) {
  box->message = 42;
#ifdef MENDED
  flush(&box->message, sizeof box->message);
#endif
  raise_flag(box);
  return 0;
}

int main(void) {
  return pass_a_message(sender, take);
}
