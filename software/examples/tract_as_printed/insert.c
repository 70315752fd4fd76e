/*
 * Insert into the prefix index (section 4.2): probe for an empty bucket, allocate, move the block, then write the bucket.
 * As printed the empty bucket is not reserved meanwhile, so two nodes whose keys meet take the same one. Mended: probing and
 * reserving happen under a lock; the entry is out before the hash, which is the last store to the bucket.
 */
#include "tract.h"

enum { BUCKETS = 4, PAYLOAD_WORDS = 8 };

struct bucket {
  _Alignas(LINE_BYTES) word_t hash;
  word_t offset;
};

struct shared {
  struct bucket buckets[BUCKETS];
  struct {
    _Alignas(LINE_BYTES) uint64_t words[PAYLOAD_WORDS];
  } blocks[2];
  struct {
    _Alignas(LINE_BYTES) word_t wants, done;
  } nodes[2];
  struct line turn[2]; /* of each node: the other one goes first */
};

/* Peterson's lock for two nodes; who comes later says so in a line of its own. */
static void lock(struct shared *shared, unsigned me) {
  tell(&shared->nodes[me].wants, 1);
  tell(&shared->turn[me].word, look(&shared->turn[!me].word) ^ me);
  while (look(&shared->nodes[!me].wants) != 0 && (look(&shared->turn[0].word) ^ look(&shared->turn[1].word)) == me)
    _mm_pause();
}
static void unlock(struct shared *shared, unsigned me) {
  tell(&shared->nodes[me].wants, 0);
}

static struct bucket *probe(struct shared *shared, uint64_t key) {
  for (unsigned i = 0; i < BUCKETS; ++i) {
    struct bucket *bucket = &shared->buckets[(key + i) % BUCKETS];
    if (look(&bucket->hash) == 0) return bucket;
  }
  return NULL;
}

static void insert(struct shared *shared, unsigned me, uint64_t key) {
  uint64_t *block = shared->blocks[me].words;
#ifdef MENDED
  lock(shared, me);
#endif
  struct bucket *bucket = probe(shared, key);
#ifdef MENDED
  tell(&bucket->hash, UINT64_MAX); /* reserved */
  unlock(shared, me);
#endif
  for (unsigned i = 0; i < PAYLOAD_WORDS; ++i) block[i] = key;
  flush(block, sizeof shared->blocks[me]);
  atomic_store_explicit(&bucket->offset, (uint64_t)((char *)block - (char *)shared), memory_order_relaxed);
  tell(&bucket->hash, key);
}

static int finds(struct shared *shared, uint64_t key) {
  for (unsigned i = 0; i < BUCKETS; ++i) {
    if (look(&shared->buckets[(key + i) % BUCKETS].hash) == key) return 1;
  }
  return 0;
}

int main(void) {
  struct shared *shared = map_pool();
  if (shared == NULL || host_count() != 2) return 2;
  const unsigned me = host_id();
  insert(shared, me, 5 + BUCKETS * me); /* both keys have the same home */
  tell(&shared->nodes[me].done, 1);
  await(&shared->nodes[!me].done, 1);
  return finds(shared, 5) && finds(shared, 5 + BUCKETS) ? 0 : 1;
}
