/*
 * A mailbox with two buffers: the writer fills one while the other may be read, and then says which one is current.
 * The fault: both buffers lie in one line, so filling one takes away the other half's newer bytes from its reader.
 */
#include "../shared.h"

enum { UPDATES = 4 };

struct buffer {
#ifdef MENDED
  _Alignas(LINE_BYTES) uint64_t words[2];
#else
  uint64_t words[2];
#endif
};

struct mailbox {
  _Alignas(LINE_BYTES) _Atomic uint64_t current; /* updates so far; buffer current % 2 is the one to read */
  _Alignas(LINE_BYTES) _Atomic uint64_t taken;
  _Alignas(LINE_BYTES) struct buffer buffers[2];
};

static int writer(struct mailbox *box) {
  for (uint64_t n = 1; n <= UPDATES; ++n) {
    struct buffer *buffer = &box->buffers[n % 2];
    do flush(&box->taken, sizeof box->taken);
    while (atomic_load_explicit(&box->taken, memory_order_acquire) + 1 < n);
    buffer->words[0] = buffer->words[1] = n; /* FAULT */
    flush(buffer, sizeof *buffer);
    atomic_store_explicit(&box->current, n, memory_order_release);
    flush(&box->current, sizeof box->current);
  }
  return 0;
}

/* Takes an update and marks its buffer as read. */
static int reader(struct mailbox *box) {
  for (uint64_t n = 1; n <= UPDATES; ++n) {
    struct buffer *buffer = &box->buffers[n % 2];
    do flush(&box->current, sizeof box->current);
    while (atomic_load_explicit(&box->current, memory_order_acquire) < n);
    flush(buffer, sizeof *buffer);
    if (buffer->words[0] != n || buffer->words[1] != n) return 1;
    buffer->words[1] = 0;
    flush(buffer, sizeof *buffer);
    atomic_store_explicit(&box->taken, n, memory_order_release);
    flush(&box->taken, sizeof box->taken);
  }
  return 0;
}

int main(void) {
  struct mailbox *box = map_pool();
  if (box == NULL) return 2;
  return host_id() == 0 ? writer(box) : reader(box);
}
