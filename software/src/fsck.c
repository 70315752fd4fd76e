/*
 * pm_fsck: node ids, locks and pins; and the repair.
 *
 * The repair treats every node as dead: ids, requests and doorbells are cleared, the library's own locks are marked as left
 * half-way by all nodes. Then one node opens the pool, leads the lock management, and takes each lock once, which repairs what
 * it protects as after any death (repair.h).
 */
#include "fsck.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lease.h"
#include "locktable.h"
#include "pins.h"
#include "repair.h"
#include "tier.h"

void pmi_fsck_found(pmi_fsck *f, const char *kind, const char *format, ...) {
  char text[192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (kind[0] == 'l' && kind[1] == 'e')
    f->report.leaks += 1;
  else
    f->report.errors += 1;
  if (f->options->finding != NULL) f->options->finding(f->options->context, kind, text);
}

static int is_claimed(pm_pool *pool, uint32_t node) {
  const pmi_verdict *verdict = pmi_verdict_of(pool, node);
  const uint64_t state = pmi_load(&pmi_node_record_of(pool, node)->state);
  return (state & 1u) &&
         (pmi_load(&verdict->dead_epoch) < state >> 1 || pmi_load(&verdict->repaired_epoch) < state >> 1);
}

static const pmi_claim_line *door_of(pm_pool *pool, uint32_t node) {
  return (const pmi_claim_line *)pmi_at(pool, pool->layout.claims) + (size_t)2 * node + 1;
}

static void check_nodes(pmi_fsck *f) {
  pm_pool *pool = f->pool;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const uint64_t epoch = pmi_load(&pmi_node_record_of(pool, node)->state) >> 1;
    if (is_claimed(pool, node))
      pmi_fsck_found(f, "node", "id %u is claimed: its owner died, or uses the pool now", node);
    if (pmi_load(&door_of(pool, node)->word) > epoch)
      pmi_fsck_found(f, "node", "id %u was claimed half-way: nobody can get it", node);
    const uint64_t pins = pmi_pins_count(pool, node);
    if (pins != 0) pmi_fsck_found(f, "pin", "node %u holds pins on %llu slots", node, (unsigned long long)pins);
  }
}

/* Nodes that may have left half-way what the lock protects. */
static uint64_t unrepaired(pm_pool *pool, uint32_t lock) {
  const pmi_lock_state *state = pmi_lock_state_of(pool, lock);
  return pmi_tier_of(pool)->repaired(pool, lock) < pmi_load(&state->since) ? pmi_load(&state->dead) : 0;
}

static void check_locks(pmi_fsck *f) {
  pm_pool *pool = f->pool;
  for (uint32_t lock = 0; lock < pool->params.locks; ++lock) {
    const pmi_lock_left left = pmi_tier_of(pool)->left(pool, lock);
    const uint64_t dead = unrepaired(pool, lock);
    for (uint32_t node = 0; node < pool->params.nodes; ++node) {
      if (left.nodes >> node & 1u)
        pmi_fsck_found(f, "lock", "%u: node %u %s it", lock, node, left.holders >> node & 1u ? "holds" : "waits for");
    }
    if (dead != 0)
      pmi_fsck_found(f, "lock", "%u: what it protects was left half-way by nodes 0x%llx", lock,
                     (unsigned long long)dead);
  }
}

pm_pool *pmi_view_open(const char *path, enum pmi_map how, int *rc) {
  static const pm_open_options any = {.node = PM_NODE_ANY};
  pm_pool *pool = calloc(1, sizeof *pool);
  *rc = pool == NULL ? pmi_error(ENOMEM, "memory: no room for a handle") : 0;
  if (*rc == 0) *rc = pmi_region_map(path, 0, how, &pool->base, &pool->bytes);
  if (*rc == 0) *rc = pmi_attach(pool, path, &any);
  return pool;
}

void pmi_view_close(pm_pool *pool) {
  if (pool != NULL && pool->base != NULL) pmi_region_unmap(pool->base, pool->bytes);
  free(pool);
}

static int check(const char *path, const pm_fsck_options *options, pm_fsck_report *report) {
  pmi_fsck f = {.options = options};
  int rc;
  f.pool = pmi_view_open(path, PMI_MAP_READ, &rc);
  if (rc == 0) {
    check_nodes(&f);
    check_locks(&f);
    rc = pmi_fsck_data(&f);
  }
  pmi_view_close(f.pool);
  *report = f.report;
  return rc;
}

