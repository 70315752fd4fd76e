/*
 * Line bookkeeping of a held lock. While no other node has held the lock in between, this node's cached copies of the
 * protected lines are the newest there are, so they stay in use over several tenures; `epoch` tells the tenures apart.
 */
#include "hold.h"

#include <errno.h>
#include <stdlib.h>

#include "repair.h"

#define CHANGED_LINES_MAX 512u

int pmi_guard_open(pm_pool *pool, pmi_guard *guard, uint32_t lock, uint64_t offset, uint64_t bytes) {
  *guard = (pmi_guard){.lock = lock, .epoch = 1, .serial = 1, .base = pmi_at(pool, offset), .lines = bytes / PM_LINE};
  guard->seen = calloc(guard->lines, sizeof *guard->seen);
  guard->changed = calloc(guard->lines, sizeof *guard->changed);
  guard->changed_lines = calloc(CHANGED_LINES_MAX, sizeof *guard->changed_lines);
  if (guard->seen == NULL || guard->changed == NULL || guard->changed_lines == NULL)
    return pmi_error(ENOMEM, "memory: no room for the line table of lock %u", lock);
  return 0;
}

void pmi_guard_close(pmi_guard *guard) {
  free(guard->seen);
  free(guard->changed);
  free(guard->changed_lines);
  *guard = (pmi_guard){0};
}

static inline uint64_t line_number(const pmi_guard *guard, const void *p) {
  const uint64_t line = (uint64_t)((const unsigned char *)p - guard->base) / PM_LINE;
  assert(line < guard->lines);
  return line;
}

/* Nodes died since the last repair of what the lock protects. It counts as done only after all of it is published. */
static int repair(pm_pool *pool, pmi_guard *guard) {
  const uint64_t dead = pm_lock_dead(pool, guard->lock);
  int rc = 0;
  const uint32_t lock = PM_MUTANT_ON(repair_skipped) ? PMI_LOCK_META : guard->lock;
  if (lock == PMI_LOCK_ALLOC) rc = pmi_alloc_repair(pool, dead);
  if (lock == PMI_LOCK_INDEX) rc = pmi_index_repair(pool, dead);
  if (lock == PMI_LOCK_INDEX && rc == 0) rc = pmi_alloc_reclaim(pool);
  if (rc == 0) {
    pmi_hold_publish(pool, guard);
    rc = pm_lock_consistent(pool, guard->lock);
  }
  if (rc < 0) (void)pm_lock_release(pool, guard->lock);
  return rc;
}

int pmi_hold_begin(pm_pool *pool, pmi_guard *guard) {
  int fresh = 0;
  const int rc = pm_lock_acquire(pool, guard->lock, &fresh);
  if (rc < 0) return rc;
  if (fresh) guard->epoch += 1;
  assert(guard->changed_count == 0);
  return rc == PM_LOCK_OWNER_DIED ? repair(pool, guard) : 0;
}

void pmi_hold_publish(pm_pool *pool, pmi_guard *guard) {
  for (uint32_t i = 0; i < guard->changed_count; ++i)
    pmi_publish(pool, guard->base + guard->changed_lines[i] * PM_LINE, PM_LINE);
  guard->changed_count = 0;
  guard->serial += 1;
}

int pmi_hold_end(pm_pool *pool, pmi_guard *guard) {
  if (PM_MUTANT_ON(publish_no_data_flush)) {
    guard->changed_count = 0;
    guard->serial += 1;
  }
  if (PM_MUTANT_ON(flag_before_data)) {
    const uint32_t changed = guard->changed_count;
    guard->changed_count = 0;
    guard->serial += 1;
    const int rc = pm_lock_release(pool, guard->lock);
    for (uint32_t i = 0; i < changed; ++i) pmi_publish(pool, guard->base + guard->changed_lines[i] * PM_LINE, PM_LINE);
    return rc;
  }
  const int rc = pmi_fence(pool);
  if (rc == 0)
    pmi_hold_publish(pool, guard);
  else
    guard->changed_count = 0; /* others own these lines by now */
  const int released = pm_lock_release(pool, guard->lock);
  return rc < 0 ? rc : released;
}

void pmi_hold_read(pm_pool *pool, pmi_guard *guard, const void *p) {
  pmi_hold_read_range(pool, guard, p, 1);
}

void pmi_hold_read_range(pm_pool *pool, pmi_guard *guard, const void *p, size_t n) {
  const uint64_t first = line_number(guard, p);
  const uint64_t last = line_number(guard, (const unsigned char *)p + n - 1);
  int dropped = 0;
  for (uint64_t line = first; line <= last; ++line) {
    if (guard->seen[line] == guard->epoch) continue;
    guard->seen[line] = guard->epoch;
    if (PM_MUTANT_ON(lock_no_invalidate)) continue;
    pmi_drop(pool, guard->base + line * PM_LINE, PM_LINE);
    dropped = 1;
  }
  if (dropped) pmi_invalidate_fence();
}

void pmi_hold_reread(pm_pool *pool, pmi_guard *guard, const void *p) {
  guard->seen[line_number(guard, p)] = guard->epoch - 1;
  pmi_hold_read(pool, guard, p);
}

void pmi_hold_changed(pm_pool *pool, pmi_guard *guard, const void *p) {
  const uint64_t line = line_number(guard, p);
  assert(guard->seen[line] == guard->epoch);
  if (guard->changed[line] == guard->serial) return;
  if (guard->changed_count == CHANGED_LINES_MAX) pmi_hold_publish(pool, guard);
  assert(guard->changed_count < CHANGED_LINES_MAX);
  guard->changed[line] = guard->serial;
  guard->changed_lines[guard->changed_count++] = line;
}
