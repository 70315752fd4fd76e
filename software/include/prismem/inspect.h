/**
 * @file inspect.h
 * What stands in a pool: superblock, nodes, locks, chunks, index, pins, named roots.
 *
 * @threads any thread, while others use the pool.
 * @visibility nothing is written; lines are read from the device.
 * @see docs/library.md
 */
#ifndef PRISMEM_INSPECT_H
#define PRISMEM_INSPECT_H

#include "pool.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/** Takes one fact: field `field` of thing `id` in `section`. A fact is a number, or a text when `text` is not NULL. */
typedef void (*pm_inspect_fact)(void *context, const char *section, uint64_t id, const char *field, uint64_t value,
                                const char *text);

/** Tell what stands in the pool at `path` as facts, a thing after the other. The pool is mapped for reading only, no lock is
 *  taken and no node id claimed, so whoever uses the pool is not disturbed; lines that change meanwhile are read at different
 *  moments. Sections and their ids: "superblock" (0), "node" (its id), "lock" (its id), "allocator" (0), "chunk" (its number;
 *  those in use), "index" (0), "pin" (slot * PM_NODES_MAX + node; pinned slots), "object" (entry; taken ones). A value that
 *  the library cannot have written is told as the text "damaged: ...". -EPROTO: not a pool of this library, or a damaged
 *  superblock (pm_error_text() names the field); -EAGAIN: not formatted yet; -EINVAL: `fact` is NULL. */
int pm_inspect(const char *path, pm_inspect_fact fact, void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
