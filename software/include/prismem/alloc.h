/**
 * @file alloc.h
 * Allocator: a global chunk bitmap in the pool, size-class free lists of the node in DRAM over the chunks that it owns.
 *
 * @threads any thread; one node may free what another allocated.
 * @visibility the books are published on return; the memory is not touched, and reads as anything until somebody
 *   publishes it.
 * @see software/examples/library/hello.c
 */
#ifndef PRISMEM_ALLOC_H
#define PRISMEM_ALLOC_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/** Allocate `bytes` (rounded up to whole lines, a power-of-two class up to a chunk, or a run of chunks); *offset gets the
 *  place. Contents are undefined. -ENOMEM, -EINVAL for 0 bytes. */
int pm_alloc(pm_pool *pool, uint64_t bytes, uint64_t *offset);
/** Free what pm_alloc of any node returned. -EINVAL: not the start of a live allocation (double free included). */
int pm_free(pm_pool *pool, uint64_t offset);

/** What is used: of the pool, and of the chunks that this node owns. */
typedef struct pm_alloc_info {
  uint64_t chunks_total, chunks_used, chunks_own;
  uint64_t bytes_live, bytes_free_in_own_chunks;
} pm_alloc_info;
/** Takes the allocator's lock. */
int pm_alloc_stat(pm_pool *pool, pm_alloc_info *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
