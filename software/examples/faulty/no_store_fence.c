/*
 * A mailbox whose writer uses CLFLUSHOPT, which is faster because it is ordered with less.
 * The fault: no SFENCE behind it, so the flag may be written before the message's flush has taken effect.
 */
#include "mailbox.h"

static int sender(struct mailbox *box) {
  box->message = 42;
  _mm_clflushopt(&box->message);
#ifdef MENDED
  _mm_sfence();
#endif
  raise_flag(box);
  return 0;
}

int main(void) {
  return pass_a_message(sender, take);
}
