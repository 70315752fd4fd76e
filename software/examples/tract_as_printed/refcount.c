/*
 * A reference count that goes from host to host (section 3.4): host 0 takes a reference and says so, host 1 looks at it.
 * As printed, CLFLUSH evicts "before the instruction completes", so nothing follows it. -D OPT: CLFLUSHOPT and MFENCE, with
 * which the paper saw old counts. Mended: CLFLUSH and MFENCE.
 */
#include "tract.h"

struct entry {
  _Alignas(LINE_BYTES) uint64_t references;
  _Alignas(LINE_BYTES) word_t told;
};

static void make_visible(uint64_t *count) {
#ifdef OPT
  _mm_clflushopt(count);
  _mm_mfence();
#else
  clflush(count, sizeof *count);
#endif
#ifdef MENDED
  _mm_mfence();
#endif
}

int main(void) {
  struct entry *entry = map_pool();
  if (entry == NULL) return 2;
  if (host_id() == 0) {
    entry->references += 1;
    make_visible(&entry->references);
    tell(&entry->told, 1);
    return 0;
  }
  const uint64_t before = entry->references; /* brings the line into the cache, as an earlier look at it does */
  await(&entry->told, 1);
  make_visible(&entry->references);
  return entry->references == 1 && before <= 1 ? 0 : 1;
}
