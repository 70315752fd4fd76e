/*
 * A sequence lock: the writer makes the sequence odd, changes two words, and makes it even again; a reader that saw the same
 * even number before and after has seen both words of one time.
 * The fault: the reader drops its copy of the sequence, but not that of the words.
 */
#include "../shared.h"

enum { UPDATES = 3, LOOKS = 4 };

struct record {
  _Alignas(LINE_BYTES) _Atomic uint64_t sequence;
  _Alignas(LINE_BYTES) _Atomic uint64_t first;
  _Alignas(LINE_BYTES) _Atomic uint64_t second;
};

static void put(_Atomic uint64_t *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
  flush(word, sizeof *word);
}

static uint64_t get(_Atomic uint64_t *word) {
  flush(word, sizeof *word);
  return atomic_load_explicit(word, memory_order_acquire);
}

static int writer(struct record *record) {
  for (uint64_t n = 1; n <= UPDATES; ++n) {
    put(&record->sequence, 2 * n - 1);
    put(&record->first, n);
    put(&record->second, n);
    put(&record->sequence, 2 * n);
  }
  return 0;
}

static int reader(struct record *record) {
  for (unsigned looks = 0; looks < LOOKS; ++looks) {
    uint64_t before, after, first, second;
    do {
      while ((before = get(&record->sequence)) % 2 != 0) _mm_pause();
#ifdef MENDED
      first = get(&record->first);
      second = get(&record->second);
#else
      first = atomic_load_explicit(&record->first, memory_order_acquire); /* FAULT */
      second = atomic_load_explicit(&record->second, memory_order_acquire);
#endif
      after = get(&record->sequence);
    } while (before != after);
    if (first != second || first != before / 2) return 1;
  }
  return 0;
}

int main(void) {
  struct record *record = map_pool();
  if (record == NULL) return 2;
  return host_id() == 0 ? writer(record) : reader(record);
}
