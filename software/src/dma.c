/*
 * Payload transfers. With an engine (pm_dma_provider is defined by the platform, or the CUDA runtime is asked for) a transfer is
 * submitted and polled; without one it is a streaming copy, complete before the call returns.
 *
 * The pool lines of an engine's transfer are acquired first: a line left dirty in this node's cache would be written back over the
 * payload later, and a clean one would be served to a later load in place of it.
 *
 * A ticket is the engine's, times two, plus the direction; a transfer without engine gets a ticket that is complete.
 */
#include "prismem/dma.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dma_cuda.h"
#include "handle.h"

#define TICKET_DONE ((pm_ticket)1 << 62)
#define ZERO_BYTES 65536u

enum direction { TO_POOL = 0, FROM_POOL = 1 };
enum way { WAY_AUTO, WAY_STREAM, WAY_CUDA };

extern const pm_dma_engine *pm_dma_provider(void) __attribute__((weak));

static const char *const way_names[] = {"auto", "stream", "cuda"};
static enum way way;
static int way_unknown; /* PM_DMA names none: no transfer starts until somebody chooses */
static pthread_once_t way_once = PTHREAD_ONCE_INIT;

static int way_by_name(const char *name) {
  for (int i = WAY_AUTO; i <= WAY_CUDA; ++i) {
    if (strcmp(name, way_names[i]) == 0) return i;
  }
  return pmi_error(EINVAL, "dma (PM_DMA): '%s' is none of auto, stream, cuda", name);
}

static void choose_way(void) {
  const char *wanted = getenv("PM_DMA");
  const int found = wanted == NULL ? WAY_AUTO : way_by_name(wanted);
  way_unknown = found < 0;
  way = found < 0 ? WAY_AUTO : (enum way)found;
}

int pm_dma_force(const char *name) {
  pthread_once(&way_once, choose_way);
  int found = way_by_name(name);
  const int rc = found == WAY_CUDA ? pmi_cuda_available() : 0;
  if (found < 0 || rc < 0) return found < 0 ? found : rc;
  way = (enum way)found;
  way_unknown = 0;
  return 0;
}

static enum way current_way(void) {
  pthread_once(&way_once, choose_way);
  return way;
}

/* NULL: streaming copies. */
static const pm_dma_engine *engine(void) {
  return current_way() == WAY_AUTO && pm_dma_provider != NULL ? pm_dma_provider() : NULL;
}

/* Streaming stores drop the own copy of a line that they write, so only the engines need the acquire before. */
static void copy(pm_pool *pool, enum direction direction, unsigned char *at, void *memory, size_t bytes) {
  if (direction == TO_POOL) {
    pmi_stream_copy(at, memory, bytes);
  } else {
    pmi_acquire(pool, at, bytes);
    memcpy(memory, at, bytes);
  }
}

static int64_t submit(pm_pool *pool, enum direction direction, unsigned char *at, void *memory, size_t bytes) {
  const pm_dma_engine *e = engine();
  if (e == NULL && current_way() != WAY_CUDA) {
    copy(pool, direction, at, memory, bytes);
    return 0;
  }
  pmi_acquire(pool, at, bytes);
  if (e == NULL) return pmi_cuda_submit(pool, direction, at, memory, bytes);
  const int64_t ticket = e->submit(direction, at, memory, bytes);
  if (ticket > 0) return ticket;
  return pmi_error((int)-ticket, "dma: the engine refuses %zu bytes at 0x%llx", bytes,
                   (unsigned long long)(at - pool->base));
}

static pm_ticket start(pm_pool *pool, enum direction direction, uint64_t offset, void *memory, size_t bytes) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  const uint64_t size = pool->params.pool_bytes;
  if (current_way() == WAY_AUTO && way_unknown) return way_by_name(getenv("PM_DMA"));
  if (bytes == 0 || offset % PM_LINE != 0 || bytes % PM_LINE != 0 || offset > size || bytes > size - offset)
    return pmi_error(EINVAL, "offset, bytes: 0x%llx, %zu are not whole lines inside the pool",
                     (unsigned long long)offset, bytes);
  const int64_t ticket = submit(pool, direction, pmi_at(pool, offset), memory, bytes);
  if (ticket < 0) return ticket;
  if (direction == TO_POOL)
    pmi_count(pool, dma_lines_in, bytes / PM_LINE);
  else
    pmi_count(pool, dma_lines_out, bytes / PM_LINE);
  return ticket == 0 ? TICKET_DONE : ticket * 2 + direction;
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
  if (ticket == TICKET_DONE || current_way() == WAY_STREAM) return 1;
  if (PM_MUTANT_ON(valid_before_dma) && ticket % 2 == TO_POOL) return 1;
  if (current_way() == WAY_CUDA) return pmi_cuda_poll(pool, ticket / 2);
  return engine() == NULL ? 1 : engine()->poll(ticket / 2);
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
