/**
 * @file rendezvous.h
 * Rendezvous coherence: payload by DMA, its completion, then one published signal line; no flush of the payload line by line.
 * One channel a pair of nodes and direction; each of its two lines (signal, acknowledge) has one writer.
 *
 * @threads one thread at a time an end of a channel; others wait for it.
 * @visibility a signal is published after everything that the thread published and transferred before.
 * @see software/examples/library/stream.c
 */
#ifndef PRISMEM_RENDEZVOUS_H
#define PRISMEM_RENDEZVOUS_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct pm_signal {
  uint64_t sequence; /**< 1, 2, 3, ... filled by pm_send */
  uint64_t offset;   /**< free for the user: payload place */
  uint64_t length;   /**< free for the user: payload bytes */
  uint64_t tag;      /**< free for the user */
  uint64_t checksum; /**< free for the user */
} pm_signal;

/** Send a signal to `node`; waits until the previous one was taken. */
int pm_send(pm_pool *pool, uint32_t node, uint32_t channel, const pm_signal *signal);
/** Receive the next signal from `node`: 1 and *signal, or 0 when there is none (one poll). */
int pm_try_receive(pm_pool *pool, uint32_t node, uint32_t channel, pm_signal *signal);
/** Wait for it. */
int pm_receive(pm_pool *pool, uint32_t node, uint32_t channel, pm_signal *signal);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
