/*
 * A lock-free stack of the threads of one host, in shared memory; locked operations work inside a host. Nodes are named by
 * index, and each thread pops two and pushes the second back... once.
 * The fault: the head says which node is on top, not how often it has been; a compare-and-swap takes a node that was away
 * and came back for one that never moved (ABA), and the stack loses what changed below it.
 */
#include <pthread.h>

#include "shared.h"

enum { NODES = 3 };

struct node {
  _Atomic uint64_t next; /* index + 1; 0: none */
};

struct stack {
  _Alignas(
      LINE_BYTES) _Atomic uint64_t head; /* low half: index + 1; high half, when mended: how often it was changed */
  _Alignas(LINE_BYTES) struct node nodes[NODES];
  _Alignas(LINE_BYTES) _Atomic uint64_t holders[NODES]; /* threads that have popped a node and not pushed it back */
};

static struct stack *stack;

static uint64_t changed(uint64_t head, uint64_t top) {
#ifdef MENDED
  return ((head >> 32) + 1) << 32 | top;
#else
  (void)head;
  return top;
#endif
}

static void push(uint64_t index) {
  atomic_fetch_sub(&stack->holders[index], 1);
  uint64_t head = atomic_load(&stack->head);
  do atomic_store(&stack->nodes[index].next, head & 0xffffffff);
  while (!atomic_compare_exchange_strong(&stack->head, &head, changed(head, index + 1)));
}

/* Index of the node that was on top, or NODES: empty. Aborts when somebody else holds it. */
static uint64_t pop(void) {
  uint64_t head = atomic_load(&stack->head);
  uint64_t top;
  do {
    top = head & 0xffffffff;
    if (top == 0) return NODES;
  } while (
      !atomic_compare_exchange_strong(&stack->head, &head, changed(head, atomic_load(&stack->nodes[top - 1].next))));
  if (atomic_fetch_add(&stack->holders[top - 1], 1) != 0) abort();
  return top - 1;
}

static void *work(void *unused) {
  const uint64_t first = pop();
  const uint64_t second = pop();
  if (first != NODES) push(first);
  if (second != NODES) push(second);
  return unused;
}

int main(void) {
  stack = map_pool();
  if (stack == NULL) return 2;
  for (uint64_t i = 0; i < NODES; ++i) {
    atomic_store(&stack->holders[i], 1);
    push(i);
  }
  pthread_t other;
  if (pthread_create(&other, NULL, work, NULL) != 0) return 2;
  work(NULL);
  pthread_join(other, NULL);
  return 0;
}
