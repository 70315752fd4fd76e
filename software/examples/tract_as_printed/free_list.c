/*
 * Free lists in local memory (section 3.5): node 0 owns a chunk and keeps its free blocks on a list of its own; node 1 frees
 * a block that it was given, and dies. As printed the block goes to the list of the node that frees it, and is lost with it.
 * Mended: it goes back through a line of the pool to the node that owns the chunk.
 */
#include "tract.h"

enum { BLOCKS = 2 };

struct shared {
  _Alignas(LINE_BYTES) word_t given; /* block + 1 that node 1 may use */
  _Alignas(LINE_BYTES) word_t returned, dead;
};

static unsigned list[BLOCKS], listed; /* of this node, in its own memory */

static void shfree(struct shared *shared, unsigned block) {
#ifdef MENDED
  tell(&shared->returned, block + 1);
#else
  (void)shared;
  list[listed++] = block;
#endif
}

int main(void) {
  struct shared *shared = map_pool();
  if (shared == NULL) return 2;
  if (host_id() == 1) {
    await(&shared->given, 1);
    shfree(shared, (unsigned)look(&shared->given) - 1);
    tell(&shared->dead, 1);
    return 0;
  }
  for (unsigned block = 0; block < BLOCKS; ++block) list[listed++] = block;
  tell(&shared->given, list[--listed] + 1);
  await(&shared->dead, 1);
  if (look(&shared->returned) != 0) list[listed++] = (unsigned)look(&shared->returned) - 1;
  return listed == BLOCKS ? 0 : 1;
}
