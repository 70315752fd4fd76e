/*
 * Transfers by the CUDA runtime, which is looked for when it is asked for and never linked.
 */
#ifndef PRISMEM_SRC_DMA_CUDA_H
#define PRISMEM_SRC_DMA_CUDA_H

#include "prismem/dma.h"

/** 0 when the runtime and a device are there; -ENODEV with the reason, -ENOTSUP in an instrumented build. */
int pmi_cuda_available(void);
/** Start a transfer between the pool and memory of the host or a device; a positive ticket or -errno (-EAGAIN: as many as
 *  are allowed are in flight). The pool's lines were acquired. dir as in pm_dma_engine. */
int64_t pmi_cuda_submit(pm_pool *pool, int dir, void *at, void *memory, size_t bytes);
/** 1 complete in the device, 0 not yet, -EIO with the runtime's text, once; -EINVAL unknown ticket. */
int pmi_cuda_poll(pm_pool *pool, int64_t ticket);
/** The mapping goes away: nothing of it stays registered. */
void pmi_cuda_close(pm_pool *pool);

#endif
