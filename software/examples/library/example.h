/*
 * What the examples share: which node this process is, the pool, a lock manager, and an end with a message when a call fails.
 *
 * Natively the node is the second argument; `prismem check` runs the same main() on each emulated host and tells the node by
 * the environment. Node 0 lays the pool out and runs the lock manager; the others wait until the pool is there.
 */
#ifndef PRISMEM_EXAMPLE_H
#define PRISMEM_EXAMPLE_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prismem/prismem.h"

enum { NODES = 2, OPEN_POLLS_MAX = 1 << 20, LOCK_OF_USER = 8 };

typedef struct node {
  uint32_t id;
  pm_pool *pool;
  pthread_t manager;
  int stop;
} node;

static inline int must(int rc, const char *call) {
  if (rc >= 0) return rc;
  fprintf(stderr, "%s: %s\n", call, pm_error_text());
  _exit(1);
}

static inline void *manager_main(void *argument) {
  node *n = argument;
  must(pm_manager_run(n->pool, &n->stop), "pm_manager_run");
  return NULL;
}

static inline void node_open(node *n, int argc, char **argv) {
  const char *host = getenv("PRISMEM_HOST_ID");
  const char *path = argc > 1 ? argv[1] : "";
  const char *id = host != NULL ? host : argc > 2 ? argv[2] : "";
  if (*path == '\0' || *id == '\0') {
    fprintf(stderr, "usage: %s POOL NODE, with NODE 0 and 1 at the same time\n", argv[0]);
    _exit(2);
  }
  memset(n, 0, sizeof *n);
  n->id = (uint32_t)strtoul(id, NULL, 10);
  if (n->id == 0) {
    const pm_format_options format = {.pool_bytes = 2 << 20, .nodes = NODES, .index_slots = 8, .block_bytes = 4096};
    must(pm_format(path, &format), "pm_format");
  }
  const pm_open_options options = {.node = n->id};
  int rc = pm_open(path, &options, &n->pool);
  for (int polls = 0; (rc == -EAGAIN || rc == -ENOENT || rc == -EINVAL) && polls < OPEN_POLLS_MAX; ++polls) {
    pm_relax(); /* node 0 has not laid it out yet */
    rc = pm_open(path, &options, &n->pool);
  }
  must(rc, "pm_open");
  if (n->id == 0 && pthread_create(&n->manager, NULL, manager_main, n) != 0) _exit(1);
}

static inline void node_close(node *n) {
  if (n->id == 0) {
    __atomic_store_n(&n->stop, 1, __ATOMIC_RELEASE);
    pthread_join(n->manager, NULL);
  }
  must(pm_close(n->pool), "pm_close");
}

/* Wait until somebody has named a place `key`. */
static inline void *await_object(node *n, const char *key) {
  uint64_t offset = 0;
  int rc = pm_get(n->pool, key, strlen(key), &offset, NULL);
  while (rc == -ENOENT) {
    pm_relax();
    rc = pm_get(n->pool, key, strlen(key), &offset, NULL);
  }
  must(rc, "pm_get");
  return pm_ptr(n->pool, offset);
}

#endif
