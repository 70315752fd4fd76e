/*
 * Two hosts pass messages through shared memory that is not coherent between them. Ordinary C: it maps a file and uses C11
 * atomics and the cache intrinsics of the compiler, nothing of prismem. Built with the hooks it runs on emulated hosts.
 *
 * A writer flushes data, then flag; a reader drops its own copy of a line before it reads what the other host wrote.
 * -DFORGET_FLUSH leaves the payload in the producer's cache: right on one coherent host, wrong here.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE_BYTES = 64, PAYLOAD_WORDS = 32, MESSAGES = 50, POOL_BYTES = 2 << 20 };

struct mailbox {
  _Alignas(LINE_BYTES) _Atomic uint64_t sent; /* each on a line of its own */
  _Alignas(LINE_BYTES) _Atomic uint64_t taken;
  _Alignas(LINE_BYTES) uint64_t payload[PAYLOAD_WORDS];
};

static struct mailbox *map_mailbox(const char *path) {
  int fd = open(path, O_RDWR);
  if (fd < 0) return NULL;
  void *pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return pool == MAP_FAILED ? NULL : pool;
}

/* Write the lines back to the memory and drop them from this host's cache. */
static void flush(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += LINE_BYTES) _mm_clflush((const char *)data + at);
  _mm_mfence();
}

static void publish(_Atomic uint64_t *flag, uint64_t value) {
  atomic_store_explicit(flag, value, memory_order_release);
  flush((const void *)flag, sizeof *flag);
}

static void wait_for(_Atomic uint64_t *flag, uint64_t value) {
  do flush((const void *)flag, sizeof *flag);
  while (atomic_load_explicit(flag, memory_order_acquire) != value);
}

static uint64_t word(uint64_t message, unsigned index) {
  return message << 32 | index;
}

int64_t producer(void *path) {
  struct mailbox *box = map_mailbox(path);
  if (!box) return -1;
  for (uint64_t message = 1; message <= MESSAGES; message++) {
    wait_for(&box->taken, message - 1);
    for (unsigned i = 0; i < PAYLOAD_WORDS; i++) box->payload[i] = word(message, i);
#ifndef FORGET_FLUSH
    flush(box->payload, sizeof box->payload);
#endif
    publish(&box->sent, message);
  }
  return 0;
}

int64_t consumer(void *path) {
  struct mailbox *box = map_mailbox(path);
  if (!box) return -1;
  for (uint64_t message = 1; message <= MESSAGES; message++) {
    wait_for(&box->sent, message);
    flush(box->payload, sizeof box->payload); /* copies of the message before */
    for (unsigned i = 0; i < PAYLOAD_WORDS; i++)
      if (box->payload[i] != word(message, i)) return -2;
    publish(&box->taken, message);
  }
  return 0;
}
