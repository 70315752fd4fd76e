/**
 * @file prismem_hooks.h
 * Force-included in instrumented builds (`-include prismem_hooks.h`): turns the intrinsics that act on the cache into
 * calls of the host emulator. The choice never depends on the CPU that runs the emulation. Code may ask for
 * `PRISMEM_HOOKED` where it would otherwise probe the CPU or use inline assembly.
 */
#ifndef PRISMEM_HOOKS_H
#define PRISMEM_HOOKS_H

#define PRISMEM_HOOKED 1

#include <immintrin.h>
#include <string.h>
#include "prismem_emu_hooks.h"

/** The wrappers hand a local copy over; only the hook may touch the destination. */
#define PRISMEM_HOOK_FN static inline __attribute__((always_inline, unused, no_sanitize("thread")))

PRISMEM_HOOK_FN void prismem_stream_si32(void *p, int v) {
  prismem_hook_stream(p, &v, sizeof v);
}
PRISMEM_HOOK_FN void prismem_stream_si64(void *p, long long v) {
  prismem_hook_stream(p, &v, sizeof v);
}
PRISMEM_HOOK_FN void prismem_stream_si128(void *p, __m128i v) {
  prismem_hook_stream(p, &v, sizeof v);
}
PRISMEM_HOOK_FN void prismem_stream_pd(void *p, __m128d v) {
  prismem_hook_stream(p, &v, sizeof v);
}
PRISMEM_HOOK_FN void prismem_stream_ps(void *p, __m128 v) {
  prismem_hook_stream(p, &v, sizeof v);
}

#define _mm_clflush(p) prismem_hook_clflush(p)
#define _mm_clflushopt(p) prismem_hook_clflushopt(p)
#define _mm_clwb(p) prismem_hook_clwb(p)
#define _mm_sfence() prismem_hook_sfence()
#define _mm_mfence() prismem_hook_mfence()
#define _mm_lfence() prismem_hook_lfence()
#define _mm_pause() prismem_hook_pause()
#define _mm_prefetch(p, hint) prismem_hook_prefetch(p)
#define _mm_stream_si32(p, v) prismem_stream_si32(p, v)
#define _mm_stream_si64(p, v) prismem_stream_si64(p, v)
#define _mm_stream_si128(p, v) prismem_stream_si128(p, v)
#define _mm_stream_pd(p, v) prismem_stream_pd(p, v)
#define _mm_stream_ps(p, v) prismem_stream_ps(p, v)
#define _movdir64b(p, source) prismem_hook_movdir64b(p, source)
#define _directstoreu_u32(p, v) prismem_stream_si32(p, (int)(v))
#define _directstoreu_u64(p, v) prismem_stream_si64(p, (long long)(v))
#define __rdtsc() prismem_hook_rdtsc()

#define __builtin_ia32_clflush(p) prismem_hook_clflush(p)
#define __builtin_ia32_clflushopt(p) prismem_hook_clflushopt(p)
#define __builtin_ia32_clwb(p) prismem_hook_clwb(p)
#define __builtin_ia32_sfence() prismem_hook_sfence()
#define __builtin_ia32_mfence() prismem_hook_mfence()
#define __builtin_ia32_lfence() prismem_hook_lfence()
#define __builtin_ia32_pause() prismem_hook_pause()
#define __builtin_ia32_rdtsc() prismem_hook_rdtsc()
#define __builtin_ia32_movnti(p, v) prismem_stream_si32(p, v)
#define __builtin_ia32_movnti64(p, v) prismem_stream_si64(p, v)
#define __builtin_prefetch(...) PRISMEM_FIRST_PREFETCH(__VA_ARGS__, 0)
#define PRISMEM_FIRST_PREFETCH(p, ...) prismem_hook_prefetch(p)

#endif
