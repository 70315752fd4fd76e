/*
 * What several tests need: a generator of numbers, payload that follows from a digest, DMA with the wait, sleep,
 * turns of nodes, a lock manager, named regions.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pm_test.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static uint64_t splitmix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

uint64_t pm_test_random(uint64_t *state) {
  *state += GOLDEN;
  return splitmix(*state);
}

void pm_test_payload(pm_digest digest, void *to, size_t bytes) {
  uint64_t *words = to;
  for (size_t i = 0; i < bytes / sizeof *words; ++i) words[i] = splitmix(digest.lo + i * GOLDEN) ^ digest.hi;
}

long pm_test_payload_check(pm_digest digest, const void *from, size_t bytes) {
  const uint64_t *words = from;
  for (size_t i = 0; i < bytes / sizeof *words; ++i) {
    if (words[i] != (splitmix(digest.lo + i * GOLDEN) ^ digest.hi)) return (long)i;
  }
  return -1;
}

int pm_test_dma_in(pm_pool *pool, uint64_t offset, const void *src, size_t bytes) {
  const pm_ticket ticket = pm_dma_write(pool, offset, src, bytes);
  return ticket < 0 ? (int)ticket : pm_dma_wait(pool, ticket);
}

int pm_test_dma_out(pm_pool *pool, uint64_t offset, void *dst, size_t bytes) {
  const pm_ticket ticket = pm_dma_read(pool, offset, dst, bytes);
  return ticket < 0 ? (int)ticket : pm_dma_wait(pool, ticket);
}

void pm_test_sleep(uint64_t ns) {
  const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  nanosleep(&time, NULL);
}

int pm_test_tell(pm_test_ctx *ctx, uint32_t node) {
  const pm_signal signal = {.tag = 1};
  PM_EXPECT_OK(ctx, pm_send(ctx->pool, node, 0, &signal));
  return 0;
}

int pm_test_hear(pm_test_ctx *ctx, uint32_t node) {
  pm_signal signal;
  PM_EXPECT_OK(ctx, pm_receive(ctx->pool, node, 0, &signal));
  return 0;
}

static void *manager_main(void *arg) {
  pm_test_manager *manager = arg;
  (void)pm_manager_run(manager->pool, &manager->stop);
  return NULL;
}

void pm_test_manager_start(pm_test_manager *manager, pm_pool *pool) {
  *manager = (pm_test_manager){.pool = pool};
  if (pthread_create(&manager->thread, NULL, manager_main, manager) != 0) abort();
}

void pm_test_manager_stop(pm_test_manager *manager) {
  __atomic_store_n(&manager->stop, 1, __ATOMIC_RELEASE);
  pthread_join(manager->thread, NULL);
}

int pm_test_region_make(pm_test_ctx *ctx, const char *name, uint64_t bytes) {
  static const _Alignas(64) unsigned char zeros[8192];
  uint64_t offset;
  PM_EXPECT(ctx, bytes <= sizeof zeros, "region %s: %llu bytes", name, (unsigned long long)bytes);
  PM_EXPECT_OK(ctx, pm_alloc(ctx->pool, bytes, &offset));
  PM_EXPECT_OK(ctx, pm_test_dma_in(ctx->pool, offset, zeros, bytes));
  PM_EXPECT_OK(ctx, pm_put(ctx->pool, name, strlen(name), offset));
  return 0;
}

void *pm_test_region(pm_test_ctx *ctx, const char *name, uint64_t bytes) {
  uint64_t offset;
  if (pm_get(ctx->pool, name, strlen(name), &offset, NULL) < 0) {
    pm_test_fail(ctx, NULL, PM_TEST_HERE, "%s", pm_error_text());
    return NULL;
  }
  void *region = pm_ptr(ctx->pool, offset);
  pm_acquire(region, bytes);
  return region;
}
