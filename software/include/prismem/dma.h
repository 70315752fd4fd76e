/**
 * @file dma.h
 * Payload transfers that bypass the CPU caches.
 *
 * A provider moves the bytes: a device engine when the program is linked with one (`pm_dma_provider`, below: the emulated
 * host has one), else streaming stores and a fence. Offsets and sizes are multiples of 64 bytes.
 *
 * @threads any thread; a ticket may be waited for by another one than started it.
 * @visibility a transfer that is complete is in the device, for every host; a read gives what the device had.
 * @see software/examples/library/stream.c
 */
#ifndef PRISMEM_DMA_H
#define PRISMEM_DMA_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t pm_ticket;

/** Start a transfer: memory -> pool, pool -> memory. Returns a positive ticket or -errno; -EAGAIN: the engine has as many
 *  transfers in flight as it takes, wait for one. What this node's cache holds of the pool's lines is written back and dropped
 *  first. */
pm_ticket pm_dma_write(pm_pool *pool, uint64_t offset, const void *src, size_t bytes);
pm_ticket pm_dma_read(pm_pool *pool, uint64_t offset, void *dst, size_t bytes);
/** 1 complete (the device has every line), 0 not yet, -errno. */
int pm_dma_poll(pm_pool *pool, pm_ticket ticket);
/** Wait for it. */
int pm_dma_wait(pm_pool *pool, pm_ticket ticket);

/** A DMA engine of the platform. dir 0: memory to pool, 1: pool to memory. */
typedef struct pm_dma_engine {
  int64_t (*submit)(int dir, void *pool_addr, void *mem, size_t bytes);
  int (*poll)(int64_t ticket);
} pm_dma_engine;
/** Weak symbol: a platform that has an engine defines it. */
const pm_dma_engine *pm_dma_provider(void);

/** Who moves payload: "auto": the platform's engine, or streaming stores where there is none; "stream": streaming stores and
 *  loads even there; "cuda": the CUDA runtime, for memory of a GPU, looked for when it is asked for (file PM_CUDA_RUNTIME, or
 *  libcudart.so); the pool is registered with it in pieces of at most 64 GiB, and where it refuses that, transfers go through a
 *  bounce buffer. The default is auto; the environment variable PM_DMA or this call, while no transfer is in flight, chooses.
 *  -EINVAL for another name, -ENOTSUP in an instrumented build, -ENODEV without runtime or GPU (pm_error_text() says what is missing). */
int pm_dma_force(const char *name);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
