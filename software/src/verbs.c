/*
 * Visibility verbs. The only file with flush, fence, streaming-store and spin instructions; what the library knows about
 * them stands here.
 *
 * The machine: each host caches the pool write-back, and no hardware keeps the caches of two hosts coherent. A store lives
 * in its host's cache until something writes the line back, whole. A load may be served from a copy that was filled at any
 * earlier time, by a prefetch or a wrong path too. Inside one host the usual x86 order (TSO) holds.
 *
 * Publish, by CLFLUSH. CLFLUSH is ordered with the stores of its thread, older and younger, and with other CLFLUSHes
 * (Intel SDM volume 2). So `store data; CLFLUSH data; store flag; CLFLUSH flag` reaches the device in that order without a
 * fence. Other vendors order CLFLUSH by MFENCE only, so there the loop ends with one.
 *
 * Publish, by CLFLUSHOPT or CLWB. These are ordered with older stores to their own line, with fences and with locked
 * operations, and with nothing else: a younger store may become visible first. The SFENCE behind the loop holds it back.
 * CLFLUSHOPT lets the lines travel side by side, and is the default where the CPU has it. CLWB may leave a clean copy
 * behind, which is good for a line that only this host writes and harmless elsewhere, since every reader acquires first.
 *
 * Acquire. The lines are flushed, not written back only (CLWB may keep the stale copy), and the fence must be MFENCE: no
 * flush and no SFENCE is ordered with younger loads, so without it the load may run before its line has left the cache.
 * An own dirty line is written back by the same flush. The order of use is: read the synchronizing word, acquire the data,
 * read the data. Acquiring the data first is no good: a prefetch may bring the old line back before the flag is seen.
 *
 * Sync. SFENCE orders stores among themselves only. A message that goes out another way (an interrupt, a network card) and a
 * Dekker-like step (publish mine, read yours) need everything before it to be in the device: MFENCE.
 *
 * Store line. MOVDIR64B writes 64 bytes to the device in one piece and drops the own copy; it is weakly ordered, so SFENCE
 * follows. Without it: stores and publish, in which case another host may see the line torn where the device's write unit is
 * smaller than a line, and the caller keeps a checksum if that matters.
 *
 * Never here: prefetch for write, and locked operations on the pool. They act on the own cache and are atomic inside one
 * host only.
 */
#include <errno.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef PRISMEM_HOOKED
#include <cpuid.h>
#include <sched.h>
#endif

#include "error.h"
#include "instructions.h"
#include "mutant.h"

enum flush_path { PATH_UNSET, PATH_CLFLUSH, PATH_CLFLUSHOPT, PATH_CLWB };

struct cpu_features {
  unsigned clflush, clflushopt, clwb, movdir64b;
  int clflush_needs_mfence;
};

static enum flush_path flush_path = PATH_UNSET;
static struct cpu_features cpu;
static pthread_once_t cpu_once = PTHREAD_ONCE_INIT;

static const char *const path_names[] = {"unset", "clflush", "clflushopt", "clwb"};

static unsigned path_supported(enum flush_path path) {
  return path == PATH_CLFLUSH ? cpu.clflush : path == PATH_CLFLUSHOPT ? cpu.clflushopt : cpu.clwb;
}

#ifdef PRISMEM_HOOKED
/* The instructions are calls into the emulated host, which has them all, whatever CPU runs the emulation. */
static void detect_features(void) {
  cpu = (struct cpu_features){.clflush = 1, .clflushopt = 1, .clwb = 1, .movdir64b = 1};
}
#else
static void detect_features(void) {
  unsigned a, b, c, d, vendor_b;
  if (!__get_cpuid(0, &a, &vendor_b, &c, &d) || !__get_cpuid(1, &a, &b, &c, &d)) return;
  cpu.clflush = (d >> 19) & 1u;
  cpu.clflush_needs_mfence = vendor_b != signature_INTEL_ebx;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    cpu.clflushopt = (b >> 23) & 1u;
    cpu.clwb = (b >> 24) & 1u;
    cpu.movdir64b = (c >> 28) & 1u;
  }
}
#endif

static void choose_path(void) {
  detect_features();
  flush_path = cpu.clflushopt ? PATH_CLFLUSHOPT : PATH_CLFLUSH;
  const char *wanted = getenv("PM_FLUSH");
  for (unsigned i = PATH_CLFLUSH; wanted != NULL && i <= PATH_CLWB; ++i) {
    if (strcmp(wanted, path_names[i]) == 0 && path_supported((enum flush_path)i)) flush_path = (enum flush_path)i;
  }
}

static inline enum flush_path current_path(void) {
  if (__builtin_expect(flush_path == PATH_UNSET, 0)) pthread_once(&cpu_once, choose_path);
  return flush_path;
}

