/*
 * A target of DMA that the CPU has cleared before (section 3.4: DMA bypasses the caches entirely): node 0 clears the block
 * and hands it out; what comes by DMA is written here by node 1 with streaming stores, past all caches too. As printed
 * nothing is flushed, since the payload does not go through a cache: the zeroes come back later. Mended: flush first.
 */
#include "tract.h"

enum { WORDS = 8 };

struct shared {
  _Alignas(LINE_BYTES) uint64_t words[WORDS];
  _Alignas(LINE_BYTES) word_t submitted, completed;
};

int main(void) {
  struct shared *shared = map_pool();
  if (shared == NULL) return 2;
  if (host_id() == 0) {
    for (unsigned i = 0; i < WORDS; ++i) shared->words[i] = 0;
#ifdef MENDED
    flush(shared->words, sizeof shared->words);
#endif
    tell(&shared->submitted, 1);
    return 0;
  }
  await(&shared->submitted, 1);
  for (unsigned i = 0; i < WORDS; ++i) _mm_stream_si64((long long *)&shared->words[i], 5);
  _mm_sfence();
  tell(&shared->completed, 1);
  return 0;
}
