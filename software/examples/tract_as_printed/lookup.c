/*
 * Lookup against eviction (sections 3.4 and 4.2): lookup modifies nothing, and an entry without references may go. As
 * printed, node 1 copies the block of a key that it has found while node 0 evicts it and gives the block to another key.
 * Every flush and fence is there. Mended: the entry has a generation, odd while the block changes hands, which the reader
 * compares after the copy.
 */
#include "tract.h"

enum { WORDS = 2 };

struct shared {
  _Alignas(LINE_BYTES) word_t key; /* of the only bucket */
  _Alignas(LINE_BYTES) word_t generation;
  _Alignas(LINE_BYTES) word_t words[WORDS]; /* of the block */
  _Alignas(LINE_BYTES) word_t ready;
};

static void put(struct shared *shared, uint64_t key) {
#ifdef MENDED
  tell(&shared->generation, look(&shared->generation) + 1);
#endif
  tell(&shared->key, 0);
  for (unsigned i = 0; i < WORDS; ++i) tell(&shared->words[i], key);
  tell(&shared->key, key);
#ifdef MENDED
  tell(&shared->generation, look(&shared->generation) + 1);
#endif
}

/* 1: found and copied. */
static int get(struct shared *shared, uint64_t key, uint64_t *copy) {
#ifdef MENDED
  const uint64_t generation = look(&shared->generation);
  if (generation % 2 != 0) return 0;
#endif
  if (look(&shared->key) != key) return 0;
  for (unsigned i = 0; i < WORDS; ++i) copy[i] = look(&shared->words[i]);
#ifdef MENDED
  if (look(&shared->generation) != generation) return 0;
#endif
  return 1;
}

int main(void) {
  struct shared *shared = map_pool();
  if (shared == NULL) return 2;
  if (host_id() == 0) {
    put(shared, 5);
    tell(&shared->ready, 1);
    put(shared, 6); /* evicts, and uses the block again */
    return 0;
  }
  await(&shared->ready, 1);
  uint64_t copy[WORDS];
  if (!get(shared, 5, copy)) return 0;
  for (unsigned i = 0; i < WORDS; ++i)
    if (copy[i] != 5) return 1; /* the bytes of another prompt */
  return 0;
}
