/*
 * Pins. In the pool each node has an array of counts by slot, in lines that only this node writes; the evictor adds up one
 * line of each node. Beside the count stands how often a pin was taken, for the replacement policy. In DRAM each node knows
 * which request holds which pin, so that a pin dropped twice is an error.
 */
#include "pins.h"

#include <errno.h>
#include <stdlib.h>

#include "repair.h"

#define TABLE_SIZE_FIRST 256u
#define PINS_MASK UINT32_C(0xffff) /* of a cell; the rest counts uses */
#define ONE_USE UINT32_C(0x10000)

typedef struct pin_entry {
  uint64_t request, slot;
  uint32_t count; /* 0: vacant */
} pin_entry;

struct pmi_pin_table {
  pthread_mutex_t mutex;
  uint64_t size, used; /* size is a power of two; open addressing with linear probing */
  uint64_t total;
  pin_entry *entries;
};

static pmi_pin_cell *cell_of(const pm_pool *pool, uint32_t node, uint64_t slot) {
  return (pmi_pin_cell *)pmi_at(pool, pool->layout.pins + node * pool->layout.pins_bytes) + slot;
}

/* Whoever had the node id before has closed it without pins, or died with them. */
int pmi_pins_open(pm_pool *pool) {
  pmi_pin_table *table = calloc(1, sizeof *table);
  pool->pins = table;
  if (table != NULL) {
    pthread_mutex_init(&table->mutex, NULL);
    table->size = TABLE_SIZE_FIRST;
    table->entries = calloc(table->size, sizeof *table->entries);
  }
  if (table == NULL || table->entries == NULL) return pmi_error(ENOMEM, "memory: no room for the table of pins");
  (void)pmi_pins_clear(pool, pool->node);
  return 0;
}

void pmi_pins_close(pm_pool *pool) {
  if (pool->pins == NULL) return;
  pthread_mutex_destroy(&pool->pins->mutex);
  free(pool->pins->entries);
  free(pool->pins);
  pool->pins = NULL;
}

uint64_t pmi_pins_total(pm_pool *pool) {
  pthread_mutex_lock(&pool->pins->mutex);
  const uint64_t total = pool->pins->total;
  pthread_mutex_unlock(&pool->pins->mutex);
  return total;
}

static uint64_t home_of(const pmi_pin_table *table, uint64_t request, uint64_t slot) {
  uint64_t x = (request * UINT64_C(0x9E3779B97F4A7C15) + slot) * UINT64_C(0xD6E8FEB86659FD93);
  return (x ^ x >> 32) & (table->size - 1);
}

/* The entry of (request, slot), or the vacant one where it would go. */
static pin_entry *locate(const pmi_pin_table *table, uint64_t request, uint64_t slot) {
  uint64_t at = home_of(table, request, slot);
  while (table->entries[at].count != 0 && (table->entries[at].request != request || table->entries[at].slot != slot))
    at = (at + 1) & (table->size - 1);
  return &table->entries[at];
}

static int grow(pmi_pin_table *table) {
  if (table->used * 4 < table->size * 3) return 0;
  pmi_pin_table larger = {.size = table->size * 2};
  larger.entries = calloc(larger.size, sizeof *larger.entries);
  if (larger.entries == NULL) return pmi_error(ENOMEM, "memory: no room for the table of pins");
  for (uint64_t i = 0; i < table->size; ++i) {
    const pin_entry *entry = &table->entries[i];
    if (entry->count != 0) *locate(&larger, entry->request, entry->slot) = *entry;
  }
  free(table->entries);
  table->entries = larger.entries;
  table->size = larger.size;
  return 0;
}

/* Close the gap at `at` by moving later entries of the probe chain up. */
static void vacate(pmi_pin_table *table, uint64_t at) {
  const uint64_t mask = table->size - 1;
  uint64_t gap = at;
  for (uint64_t i = (at + 1) & mask; table->entries[i].count != 0; i = (i + 1) & mask) {
    const uint64_t home = home_of(table, table->entries[i].request, table->entries[i].slot);
    if (((i - home) & mask) < ((i - gap) & mask)) continue;
    table->entries[gap] = table->entries[i];
    gap = i;
  }
  table->entries[gap] = (pin_entry){0};
  table->used -= 1;
}

/* Announces nothing but itself: whoever pins syncs before he relies on it, and whoever drops a pin has read all he wants. So
 * the cells of a chain are written back together. */
