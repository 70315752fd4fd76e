/*
 * Every host counts in a word of its own and publishes it.
 * The fault: the words share a line. A cache writes whole lines back, and with them the old words of the other hosts.
 */
#include "../shared.h"

enum { HOSTS_MAX = 64, ROUNDS = 3 };

#ifdef MENDED
struct counter {
  _Alignas(LINE_BYTES) uint64_t value;
};
#else
struct counter {
  uint64_t value;
};
#endif

int main(void) {
  struct counter *counters = map_pool();
  if (counters == NULL) return 2;
  struct counter *mine = &counters[host_id() % HOSTS_MAX];
  for (uint64_t n = 1; n <= ROUNDS; ++n) {
    mine->value = n;
    flush(&mine->value, sizeof mine->value);
  }
  return 0;
}
