/*
 * The global lock (section 3.3): a slot for each node, IDLE, WAITING or LOCKED; a manager thread on node 0 scans the slots
 * and grants. As printed, nodes and manager poll with plain loads. -D POLLS: they drop their copies before each look.
 * -D PACKED: the slots share a line. -D ABANDON: node 1 gives up when it has waited for long. -D DIES: node 1 dies with
 * the lock. Mended: a line of requests that the node alone writes, a line of grants that the manager alone writes, numbered;
 * who gives up returns the number, whether it has been granted or not; who does not answer loses it.
 */
#include <pthread.h>

#include "tract.h"

enum { IDLE, WAITING, LOCKED };
enum { NODES_MAX = 4, ROUNDS = 2, PATIENCE = 2, LEASE_SCANS = 200 };

struct slot {
#ifndef PACKED
  _Alignas(LINE_BYTES)
#endif
      word_t state; /* mended: the number of the node's request, odd while it wants or holds the lock */
#ifdef MENDED
  _Alignas(LINE_BYTES) word_t granted; /* the number that the manager has granted last */
#endif
};

struct shared {
  _Alignas(LINE_BYTES) struct slot slots[NODES_MAX];
  _Alignas(LINE_BYTES) uint64_t guarded;
  struct line finished[NODES_MAX];
};

static struct shared *shared;

static uint64_t poll(word_t *word) {
#if defined(POLLS) || defined(MENDED)
  flush(word, sizeof *word);
#endif
  return atomic_load_explicit(word, memory_order_acquire);
}

static int all_finished(void) {
  for (unsigned node = 0; node < host_count(); ++node)
    if (look(&shared->finished[node].word) == 0) return 0;
  return 1;
}

#ifdef MENDED

static void *manager(void *unused) {
  unsigned holder = NODES_MAX, scans = 0;
  while (!all_finished()) {
    for (unsigned node = 0; node < host_count(); ++node) {
      struct slot *slot = &shared->slots[node];
      const uint64_t request = poll(&slot->state);
      const uint64_t granted = atomic_load_explicit(&slot->granted, memory_order_relaxed);
      if (node == holder && (request != granted || ++scans > LEASE_SCANS)) holder = NODES_MAX;
      if (holder == NODES_MAX && request % 2 == 1 && request != granted) {
        holder = node;
        scans = 0;
        tell(&slot->granted, request);
      }
    }
    _mm_pause();
  }
  return unused;
}

static int lock(struct slot *slot, int patient) {
  const uint64_t number = atomic_load_explicit(&slot->state, memory_order_relaxed) + 1;
  tell(&slot->state, number);
  for (unsigned looks = 0; poll(&slot->granted) != number; ++looks) {
    if (!patient && looks == PATIENCE) {
      tell(&slot->state, number + 1);
      return 0;
    }
    _mm_pause();
  }
  return 1;
}

static void unlock(struct slot *slot) {
  tell(&slot->state, atomic_load_explicit(&slot->state, memory_order_relaxed) + 1);
}

#else

static void *manager(void *unused) {
  while (!all_finished()) {
    int locked = 0;
    for (unsigned node = 0; node < host_count(); ++node) locked |= poll(&shared->slots[node].state) == LOCKED;
    for (unsigned node = 0; node < host_count() && !locked; ++node) {
      if (poll(&shared->slots[node].state) != WAITING) continue;
      tell(&shared->slots[node].state, LOCKED);
      locked = 1;
    }
    _mm_pause();
  }
  return unused;
}

static int lock(struct slot *slot, int patient) {
  tell(&slot->state, WAITING);
  for (unsigned looks = 0; poll(&slot->state) != LOCKED; ++looks) {
    if (!patient && looks == PATIENCE) {
      tell(&slot->state, IDLE);
      return 0;
    }
    _mm_pause();
  }
  return 1;
}

static void unlock(struct slot *slot) {
  tell(&slot->state, IDLE);
}

#endif

static void work(void) {
  struct slot *slot = &shared->slots[host_id()];
#ifdef ABANDON
  const int patient = host_id() != 1;
#else
  const int patient = 1;
#endif
  for (unsigned round = 0; round < ROUNDS; ++round) {
    if (!lock(slot, patient)) continue;
#ifdef DIES
    if (host_id() == 1) return;
#endif
    flush(&shared->guarded, sizeof shared->guarded);
    shared->guarded += 1;
    flush(&shared->guarded, sizeof shared->guarded);
    unlock(slot);
  }
}

int main(void) {
  shared = map_pool();
  pthread_t scanning;
  if (shared == NULL || host_count() > NODES_MAX) return 2;
  if (host_id() == 0 && pthread_create(&scanning, NULL, manager, NULL) != 0) return 2;
  work();
  tell(&shared->finished[host_id()].word, 1);
  if (host_id() == 0) pthread_join(scanning, NULL);
  return 0;
}
