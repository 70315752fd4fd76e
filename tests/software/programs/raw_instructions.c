/*
 * One function for each instruction that inline assembly or an intrinsic hides from the hooks; `clean` has none. Compiled, never run.
 */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

void raw_clflush(void *p) {
  __asm__ volatile("clflush (%0)" : : "r"(p) : "memory");
}
void raw_clflushopt(void *p) {
  __asm__ volatile("clflushopt (%0)" : : "r"(p) : "memory");
}
void raw_clwb(void *p) {
  __asm__ volatile("clwb (%0)" : : "r"(p) : "memory");
}
void raw_movnti(uint32_t *p) {
  __asm__ volatile("movnti %1, (%0)" : : "r"(p), "r"(1) : "memory");
}
void raw_movntdq(void *p) {
  __asm__ volatile("movntdq %%xmm0, (%0)" : : "r"(p) : "memory");
}
void raw_movdir64b(void *to, void *from) {
  __asm__ volatile("movdir64b (%1), %0" : : "r"(to), "r"(from) : "memory");
}
void raw_prefetchw(void *p) {
  __asm__ volatile("prefetchw (%0)" : : "r"(p));
}
void raw_lock_add(uint64_t *p) {
  __asm__ volatile("lock addq $1, (%0)" : : "r"(p) : "memory");
}
void raw_xchg(uint64_t *p, uint64_t v) {
  __asm__ volatile("xchgq %1, (%0)" : : "r"(p), "r"(v) : "memory");
}
void raw_rep_movsb(void *to, void *from, uint64_t n) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
void raw_rep_stosq(void *to, uint64_t n) {
  __asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}
void raw_mfence(void) {
  __asm__ volatile("mfence" : : : "memory");
}
__attribute__((target("avx2"))) __m256i raw_gather(const int *p, __m256i index) {
  return _mm256_i32gather_epi32(p, index, 4);
}
__attribute__((target("avx2"))) __m256i raw_masked(const int *p, __m256i mask) {
  return _mm256_maskload_epi32(p, mask);
}
__attribute__((target("avx512f"))) void raw_predicated(void *p, __mmask16 mask, __m512i v) {
  _mm512_mask_storeu_epi32(p, mask, v);
}

struct record {
  uint64_t words[24];
};

void clean(struct record *to, const struct record *from, uint64_t *counter) {
  *to = *from;
  memset(to, 0, sizeof *to);
  memcpy(to, from, sizeof *to);
  __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(counter + 1, 1, __ATOMIC_SEQ_CST);
  _mm_clflush(to);
  _mm_clflushopt(to);
  _mm_clwb(to);
  _mm_stream_si64((long long *)to, 1);
  _movdir64b(to, from);
  __builtin_prefetch(to, 1);
  __builtin_ia32_sfence();
  _mm_mfence();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
