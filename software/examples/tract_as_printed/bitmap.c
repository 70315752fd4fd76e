/*
 * Words of independent writers (sections 3.5 and 4.2: bitmap words, buckets of 16 bytes, LRU links): each node marks chunks
 * in a word of its own. As printed the words follow one another in memory, so nodes share a line. Mended: a line for each.
 */
#include "tract.h"

enum { CHUNKS = 3 };

struct bitmap {
#ifdef MENDED
  _Alignas(LINE_BYTES)
#endif
      uint64_t word;
};

int main(void) {
  struct bitmap *bitmap = map_pool();
  if (bitmap == NULL) return 2;
  uint64_t *mine = &bitmap[host_id()].word;
  for (unsigned chunk = 0; chunk < CHUNKS; ++chunk) {
    flush(mine, sizeof *mine);
    *mine |= 1u << chunk;
    flush(mine, sizeof *mine);
  }
  flush(mine, sizeof *mine);
  return *mine == (1u << CHUNKS) - 1 ? 0 : 1;
}
