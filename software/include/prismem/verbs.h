/**
 * @file verbs.h
 * Visibility verbs: the only place where flush and fence instructions appear.
 *
 * Rules for their use: invalidate after the synchronizing read and before the data read; publish, sync, acquire, read in any
 * Dekker-like step; a line has one writer at a time. `src/verbs.c` explains each instruction sequence.
 *
 * @threads any thread; each call orders what its own thread did.
 * @visibility the calls themselves are what makes stores visible.
 * @see software/examples/library/hello.c
 */
#ifndef PRISMEM_VERBS_H
#define PRISMEM_VERBS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define PM_LINE 64u

/** All earlier stores to the lines of [p, p+n) are in the device before any later store or publish of this thread. */
void pm_publish(const void *p, size_t n);
/** Loads after it see the lines of [p, p+n) as the device has them now or later. Dirty lines are written back first. */
void pm_acquire(const void *p, size_t n);
/** Everything published is in the device before anything else happens, an out-of-band message included. */
void pm_sync(void);
/** Store the 64 bytes of `src` to the line `p` (64-byte aligned) at once, and publish it. */
void pm_store_line(void *p, const void *src);
/** Spin hint: lets the sibling thread, or the other emulated threads, run. */
void pm_relax(void);

/** Names of the instruction paths: "clflush", "clflushopt", "clwb" (publish only). The default comes from CPUID; the
 *  environment variable PM_FLUSH or this call forces one. -ENOTSUP when the CPU lacks it, -EINVAL for another name. */
int pm_verbs_force(const char *name);
/** The path that is in use. */
const char *pm_verbs_path(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
