/**
 * @file prismem_emu_hooks.h
 * Entry points behind prismem_hooks.h: instructions of the processor as functions of the emulator. On threads that the
 * emulator does not run, flushes and fences do nothing and stores are ordinary stores.
 */
#ifndef PRISMEM_EMU_HOOKS_H
#define PRISMEM_EMU_HOOKS_H

#ifdef __cplusplus
extern "C" {
#endif

void prismem_hook_clflush(const void *p);
void prismem_hook_clflushopt(const void *p);
void prismem_hook_clwb(const void *p);
void prismem_hook_sfence(void);
void prismem_hook_mfence(void);
void prismem_hook_lfence(void);
/** A spin hint: others run, simulated time passes. */
void prismem_hook_pause(void);
void prismem_hook_prefetch(const void *p);
/** Streaming store of 4, 8, 16, 32 or 64 bytes, aligned to its size. */
void prismem_hook_stream(void *p, const void *data, unsigned long bytes);
/** Before a load or store of `bytes` that the compiler does not announce. */
void prismem_hook_load(const void *p, unsigned long bytes);
void prismem_hook_store(void *p, unsigned long bytes);
/** 64 bytes at once to an address that is a multiple of 64. */
void prismem_hook_movdir64b(void *p, const void *source);
/** Time stamp counter: simulated nanoseconds. */
unsigned long long prismem_hook_rdtsc(void);

#ifdef __cplusplus
}
#endif
#endif
