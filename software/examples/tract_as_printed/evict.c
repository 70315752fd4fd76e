/*
 * Eviction with linear probing (section 4.2): an evicted bucket becomes invalid, that is, empty. As printed, a key that has
 * been pushed on by a collision is not found any more when the one before it goes. Mended: the bucket keeps a tombstone.
 */
#include "tract.h"

enum { BUCKETS = 4 };
enum { EMPTY = 0, TOMBSTONE = UINT32_MAX };

static int find(struct line *buckets, uint64_t key) {
  for (unsigned i = 0; i < BUCKETS; ++i) {
    const unsigned at = (key + i) % BUCKETS;
    const uint64_t hash = look(&buckets[at].word);
    if (hash == key) return (int)at;
    if (hash == EMPTY) return -1;
  }
  return -1;
}

static void insert(struct line *buckets, uint64_t key) {
  unsigned at = key % BUCKETS;
  while (look(&buckets[at].word) != EMPTY) at = (at + 1) % BUCKETS;
  tell(&buckets[at].word, key);
}

int main(void) {
  struct line *buckets = map_pool();
  if (buckets == NULL) return 2;
  insert(buckets, 5);
  insert(buckets, 5 + BUCKETS);
#ifdef MENDED
  tell(&buckets[find(buckets, 5)].word, TOMBSTONE);
#else
  tell(&buckets[find(buckets, 5)].word, EMPTY);
#endif
  return find(buckets, 5 + BUCKETS) < 0 ? 1 : 0;
}
