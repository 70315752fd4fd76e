/*
 * What the programs of this folder share. They are the algorithms of TraCT (arXiv 2512.18194) as the paper prints them, each
 * a plain program; -D MENDED gives the form that holds. docs/paper_audit.md tells what the checker says about them.
 */
#ifndef EXAMPLES_TRACT_H
#define EXAMPLES_TRACT_H

#include "../shared.h"

typedef _Atomic uint64_t word_t;

/* A word with a line of its own. */
struct line {
  _Alignas(LINE_BYTES) word_t word;
};

/* The paper's clflush(addr, size): each line of the range, and no fence. */
static inline void clflush(const volatile void *data, size_t bytes) {
  const char *first = (const char *)((uintptr_t)data & ~(uintptr_t)(LINE_BYTES - 1));
  for (const char *line = first; line < (const char *)data + bytes; line += LINE_BYTES) _mm_clflush(line);
}

/* Words between hosts as they have to be used: publish after the store, invalidate before the load. */
static inline void tell(word_t *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
  flush(word, sizeof *word);
}
static inline uint64_t look(word_t *word) {
  flush(word, sizeof *word);
  return atomic_load_explicit(word, memory_order_acquire);
}
static inline void await(word_t *word, uint64_t value) {
  while (look(word) < value) _mm_pause();
}

#endif