static uint64_t pulse_of(pm_pool *pool) {
  uint64_t pulse = 0;
  pmi_acquire(pool, pmi_doorbell_of(pool, 0), pool->params.nodes * sizeof(pmi_doorbell));
  for (uint32_t node = 0; node < pool->params.nodes; ++node) pulse += pmi_load(&pmi_doorbell_of(pool, node)->beat);
  return pulse;
}

static int in_use(pm_pool *pool) {
  const uint64_t before = pulse_of(pool);
  if (before == 0) return 0;
  pmi_sleep_ns(pool->params.lease_ns);
  return pulse_of(pool) != before;
}

static void clear_node(pm_pool *pool, uint32_t node) {
  pmi_node_record *record = pmi_node_record_of(pool, node);
  const uint64_t epoch = pmi_load(&record->state) >> 1, door = pmi_load(&door_of(pool, node)->word);
  pmi_store(&record->state, (door > epoch ? door : epoch) * 2);
  pmi_publish(pool, record, sizeof *record);
  pmi_doorbell *bell = pmi_doorbell_of(pool, node);
  const pmi_doorbell quiet = {.sequence = pmi_load(&bell->sequence) + 1, .term = pmi_load(&bell->term) & ~UINT64_C(1)};
  pm_store_line(bell, &quiet);
}

static void clear_lock(pm_pool *pool, uint32_t lock) {
  const pmi_tier *tier = pmi_tier_of(pool);
  uint64_t dead = lock < PMI_LOCKS_OWN ? UINT64_MAX >> (64 - pool->params.nodes) : 0;
  dead |= tier->left(pool, lock).holders | unrepaired(pool, lock);
  pmi_lock_state *state = pmi_lock_state_of(pool, lock);
  pmi_store(&state->since, tier->clear(pool, lock));
  pmi_store(&state->dead, dead);
  pmi_publish(pool, state, sizeof *state);
}

static int clear_all(const char *path) {
  int rc;
  pm_pool *pool = pmi_view_open(path, PMI_MAP_EXISTING, &rc);
  if (rc == 0 && in_use(pool)) rc = pmi_error(EBUSY, "repair: %s is in use, a heartbeat moves", path);
  if (rc == 0) {
    for (uint32_t lock = 0; lock < pool->params.locks; ++lock) clear_lock(pool, lock);
    for (uint32_t node = 0; node < pool->params.nodes; ++node) clear_node(pool, node);
    pmi_sync(pool);
  }
  pmi_view_close(pool);
  return rc;
}

typedef struct manager_thread {
  pm_pool *pool;
  int stop;
} manager_thread;

static void *manager_main(void *argument) {
  manager_thread *manager = argument;
  (void)pm_manager_run(manager->pool, &manager->stop);
  return NULL;
}

static int repair(const char *path) {
  static const pm_open_options any = {.node = PM_NODE_ANY};
  manager_thread manager = {.pool = NULL};
  pthread_t thread;
  int rc = clear_all(path);
  if (rc == 0) rc = pm_open(path, &any, &manager.pool);
  if (rc < 0) return rc;
  if (pthread_create(&thread, NULL, manager_main, &manager) != 0) {
    (void)pm_close(manager.pool);
    return pmi_error(EAGAIN, "thread: none left for a lock manager");
  }
  rc = pmi_repair_all(manager.pool);
  __atomic_store_n(&manager.stop, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  const int closed = pm_close(manager.pool);
  return rc < 0 ? rc : closed;
}

int pm_fsck(const char *path, const pm_fsck_options *options, pm_fsck_report *report) {
  static const pm_fsck_options only_check = {0};
  if (options == NULL) options = &only_check;
  if (report == NULL) return pmi_error(EINVAL, "report: is NULL");
  int rc = check(path, options, report);
  const uint64_t before = report->errors + report->leaks;
  if (rc < 0 || !options->repair || before == 0) return rc;
  rc = repair(path);
  if (rc == 0) rc = check(path, &only_check, report);
  report->repaired = before > report->errors + report->leaks ? before - report->errors - report->leaks : 0;
  return rc;
}
