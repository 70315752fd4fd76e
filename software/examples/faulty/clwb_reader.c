/*
 * A mailbox whose receiver uses CLWB where it means CLFLUSH.
 * The fault: CLWB writes a dirty line back and may keep the copy, so the receiver may read what it had.
 */
#include "mailbox.h"

static int receiver(struct mailbox *box) {
  await_flag(box);
#ifdef MENDED
  _mm_clflush(&box->message);
#else
  _mm_clwb(&box->message);
#endif
  _mm_mfence();
  return box->message == 42 ? 0 : 1;
}

int main(void) {
  return pass_a_message(put, receiver);
}