static void store_cell(pm_pool *pool, pmi_pin_cell *cell, pmi_pin_cell value) {
  if (PM_MUTANT_ON(refcount_dropped)) return;
  pmi_poke(cell, value);
  pmi_push(pool, cell, sizeof *cell);
}

static int take_one(pm_pool *pool, uint64_t request, uint64_t slot) {
  pmi_pin_table *table = pool->pins;
  const int rc = grow(table);
  if (rc < 0) return rc;
  pmi_pin_cell *cell = cell_of(pool, pool->node, slot);
  const pmi_pin_cell value = pmi_load(cell);
  if ((value & PINS_MASK) == PINS_MASK)
    return pmi_error(EOVERFLOW, "pins: slot %llu has 65535", (unsigned long long)slot);
  store_cell(pool, cell, value + 1 + ONE_USE);
  pin_entry *entry = locate(table, request, slot);
  if (entry->count == 0) {
    *entry = (pin_entry){.request = request, .slot = slot};
    table->used += 1;
  }
  entry->count += 1;
  table->total += 1;
  return 0;
}

static int drop_one(pm_pool *pool, uint64_t request, uint64_t slot) {
  pmi_pin_table *table = pool->pins;
  pin_entry *entry = locate(table, request, slot);
  if (entry->count == 0)
    return pmi_error(EPROTO, "pins: request %llu holds no pin on slot %llu", (unsigned long long)request,
                     (unsigned long long)slot);
  pmi_pin_cell *cell = cell_of(pool, pool->node, slot);
  store_cell(pool, cell, pmi_load(cell) - 1);
  entry->count -= 1;
  table->total -= 1;
  if (entry->count == 0) vacate(table, (uint64_t)(entry - table->entries));
  return 0;
}

int pmi_pins_take(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n) {
  size_t done = 0;
  int rc = pmi_fence(pool);
  if (rc < 0) return rc;
  pthread_mutex_lock(&pool->pins->mutex);
  while (done < n && rc == 0) {
    rc = take_one(pool, request, refs[done].slot);
    if (rc == 0) done += 1;
  }
  for (size_t i = 0; rc < 0 && i < done; ++i) (void)drop_one(pool, request, refs[i].slot);
  pthread_mutex_unlock(&pool->pins->mutex);
  return rc;
}

int pmi_pins_drop(pm_pool *pool, uint64_t request, const pm_ref *refs, size_t n) {
  size_t done = 0;
  int rc = 0;
  pthread_mutex_lock(&pool->pins->mutex);
  while (done < n && rc == 0) {
    rc = drop_one(pool, request, refs[done].slot);
    if (rc == 0) done += 1;
  }
  for (size_t i = 0; rc < 0 && i < done; ++i) (void)take_one(pool, request, refs[i].slot);
  pthread_mutex_unlock(&pool->pins->mutex);
  if (n != 0) pmi_sync(pool);
  return rc;
}

pmi_use pmi_pins_use(pm_pool *pool, uint64_t slot) {
  pmi_use use = {0};
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    const pmi_pin_cell *cell = cell_of(pool, node, slot);
    if (node != pool->node) pmi_acquire(pool, cell, sizeof *cell);
    const pmi_pin_cell value = pmi_load(cell);
    use.pins += value & PINS_MASK;
    use.uses += value >> 16;
  }
  use.uses &= PINS_MASK;
  return use;
}

uint64_t pmi_pins_clear(pm_pool *pool, uint32_t node) {
  pmi_acquire(pool, cell_of(pool, node, 0), pool->layout.pins_bytes);
  uint64_t pinned = 0;
  for (uint64_t slot = 0; slot < pool->params.index_slots; ++slot) {
    pmi_pin_cell *cell = cell_of(pool, node, slot);
    const pmi_pin_cell value = pmi_load(cell);
    if ((value & PINS_MASK) == 0) continue;
    pmi_store(cell, value & ~PINS_MASK);
    pmi_publish(pool, cell, sizeof *cell);
    pinned += 1;
  }
  return pinned;
}

uint64_t pmi_pins_count(pm_pool *pool, uint32_t node) {
  uint64_t pinned = 0;
  pmi_acquire(pool, cell_of(pool, node, 0), pool->layout.pins_bytes);
  for (uint64_t slot = 0; slot < pool->params.index_slots; ++slot)
    pinned += (pmi_load(cell_of(pool, node, slot)) & PINS_MASK) != 0;
  return pinned;
}

uint32_t pmi_pins_of(pm_pool *pool, uint32_t node, uint64_t slot) {
  return pmi_load(cell_of(pool, node, slot)) & PINS_MASK;
}
