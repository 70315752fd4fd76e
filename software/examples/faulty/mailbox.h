/*
 * The mailbox of the examples, as it should be: host 0 puts a message in and raises a flag, host 1 waits for the flag and
 * takes the message. Each example has one of the two sides of its own, with the fault in it.
 */
#ifndef EXAMPLES_FAULTY_MAILBOX_H
#define EXAMPLES_FAULTY_MAILBOX_H

#include "../shared.h"

struct mailbox {
  _Alignas(LINE_BYTES) uint64_t message;
  _Alignas(LINE_BYTES) _Atomic uint64_t full;
};

static inline void raise_flag(struct mailbox *box) {
  atomic_store_explicit(&box->full, 1, memory_order_release);
  flush(&box->full, sizeof box->full);
}

static inline void await_flag(struct mailbox *box) {
  do flush(&box->full, sizeof box->full);
  while (atomic_load_explicit(&box->full, memory_order_acquire) == 0);
}

static inline int put(struct mailbox *box) {
  box->message = 42;
  flush(&box->message, sizeof box->message);
  raise_flag(box);
  return 0;
}

static inline int take(struct mailbox *box) {
  await_flag(box);
  flush(&box->message, sizeof box->message);
  return box->message == 42 ? 0 : 1;
}

/* The program of both hosts. */
static inline int pass_a_message(int (*sender)(struct mailbox *), int (*receiver)(struct mailbox *)) {
  struct mailbox *box = map_pool();
  if (box == NULL) return 2;
  return host_id() == 0 ? sender(box) : receiver(box);
}

#endif
