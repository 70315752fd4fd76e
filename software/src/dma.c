/*
 * Payload transfers. With an engine (pm_dma_provider is defined by the platform) a transfer is submitted and polled; without
 * one it is a streaming copy, complete before the call returns.
 *
 * The pool lines of a transfer are acquired first: a line left dirty in this node's cache would be written back over the
 * payload later, and a clean one would be served to a later load in place of it.
 *
 * A ticket is the engine's, times two, plus the direction; a transfer without engine gets a ticket that is complete.
 */
#include "prismem/dma.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

#define TICKET_DONE ((pm_ticket)1 << 62)
#define ZERO_BYTES 65536u

enum direction { TO_POOL = 0, FROM_POOL = 1 };

extern const pm_dma_engine *pm_dma_provider(void) __attribute__((weak));

static int streaming; /* no engine even where there is one */
static pthread_once_t streaming_once = PTHREAD_ONCE_INIT;

static void choose_provider(void) {
  const char *wanted = getenv("PM_DMA");
  streaming = wanted != NULL && strcmp(wanted, "stream") == 0;
}

int pm_dma_force(const char *name) {
  pthread_once(&streaming_once, choose_provider);
  if (strcmp(name, "auto") != 0 && strcmp(name, "stream") != 0)
    return pmi_error(EINVAL, "dma: '%s' is neither auto nor stream", name);
  streaming = strcmp(name, "stream") == 0;
  return 0;
}

static const pm_dma_engine *engine(void) {
  pthread_once(&streaming_once, choose_provider);
  return pm_dma_provider != NULL && !streaming ? pm_dma_provider() : NULL;
}

static pm_ticket start(pm_pool *pool, enum direction direction, uint64_t offset, void *memory, size_t bytes) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  const uint64_t size = pool->params.pool_bytes;
  if (bytes == 0 || offset % PM_LINE != 0 || bytes % PM_LINE != 0 || offset > size || bytes > size - offset)
    return pmi_error(EINVAL, "offset, bytes: 0x%llx, %zu are not whole lines inside the pool",
                     (unsigned long long)offset, bytes);
  unsigned char *at = pmi_at(pool, offset);
  pmi_acquire(pool, at, bytes);
  const pm_dma_engine *e = engine();
  pm_ticket ticket = TICKET_DONE;
  if (e != NULL) {
    const int64_t engine_ticket = e->submit(direction, at, memory, bytes);
    if (engine_ticket < 0)
      return pmi_error((int)-engine_ticket, "dma: the engine refuses %zu bytes at 0x%llx", bytes,
                       (unsigned long long)offset);
    ticket = engine_ticket * 2 + direction;
  } else if (direction == TO_POOL) {
    pmi_stream_copy(at, memory, bytes);
  } else {
    memcpy(memory, at, bytes);
  }
  if (direction == TO_POOL)
    pmi_count(pool, dma_lines_in, bytes / PM_LINE);
  else
    pmi_count(pool, dma_lines_out, bytes / PM_LINE);
  return ticket;
}

pm_ticket pm_dma_write(pm_pool *pool, uint64_t offset, const void *src, size_t bytes) {
  return start(pool, TO_POOL, offset, (void *)(uintptr_t)src, bytes);
}

pm_ticket pm_dma_read(pm_pool *pool, uint64_t offset, void *dst, size_t bytes) {
  return start(pool, FROM_POOL, offset, dst, bytes);
}

int pm_dma_poll(pm_pool *pool, pm_ticket ticket) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (ticket <= 0) return pmi_error(EINVAL, "ticket: %lld was never given out", (long long)ticket);
  if (ticket == TICKET_DONE || engine() == NULL) return 1;
  if (PM_MUTANT_ON(valid_before_dma) && ticket % 2 == TO_POOL) return 1;
  return engine()->poll(ticket / 2);
}

int pm_dma_wait(pm_pool *pool, pm_ticket ticket) {
  for (;;) {
    const int rc = pm_dma_poll(pool, ticket);
    if (rc != 0) return rc < 0 ? rc : 0;
    pm_relax();
  }
}

void pmi_dma_zero(void *pool, size_t bytes) {
  static const _Alignas(64) unsigned char zeros[ZERO_BYTES];
  unsigned char *at = pool;
  const pm_dma_engine *e = engine();
  while (bytes != 0) {
    const size_t part = bytes < ZERO_BYTES ? bytes : ZERO_BYTES;
    const int64_t ticket = e == NULL ? 0 : e->submit(TO_POOL, at, (void *)(uintptr_t)zeros, part);
    if (ticket > 0) {
      while (e->poll(ticket) == 0) pm_relax();
    } else {
      pmi_stream_copy(at, zeros, part);
    }
    at += part;
    bytes -= part;
  }
}
