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

#undef _mm_prefetch /* a macro where nothing is optimized */
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
/** Wider ones than the flags may allow: the macros take the types of the function that they stand in. */
#define PRISMEM_STREAM(p, v)                                         \
  __extension__({                                                    \
    const __typeof__(v) prismem_v = (v);                             \
    prismem_hook_stream((void *)(p), &prismem_v, sizeof(prismem_v)); \
  })
#define _mm256_stream_si256(p, v) PRISMEM_STREAM(p, v)
#define _mm256_stream_pd(p, v) PRISMEM_STREAM(p, v)
#define _mm256_stream_ps(p, v) PRISMEM_STREAM(p, v)
#define _mm512_stream_si512(p, v) PRISMEM_STREAM(p, v)
#define _mm512_stream_pd(p, v) PRISMEM_STREAM(p, v)
#define _mm512_stream_ps(p, v) PRISMEM_STREAM(p, v)
/** On write-back memory a streaming load is an ordinary one. */
#define _mm_stream_load_si128(p) _mm_load_si128((const __m128i *)(p))
#define _mm256_stream_load_si256(p) _mm256_load_si256((const __m256i *)(p))
#define _mm512_stream_load_si512(p) _mm512_load_si512((const void *)(p))
/** Loads and stores that the compiler does not announce. */
#define PRISMEM_LOADS(bytes, type, p, load)              \
  __extension__({                                        \
    type const *prismem_p = (type const *)(p);           \
    prismem_hook_load((const void *)prismem_p, (bytes)); \
    load;                                                \
  })
#define _mm_loadh_pd(v, p) PRISMEM_LOADS(8, double, p, _mm_loadh_pd(v, prismem_p))
#define _mm_loadl_pd(v, p) PRISMEM_LOADS(8, double, p, _mm_loadl_pd(v, prismem_p))
#define _mm_loadh_pi(v, p) PRISMEM_LOADS(8, __m64, p, _mm_loadh_pi(v, prismem_p))
#define _mm_loadl_pi(v, p) PRISMEM_LOADS(8, __m64, p, _mm_loadl_pi(v, prismem_p))
#define _mm_lddqu_si128(p) PRISMEM_LOADS(16, __m128i, p, _mm_lddqu_si128(prismem_p))
#define _mm256_lddqu_si256(p) PRISMEM_LOADS(32, __m256i, p, _mm256_lddqu_si256(prismem_p))
#define _mm_broadcast_ss(p) PRISMEM_LOADS(4, float, p, _mm_broadcast_ss(prismem_p))
#define _mm256_broadcast_ss(p) PRISMEM_LOADS(4, float, p, _mm256_broadcast_ss(prismem_p))
#define _mm256_broadcast_sd(p) PRISMEM_LOADS(8, double, p, _mm256_broadcast_sd(prismem_p))
#define _mm256_broadcast_ps(p) PRISMEM_LOADS(16, __m128, p, _mm256_broadcast_ps(prismem_p))
#define _mm256_broadcast_pd(p) PRISMEM_LOADS(16, __m128d, p, _mm256_broadcast_pd(prismem_p))
#define _mm_storeh_pi(p, v) (prismem_hook_store((void *)(p), 8), _mm_storeh_pi(p, v))
#define _mm_storel_pi(p, v) (prismem_hook_store((void *)(p), 8), _mm_storel_pi(p, v))
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