/* The path of that name, or -errno. */
static int path_by_name(const char *name) {
  (void)current_path();
  for (int i = PATH_CLFLUSH; i <= PATH_CLWB; ++i) {
    if (strcmp(name, path_names[i]) != 0) continue;
    return path_supported((enum flush_path)i) ? i : pmi_error(ENOTSUP, "flush path: this CPU has no %s", name);
  }
  return pmi_error(EINVAL, "flush path (PM_FLUSH): '%s' is none of clflush, clflushopt, clwb", name);
}

int pm_verbs_force(const char *name) {
  const int found = path_by_name(name);
  if (found < 0) return found;
  flush_path = (enum flush_path)found;
  return 0;
}

int pmi_verbs_check(void) {
  const char *wanted = getenv("PM_FLUSH");
  const int found = wanted == NULL ? 0 : path_by_name(wanted);
  return found < 0 ? found : 0;
}

const char *pm_verbs_path(void) {
  return path_names[current_path()];
}

__attribute__((target("clflushopt"))) static void flush_opt(const char *line, const char *end) {
  for (; line < end; line += PM_LINE) _mm_clflushopt((void *)(uintptr_t)line);
}

__attribute__((target("clwb"))) static void write_back(const char *line, const char *end) {
  for (; line < end; line += PM_LINE) _mm_clwb((void *)(uintptr_t)line);
}

static void flush_ordered(const char *line, const char *end) {
  for (; line < end; line += PM_LINE) _mm_clflush(line);
}

static inline const char *line_of(const void *p) {
  return (const char *)((uintptr_t)p & ~(uintptr_t)(PM_LINE - 1));
}

void pm_publish(const void *p, size_t n) {
  if (n == 0) return;
  const char *line = line_of(p);
  const char *end = (const char *)p + n;
  if (PM_MUTANT_ON(start_not_aligned)) line = (const char *)p;
  if (PM_MUTANT_ON(first_line_only)) end = line + 1;
  switch (current_path()) {
    case PATH_CLFLUSHOPT:
      flush_opt(line, end);
      if (!PM_MUTANT_ON(opt_no_sfence)) _mm_sfence();
      break;
    case PATH_CLWB:
      write_back(line, end);
      if (!PM_MUTANT_ON(opt_no_sfence)) _mm_sfence();
      break;
    default:
      flush_ordered(line, end);
      if (cpu.clflush_needs_mfence) _mm_mfence();
      break;
  }
}

void pmi_invalidate(const void *p, size_t n) {
  if (n == 0) return;
  const char *line = line_of(p);
  const char *end = (const char *)p + n;
  if (current_path() == PATH_CLFLUSH)
    flush_ordered(line, end);
  else
    flush_opt(line, end);
}

void pmi_invalidate_fence(void) {
  if (PM_MUTANT_ON(invalidate_no_mfence)) return;
  if (PM_MUTANT_ON(sfence_for_mfence))
    _mm_sfence();
  else
    _mm_mfence();
}

void pmi_prefetch(const void *p, size_t n) {
  const char *const end = (const char *)p + n;
  for (const char *line = line_of(p); line < end; line += PM_LINE) _mm_prefetch(line, _MM_HINT_T0);
}

void pm_acquire(const void *p, size_t n) {
  pmi_invalidate(p, n);
  pmi_invalidate_fence();
}

void pm_sync(void) {
  if (PM_MUTANT_ON(sfence_for_mfence))
    _mm_sfence();
  else
    _mm_mfence();
}

__attribute__((target("movdir64b"))) static void store_direct(void *p, const void *src) {
  _movdir64b(p, src);
}

void pm_store_line(void *p, const void *src) {
  (void)current_path();
  if (cpu.movdir64b) {
    store_direct(p, src);
    _mm_sfence();
    return;
  }
  uint64_t *words = p;
  const uint64_t *from = src;
  for (unsigned i = 0; i < PM_LINE / sizeof *words; ++i) words[i] = from[i];
  pm_publish(p, PM_LINE);
}

#ifdef PRISMEM_HOOKED
void pmi_stream_copy(void *pool, const void *src, size_t n) {
  long long *to = pool;
  const char *from = src;
  for (size_t i = 0; i < n / sizeof *to; ++i) {
    long long word;
    memcpy(&word, from + i * sizeof word, sizeof word);
    _mm_stream_si64(to + i, word);
  }
  _mm_sfence();
}
#else
/* A whole line at a time, so that a write-combining buffer never goes out in parts. */
void pmi_stream_copy(void *pool, const void *src, size_t n) {
  __m128i *to = pool;
  const __m128i *from = src;
  for (const __m128i *end = to + n / 16; to < end; to += 4, from += 4) {
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();
}
#endif

void pm_relax(void) {
  _mm_pause();
#ifndef PRISMEM_HOOKED
  sched_yield();
#endif
}
