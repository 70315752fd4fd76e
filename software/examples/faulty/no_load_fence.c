/*
 * A mailbox whose receiver drops its copy of the message and reads it at once.
 * The fault: a load may run before the CLFLUSH in front of it has taken effect; only MFENCE holds it back.
 */
#include "mailbox.h"

static int receiver(struct mailbox *box) {
  await_flag(box);
  _mm_clflush(&box->message);
#ifdef MENDED
  _mm_mfence();
#endif
  return box->message == 42 ? 0 : 1;
}

int main(void) {
  return pass_a_message(put, receiver);
}
