/*
 * One host publishes a line of text, another one reads it.
 *
 * Stores stay in the cache of the host that made them until it publishes them, and a host may have an old copy of a line until
 * it acquires it: publish after writing, acquire before reading.
 */
#include "example.h"

#define TEXT "hello from node 0"

int main(int argc, char **argv) {
  node n;
  node_open(&n, argc, argv);
  if (n.id == 0) {
    uint64_t offset;
    must(pm_alloc(n.pool, sizeof TEXT, &offset), "pm_alloc");
    memcpy(pm_ptr(n.pool, offset), TEXT, sizeof TEXT);
#ifndef FORGET_PUBLISH
    pm_publish(pm_ptr(n.pool, offset), sizeof TEXT);
#endif
    must(pm_put(n.pool, "greeting", 8, offset), "pm_put"); /* from now on the other one finds it */
    await_object(&n, "thanks");
  } else {
    const char *text = await_object(&n, "greeting");
    pm_acquire(text, sizeof TEXT);
    if (strcmp(text, TEXT) != 0) return 1;
    printf("node %u reads: %s\n", n.id, text);
    must(pm_put(n.pool, "thanks", 6, 0), "pm_put");
  }
  node_close(&n);
  return 0;
}
