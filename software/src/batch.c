/*
 * Prefix index: whole batches. What all chains of a batch share is paid once: the fence behind the write-backs of their pins
 * and buckets, and one tenure of the index lock (index.c and reserve.c do that); here are the calls that only go round.
 */
#include <errno.h>

#include "bucket.h"

int pmi_chain_check(const pm_chain *c, size_t number) {
  if (c->n <= INT32_MAX && (c->n == 0 || (c->digests != NULL && c->refs != NULL))) return 0;
  return pmi_error(EINVAL, "chains[%zu]: digests, refs, n: %zu blocks without memory for them", number, c->n);
}

int pm_index_commit_many(pm_pool *pool, pm_chain *chains, size_t count) {
  int first = pmi_usable(pool);
  if (first < 0) return first;
  for (size_t i = 0; i < count; ++i) {
    chains[i].result = pm_index_commit(pool, chains[i].refs, chains[i].n);
    if (first == 0) first = chains[i].result;
  }
  return first;
}

int pm_index_release_many(pm_pool *pool, pm_chain *chains, size_t count) {
  int first = pmi_usable(pool);
  if (first < 0) return first;
  for (size_t i = 0; i < count; ++i) {
    chains[i].result = pm_index_release(pool, chains[i].request, chains[i].refs, chains[i].n);
    if (first == 0) first = chains[i].result;
  }
  return first;
}

/* Transfers in flight at once: refs[*oldest..i). While the engine takes no more, wait for the oldest. */
static int start_copy(pm_pool *pool, const pm_ref *refs, unsigned char *to, size_t i, size_t *oldest,
                      pm_ticket tickets[PM_FETCH_FLIGHT_MAX]) {
  for (;;) {
    if (i - *oldest < PM_FETCH_FLIGHT_MAX) {
      const pm_ticket ticket = pm_dma_read(pool, refs[i].offset, to, pool->params.block_bytes);
      if (ticket > 0) tickets[i % PM_FETCH_FLIGHT_MAX] = ticket;
      if (ticket > 0) return 0;
      if (ticket != -EAGAIN || i == *oldest) return (int)ticket;
    }
    const int rc = pm_dma_wait(pool, tickets[*oldest % PM_FETCH_FLIGHT_MAX]);
    *oldest += 1;
    if (rc < 0) return rc;
  }
}

int pm_index_fetch(pm_pool *pool, const pm_ref *refs, size_t n, void *dst) {
  pm_ticket tickets[PM_FETCH_FLIGHT_MAX];
  size_t oldest = 0, started = 0;
  int rc = pmi_usable(pool);
  if (rc == 0 && n != 0 && (refs == NULL || dst == NULL)) rc = pmi_error(EINVAL, "refs, dst: NULL for %zu blocks", n);
  for (size_t i = 0; rc == 0 && i < n; ++i) {
    if (refs[i].state != PM_REF_HIT) rc = pmi_error(EINVAL, "refs[%zu]: is not a pinned block", i);
  }
  while (rc == 0 && started < n) {
    unsigned char *to = (unsigned char *)dst + started * pool->params.block_bytes;
    rc = start_copy(pool, refs, to, started, &oldest, tickets);
    started += (size_t)(rc == 0);
  }
  for (; oldest < started; ++oldest) { /* after an error too: the engine writes to memory of the caller */
    const int waited = pm_dma_wait(pool, tickets[oldest % PM_FETCH_FLIGHT_MAX]);
    if (rc == 0) rc = waited;
  }
  return rc < 0 ? rc : pm_index_check_many(pool, refs, n);
}
