/*
 * Object store: a table of named roots under one lock, one line an entry. The table is small, so a linear search is all it
 * takes; after the first search of a tenure it runs in the node's own cache.
 */
#include "prismem/object.h"

#include <errno.h>
#include <string.h>

#include "hold.h"

static pmi_object *table_of(pm_pool *pool) {
  return pmi_at(pool, pool->layout.objects);
}

static int check_key(const pm_pool *pool, const void *key, size_t key_bytes) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (key != NULL && key_bytes >= 1 && key_bytes <= PM_KEY_MAX) return 0;
  return pmi_error(EINVAL, "key: %zu bytes are outside 1..%u", key_bytes, PM_KEY_MAX);
}

/* Under the lock: the entry with that key, or NULL. */
static pmi_object *find(pm_pool *pool, const void *key, size_t key_bytes) {
  pmi_object *table = table_of(pool);
  pmi_hold_read_range(pool, &pool->object, table, pool->params.objects * sizeof *table);
  for (uint32_t i = 0; i < pool->params.objects; ++i) {
    if (table[i].key_bytes == key_bytes && memcmp(table[i].key, key, key_bytes) == 0) return &table[i];
  }
  return NULL;
}

/* Under the lock, behind a find: a free entry or NULL, and in *generation one that no entry ever had. */
static pmi_object *find_vacant(pm_pool *pool, uint32_t *generation) {
  pmi_object *table = table_of(pool), *vacant = NULL;
  *generation = 1;
  for (uint32_t i = pool->params.objects; i-- > 0;) {
    if (table[i].generation >= *generation) *generation = table[i].generation + 1;
    if (table[i].key_bytes == 0) vacant = &table[i];
  }
  return vacant;
}

int pm_put(pm_pool *pool, const void *key, size_t key_bytes, uint64_t offset) {
  int rc = check_key(pool, key, key_bytes);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->object);
  if (rc < 0) return rc;
  uint32_t generation = 0;
  const int taken = find(pool, key, key_bytes) != NULL;
  pmi_object *vacant = taken ? NULL : find_vacant(pool, &generation);
  if (taken) {
    rc = pmi_error(EEXIST, "key: '%.*s' is in the table already", (int)key_bytes, (const char *)key);
  } else if (vacant == NULL) {
    rc = pmi_error(ENOSPC, "objects: all %u entries are taken", pool->params.objects);
  } else {
    memcpy(vacant->key, key, key_bytes);
    vacant->offset = offset;
    vacant->generation = generation;
    vacant->key_bytes = (uint32_t)key_bytes;
    pmi_hold_changed(pool, &pool->object, vacant);
  }
  pmi_hold_end(pool, &pool->object);
  return rc;
}

static int unknown(const void *key, size_t key_bytes) {
  return pmi_error(ENOENT, "key: '%.*s' is not in the table", (int)key_bytes, (const char *)key);
}

int pm_get(pm_pool *pool, const void *key, size_t key_bytes, uint64_t *offset, uint32_t *generation) {
  int rc = check_key(pool, key, key_bytes);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->object);
  if (rc < 0) return rc;
  const pmi_object *entry = find(pool, key, key_bytes);
  if (entry == NULL) rc = unknown(key, key_bytes);
  if (entry != NULL && offset != NULL) *offset = entry->offset;
  if (entry != NULL && generation != NULL) *generation = entry->generation;
  pmi_hold_end(pool, &pool->object);
  return rc;
}

int pm_destroy(pm_pool *pool, const void *key, size_t key_bytes) {
  int rc = check_key(pool, key, key_bytes);
  if (rc == 0) rc = pmi_hold_begin(pool, &pool->object);
  if (rc < 0) return rc;
  pmi_object *entry = find(pool, key, key_bytes);
  if (entry == NULL) {
    rc = unknown(key, key_bytes);
  } else {
    entry->key_bytes = 0;
    pmi_hold_changed(pool, &pool->object, entry);
  }
  pmi_hold_end(pool, &pool->object);
  return rc;
}
