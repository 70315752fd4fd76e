/*
 * The order of a bucket's two words (section 4.2 has them in this order): a node looks the block up while it is inserted.
 * As printed, hash and then offset: the line can leave between the two. Mended: the hash is the last store.
 */
#include "tract.h"

struct bucket {
  _Alignas(LINE_BYTES) word_t hash;
  word_t offset;
};

int main(void) {
  struct bucket *bucket = map_pool();
  if (bucket == NULL) return 2;
  if (host_id() == 0) {
#ifdef MENDED
    atomic_store_explicit(&bucket->offset, 4096, memory_order_relaxed);
    tell(&bucket->hash, 5);
#else
    atomic_store_explicit(&bucket->hash, 5, memory_order_release);
    tell(&bucket->offset, 4096);
#endif
    return 0;
  }
  await(&bucket->hash, 5);
  return atomic_load_explicit(&bucket->offset, memory_order_relaxed) == 4096 ? 0 : 1;
}
