/*
 * What verbs.c offers to the rest of the library beside the public verbs: the halves of an acquire, so that scattered lines
 * need one fence, and the streaming copy of a machine without a DMA engine.
 */
#ifndef PRISMEM_SRC_INSTRUCTIONS_H
#define PRISMEM_SRC_INSTRUCTIONS_H

#include "prismem/verbs.h"

/** Number of lines that [p, p+n) touches. */
static inline uint64_t pmi_lines(const void *p, size_t n) {
  const uintptr_t first = (uintptr_t)p / PM_LINE;
  return n == 0 ? 0 : ((uintptr_t)p + n - 1) / PM_LINE - first + 1;
}

/** 0, or -errno when PM_FLUSH asks for a path that this CPU does not have, or for none. */
int pmi_verbs_check(void);
/** First half of an acquire: write back and drop the lines. Loads may still pass it. */
void pmi_invalidate(const void *p, size_t n);
/** The lines will be read soon: begin to load them all at once. A hint, behind the fence. */
void pmi_prefetch(const void *p, size_t n);
/** Second half: later loads wait for the invalidations. */
void pmi_invalidate_fence(void);
/** Copy to the pool around the cache; complete in the device on return. Both 64-byte aligned, n a multiple of 64. */
void pmi_stream_copy(void *pool, const void *src, size_t n);

#endif
