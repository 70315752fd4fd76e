/*
 * Lamport's bakery lock: the lock that needs no atomic operation, which no two hosts have. It guards a counter.
 * The fault: a host looks at the others' tickets without dropping its copies first, and sees no one before it.
 */
#include "../shared.h"

enum { HOSTS_MAX = 4, ROUNDS = 2 };

struct ticket {
  _Alignas(LINE_BYTES) _Atomic uint64_t choosing;
  _Alignas(LINE_BYTES) _Atomic uint64_t number;
};

struct bakery {
  struct ticket tickets[HOSTS_MAX];
  _Alignas(LINE_BYTES) uint64_t counter;
};

static void put(_Atomic uint64_t *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
  flush(word, sizeof *word);
}

static uint64_t get(_Atomic uint64_t *word) {
#ifdef MENDED
  flush(word, sizeof *word);
#endif
  return atomic_load_explicit(word, memory_order_acquire); /* FAULT */
}

static void lock(struct bakery *bakery, unsigned me, unsigned hosts) {
  put(&bakery->tickets[me].choosing, 1);
  uint64_t most = 0;
  for (unsigned i = 0; i < hosts; ++i) {
    const uint64_t number = get(&bakery->tickets[i].number);
    if (number > most) most = number;
  }
  put(&bakery->tickets[me].number, most + 1);
  put(&bakery->tickets[me].choosing, 0);
  for (unsigned i = 0; i < hosts; ++i) {
    if (i == me) continue;
    while (get(&bakery->tickets[i].choosing) != 0) _mm_pause();
    for (;;) {
      const uint64_t number = get(&bakery->tickets[i].number);
      if (number == 0 || number > most + 1 || (number == most + 1 && i > me)) break;
      _mm_pause();
    }
  }
}

static void unlock(struct bakery *bakery, unsigned me) {
  put(&bakery->tickets[me].number, 0);
}

int main(void) {
  struct bakery *bakery = map_pool();
  const unsigned hosts = host_count();
  if (bakery == NULL || hosts > HOSTS_MAX) return 2;
  for (unsigned round = 0; round < ROUNDS; ++round) {
    lock(bakery, host_id(), hosts);
    flush(&bakery->counter, sizeof bakery->counter);
    bakery->counter += 1;
    flush(&bakery->counter, sizeof bakery->counter);
    unlock(bakery, host_id());
  }
  return 0;
}
