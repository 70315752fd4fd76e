/*
 * A holder that is taken for dead (sections 3.1 and 3.3 do not say what happens then): node 0 has stored to what the lock
 * guards when the lock goes to node 1. As printed there is one copy of the record: the line that node 0 still has dirty comes
 * back later. Mended: the record has a line for each tenure, and readers take the one of the current tenure.
 */
#include "tract.h"

struct shared {
  _Alignas(LINE_BYTES) word_t tenure;
  struct {
    _Alignas(LINE_BYTES) uint64_t record;
  } lines[2];
};

static uint64_t *record_of(struct shared *shared, uint64_t tenure) {
#ifdef MENDED
  return &shared->lines[tenure].record;
#else
  (void)tenure;
  return &shared->lines[0].record;
#endif
}

int main(void) {
  struct shared *shared = map_pool();
  if (shared == NULL) return 2;
  if (host_id() == 0) {
    *record_of(shared, 0) = 1; /* and it is not heard of any more */
    tell(&shared->tenure, 1);  /* what the manager does when its lease is over */
    return 0;
  }
  await(&shared->tenure, 1);
  uint64_t *record = record_of(shared, 1);
  flush(record, sizeof *record);
  *record = 2;
  flush(record, sizeof *record);
  return *record == 2 ? 0 : 1;
}
