/*
 * Rows of the memory model's catalogue as real C: producers on host 0, consumers on host 1. x and f lie on different
 * lines; a consumer that has seen the flag returns 0 and reports a wrong x by emu_fail.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prismem_emu.h"

struct words {
  volatile uint64_t flag;
  uint64_t pad0[7];
  uint64_t x;
  uint64_t pad1[7];
  uint64_t y;
  uint64_t pad2[7];
};

enum { POOL_BYTES = 2 << 20, OFFSET = 0x1000, VALUE = 7 };

static struct words *open_pool(void) {
  int fd = open(EMU_POOL_PATH, O_RDWR);
  char *base = mmap(0, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || base == MAP_FAILED) emu_fail(0, "cannot map the pool");
  close(fd);
  return (struct words *)(base + OFFSET);
}

#define PRODUCER(name, body)       \
  int64_t name(void *arg) {        \
    struct words *w = open_pool(); \
    (void)arg;                     \
    body;                          \
    return 0;                      \
  }

PRODUCER(pub_fl_fl, {
  w->x = VALUE;
  _mm_clflush(&w->x);
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
})
PRODUCER(pub_none, {
  w->x = VALUE;
  w->flag = 1;
})
PRODUCER(pub_no_data_flush, {
  w->x = VALUE;
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
})
PRODUCER(pub_no_flag_flush, {
  w->x = VALUE;
  _mm_clflush(&w->x);
  w->flag = 1;
})
PRODUCER(pub_fo_fo, {
  w->x = VALUE;
  _mm_clflushopt(&w->x);
  w->flag = 1;
  _mm_clflushopt((void *)&w->flag);
})
PRODUCER(pub_fo_sf_fo, {
  w->x = VALUE;
  _mm_clflushopt(&w->x);
  _mm_sfence();
  w->flag = 1;
  _mm_clflushopt((void *)&w->flag);
})
PRODUCER(pub_wb_sf_wb, {
  w->x = VALUE;
  _mm_clwb(&w->x);
  _mm_sfence();
  w->flag = 1;
  _mm_clwb((void *)&w->flag);
})
PRODUCER(pub_late_flush, {
  w->x = VALUE;
  w->flag = 1;
  _mm_clflush(&w->x);
  _mm_clflush((void *)&w->flag);
})
PRODUCER(pub_sf_only, {
  w->x = VALUE;
  _mm_sfence();
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
})
PRODUCER(pub_wrong_line, {
  w->x = VALUE;
  _mm_clflush(&w->y);
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
})
PRODUCER(pub_flag_first, {
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
  w->x = VALUE;
  _mm_clflush(&w->x);
})
PRODUCER(pub_stream, {
  _mm_stream_si64((long long *)&w->x, VALUE);
  _mm_sfence();
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
})
PRODUCER(pub_stream_nofence, {
  _mm_stream_si64((long long *)&w->x, VALUE);
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
})

#define CONSUMER(name, before, data)                  \
  int64_t name(void *arg) {                           \
    struct words *w = open_pool();                    \
    (void)arg;                                        \
    before;                                           \
    do {                                              \
      _mm_clflush((void *)&w->flag);                  \
      _mm_mfence();                                   \
      _mm_pause();                                    \
    } while (w->flag != 1);                           \
    data;                                             \
    if (w->x != VALUE) emu_fail(&w->x, "x is not 7"); \
    return 0;                                         \
  }

CONSUMER(con_ok, , {
  _mm_clflush(&w->x);
  _mm_mfence();
})
CONSUMER(con_fo_mf, , {
  _mm_clflushopt(&w->x);
  _mm_mfence();
})
CONSUMER(con_noinv, , )
CONSUMER(
    con_early_inv, {
      _mm_clflush(&w->x);
      _mm_mfence();
    }, )
CONSUMER(con_fl_nofence, , { _mm_clflush(&w->x); })
CONSUMER(con_fl_sf, , {
  _mm_clflush(&w->x);
  _mm_sfence();
})
CONSUMER(con_wb_mf, , {
  _mm_clwb(&w->x);
  _mm_mfence();
})

/* Never invalidates the flag: a trap state in a cache that evicts nothing by itself. */
int64_t con_plain_spin(void *arg) {
  struct words *w = open_pool();
  (void)arg;
  while (w->flag != 1) _mm_pause();
  return 0;
}

/* FS-2dirty: each host writes its own word of one line. */
int64_t two_writers(void *arg) {
  uint64_t *words = (uint64_t *)open_pool() + 64 + (uintptr_t)arg;
  *words = 1 + (uintptr_t)arg;
  _mm_clflush(words);
  _mm_mfence();
  return 0;
}

/* ZOMBIE: the old owner writes, hands over without flushing; the new owner writes the same word. */
int64_t old_owner(void *arg) {
  struct words *w = open_pool();
  w->y = 1;
  if (arg != 0) {
    _mm_clflush(&w->y);
    _mm_mfence();
  }
  w->flag = 1;
  _mm_clflush((void *)&w->flag);
  return 0;
}

int64_t new_owner(void *arg) {
  struct words *w = open_pool();
  (void)arg;
  do {
    _mm_clflush((void *)&w->flag);
    _mm_mfence();
    _mm_pause();
  } while (w->flag != 1);
  w->y = 2;
  _mm_clflush(&w->y);
  _mm_mfence();
  return 0;
}

/* Out-of-band message: the hosts' shared ordinary memory stands for the network. */
static uint32_t message;

int64_t oob_reset(void *arg) {
  (void)arg;
  __atomic_store_n(&message, 0, __ATOMIC_RELAXED);
  return 0;
}

int64_t oob_sender(void *arg) {
  struct words *w = open_pool();
  w->x = VALUE;
  _mm_clflushopt(&w->x);
  if (arg != 0) _mm_mfence();
  emu_sleep_ns(1);
  __atomic_store_n(&message, 1, __ATOMIC_RELEASE);
  return 0;
}

int64_t oob_receiver(void *arg) {
  struct words *w = open_pool();
  (void)arg;
  while (__atomic_load_n(&message, __ATOMIC_ACQUIRE) == 0) emu_yield();
  _mm_clflush(&w->x);
  _mm_mfence();
  if (w->x != VALUE) emu_fail(&w->x, "x is not 7");
  return 0;
}
