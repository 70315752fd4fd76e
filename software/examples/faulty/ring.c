/*
 * A ring of records between two hosts, a record longer than a line.
 * The fault: the producer flushes the first line of each record only.
 */
#include "shared.h"

enum { SLOTS = 2, RECORD_WORDS = 12, RECORDS = 5 };

struct record {
  _Alignas(LINE_BYTES) uint64_t words[RECORD_WORDS];
};

struct ring {
  _Alignas(LINE_BYTES) _Atomic uint64_t head; /* records written, by the producer */
  _Alignas(LINE_BYTES) _Atomic uint64_t tail; /* records taken, by the consumer */
  struct record slots[SLOTS];
};

static uint64_t look(_Atomic uint64_t *counter) {
  flush(counter, sizeof *counter);
  return atomic_load_explicit(counter, memory_order_acquire);
}

static void tell(_Atomic uint64_t *counter, uint64_t value) {
  atomic_store_explicit(counter, value, memory_order_release);
  flush(counter, sizeof *counter);
}

static int producer(struct ring *ring) {
  for (uint64_t n = 0; n < RECORDS; ++n) {
    while (n - look(&ring->tail) >= SLOTS) _mm_pause();
    struct record *record = &ring->slots[n % SLOTS];
    for (unsigned i = 0; i < RECORD_WORDS; ++i) record->words[i] = n << 8 | i;
#ifdef MENDED
    flush(record, sizeof *record);
#else
    flush(record, LINE_BYTES);
#endif
    tell(&ring->head, n + 1);
  }
  return 0;
}

static int consumer(struct ring *ring) {
  for (uint64_t n = 0; n < RECORDS; ++n) {
    while (look(&ring->head) <= n) _mm_pause();
    const struct record *record = &ring->slots[n % SLOTS];
    flush(record, sizeof *record);
    for (unsigned i = 0; i < RECORD_WORDS; ++i) {
      if (record->words[i] != (n << 8 | i)) return 1;
    }
    tell(&ring->tail, n + 1);
  }
  return 0;
}

int main(void) {
  struct ring *ring = map_pool();
  if (ring == NULL) return 2;
  return host_id() == 0 ? producer(ring) : consumer(ring);
}
