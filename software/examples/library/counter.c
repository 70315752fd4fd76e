/*
 * Two hosts count in one line of shared memory, under a lock.
 *
 * The lock says whether another host held it since (`fresh`): then the own copy of what it protects may be old, and is acquired
 * before it is read. What was changed is published before the lock is released.
 */
#include "example.h"

enum { STEPS = 100 };

typedef struct counter {
  _Alignas(64) uint64_t value;
} counter;

static void step(node *n, counter *shared) {
  int fresh;
  must(pm_lock_acquire(n->pool, LOCK_OF_USER, &fresh), "pm_lock_acquire");
  if (fresh) pm_acquire(shared, sizeof *shared);
  shared->value += 1;
  pm_publish(shared, sizeof *shared);
  must(pm_lock_release(n->pool, LOCK_OF_USER), "pm_lock_release");
}

static uint64_t read_counter(node *n, const counter *shared) {
  must(pm_lock_acquire(n->pool, LOCK_OF_USER, NULL), "pm_lock_acquire");
  pm_acquire(shared, sizeof *shared);
  const uint64_t value = shared->value;
  must(pm_lock_release(n->pool, LOCK_OF_USER), "pm_lock_release");
  return value;
}

int main(int argc, char **argv) {
  node n;
  counter *shared;
  node_open(&n, argc, argv);
  if (n.id == 0) {
    uint64_t offset;
    must(pm_alloc(n.pool, sizeof *shared, &offset), "pm_alloc");
    shared = pm_ptr(n.pool, offset);
    shared->value = 0;
    pm_publish(shared, sizeof *shared);
    must(pm_put(n.pool, "counter", 7, offset), "pm_put");
  } else {
    shared = await_object(&n, "counter");
  }
  for (int i = 0; i < STEPS; ++i) step(&n, shared);
  while (n.id == 0 && read_counter(&n, shared) < (uint64_t)NODES * STEPS) pm_relax();
  if (n.id == 0) printf("the counter stands at %llu\n", (unsigned long long)read_counter(&n, shared));
  node_close(&n);
  return 0;
}
