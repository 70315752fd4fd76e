/*
 * The parts of pm_fsck. The pool is mapped for reading, and its handle has no node id: nothing here takes a lock.
 */
#ifndef PRISMEM_SRC_FSCK_H
#define PRISMEM_SRC_FSCK_H

#include "handle.h"
#include "prismem/fsck.h"

typedef struct pmi_fsck {
  pm_pool *pool;
  const pm_fsck_options *options;
  pm_fsck_report report;
} pmi_fsck;

/** Count a finding ("leak" is a leak, all else an error) and tell the caller. */
void pmi_fsck_found(pmi_fsck *f, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** fsck_data.c: chunks and blocks; buckets, list, payload; named roots. 0 or -ENOMEM. */
int pmi_fsck_data(pmi_fsck *f);

/** fsck.c: map and check the pool; the handle has no node id and goes to pmi_view_close in any case. *rc: 0 or -errno. */
pm_pool *pmi_view_open(const char *path, enum pmi_map how, int *rc);
void pmi_view_close(pm_pool *pool);

#endif
