/*
 * The handle of an open pool, and the small helpers that every part uses. All of it is DRAM of this node.
 */
#ifndef PRISMEM_SRC_HANDLE_H
#define PRISMEM_SRC_HANDLE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "instructions.h"
#include "layout.h"
#include "mutant.h"
#include "prismem/prismem.h"

/* Synchronizing words of the pool: loads acquire, stores release. Two rules keep them honest: the line is acquired right
 * before each load, and published before the next release store of the thread, since whoever sees that one may rely on
 * everything before it. Anything else in the pool is data, read and written plainly under the rules of the line it lies in.
 * Never a read-modify-write: it is atomic inside one host only. */
#define pmi_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define pmi_peek(p) __atomic_load_n((p), __ATOMIC_RELAXED) /* may be old by design */
#define pmi_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define pmi_poke(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED) /* announces nothing but itself */

/* Several lines at once: those dropped together are looked at, no older than the drop, and what they announced holds behind
 * pmi_looked; those pushed together are poked behind pmi_poking, and announce what was done before it, but not each other. On
 * x86 all of them only keep the compiler from reordering. */
#define pmi_look(p) __atomic_load_n((p), __ATOMIC_CONSUME)
#define pmi_looked() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define pmi_poking() __atomic_thread_fence(__ATOMIC_RELEASE)

/* Statistics are kept by load and store, not by a locked add: a locked operation is a fence, and would hide a missing one.
 * Two threads of a node may lose a count between them. */
#define pmi_count(pool, field, n)                                                                       \
  __atomic_store_n(&(pool)->stats.field, __atomic_load_n(&(pool)->stats.field, __ATOMIC_RELAXED) + (n), \
                   __ATOMIC_RELAXED)

/* Local tier of one lock. */
typedef struct pmi_lock_local {
  pthread_mutex_t mutex;
  uint32_t waiting;   /* threads that want the mutex; atomic */
  uint32_t held;      /* a thread holds the lock; atomic */
  pthread_t owner;    /* valid while held */
  uint32_t kept;      /* under mutex: the node holds the global lock */
  uint32_t handovers; /* under mutex: since the global lock came */
  uint32_t known;     /* under mutex: `ticket` is valid */
  uint32_t repaired;  /* under mutex: what the dead had left is repaired in this tenure */
  uint64_t ticket;    /* under mutex: of the last request; the turn of this node in a queue */
  uint64_t tenure;    /* under mutex, while kept: of the grant */
  uint64_t dead;      /* under mutex, while kept: nodes whose death this node was told of */
  uint64_t since;     /* under mutex, while kept: of pmi_lock_state, when it was told */
  uint64_t settled;   /* under mutex, while kept: marks up to this one are repaired */
  uint64_t queued, taken, taken_here, polls, wait_ns, wait_ns_max; /* as in pm_lock_info; atomic, written under mutex */
} pmi_lock_local;

/* A region that a lock protects, seen from this node: which of its lines were acquired since the lock last came back from
 * another node, and which are changed and not yet published (hold.c). */
typedef struct pmi_guard {
  uint32_t lock;
  uint32_t epoch;  /* one more whenever the lock came back from another node */
  uint32_t serial; /* one more at each set of changed lines */
  uint32_t changed_count;
  unsigned char *base;
  uint64_t lines;
  uint32_t *seen;    /* a line: epoch in which it was acquired */
  uint32_t *changed; /* a line: serial in which it was changed */
  uint64_t *changed_lines;
} pmi_guard;

/* The node's share of the allocator (heap.c). */
typedef struct pmi_heap pmi_heap;
/* Pins of this node by request (pins.c). */
typedef struct pmi_pin_table pmi_pin_table;
/* The pool's mapping as the CUDA runtime knows it (dma_cuda.c). */
typedef struct pmi_cuda_pool pmi_cuda_pool;
/* State of a lock manager (manager.c). */
typedef struct pmi_manager pmi_manager;

/* This node's end of one channel and direction. */
typedef struct pmi_channel_end {
  pthread_mutex_t mutex;
  uint64_t sequence; /* last sent, or last taken */
  int known;
} pmi_channel_end;

struct pm_pool {
  unsigned char *base;
  uint64_t bytes;
  uint64_t *alive;    /* a page that a forked child sees zeroed */
  int alive_is_wiped; /* the kernel wipes it; else the process id tells */
  int pid;
  uint32_t node;
  pmi_params params;
  pmi_layout layout;
  pm_digest root;
  uint64_t claim_epoch;
  pmi_lock_local locks[PM_LOCKS_MAX];
  pthread_mutex_t bell_mutex; /* over `bell`, which the doorbell line of this node shows */
  pmi_doorbell bell;
  uint32_t leased;        /* this node beats; atomic */
  uint32_t fenced;        /* it was taken for dead; atomic */
  uint64_t lease_from_ns; /* time before the last confirmed beat; atomic */
  uint64_t life_ns;       /* no further sign of life of a node without a lease before this time; atomic */
  pmi_guard meta, alloc, index, object;
  pmi_heap *heap;
  pmi_pin_table *pins;
  pmi_cuda_pool *cuda; /* NULL until the first such transfer */
  pthread_mutex_t manager_mutex;
  pmi_manager *manager;
  pmi_channel_end *senders, *receivers; /* [node][channel] */
  pm_stats stats;
};

#define PMI_ALIVE UINT64_C(0x70726973)

/** 0; -EOWNERDEAD in a forked child of the process that opened the pool; -ESTALE when the node was taken for dead. */
int pmi_usable(const pm_pool *pool);

/** Address of a region or line in the pool. */
static inline void *pmi_at(const pm_pool *pool, uint64_t offset) {
  return pool->base + offset;
}

static inline void pmi_publish(pm_pool *pool, const void *p, size_t n) {
  pmi_count(pool, lines_published, pmi_lines(p, n));
  pm_publish(p, n);
}

static inline void pmi_drop(pm_pool *pool, const void *p, size_t n) {
  pmi_count(pool, lines_acquired, pmi_lines(p, n));
  pmi_invalidate(p, n);
}

static inline void pmi_acquire(pm_pool *pool, const void *p, size_t n) {
  pmi_drop(pool, p, n);
  pmi_invalidate_fence();
}

/* First half of a publish of scattered lines: the write-back begins; it is over after the next pmi_sync. Whatever must not be
 * seen before these lines is stored behind that. */
static inline void pmi_push(pm_pool *pool, const void *p, size_t n) {
  pmi_count(pool, lines_published, pmi_lines(p, n));
  pmi_invalidate(p, n);
}

static inline void pmi_sync(pm_pool *pool) {
  pmi_count(pool, syncs, 1);
  pm_sync();
}

/* region.c: the mapping behind a path. */
enum pmi_map { PMI_MAP_EXISTING, PMI_MAP_CREATE, PMI_MAP_READ };
/** Size of the pool that `path` offers; PMI_MAP_CREATE makes a file of `wanted` bytes when it has none. */
int pmi_region_map(const char *path, uint64_t wanted, enum pmi_map how, unsigned char **base, uint64_t *bytes);
void pmi_region_unmap(unsigned char *base, uint64_t bytes);
/** Keep other openers of this machine out until pmi_region_unlock; a descriptor, or -1 where the path offers no such lock. */
int pmi_region_lock(const char *path);
void pmi_region_unlock(int descriptor);

/* pool.c: check the superblock of a mapped pool, and copy what the handle needs. */
int pmi_attach(pm_pool *pool, const char *path, const pm_open_options *opts);

/* claim.c: ownership of a node id. */
int pmi_claim(pm_pool *pool, uint32_t node);
void pmi_unclaim(pm_pool *pool);

/* dma.c */
/** Zero `bytes` of the pool around the cache; complete in the device on return. */
void pmi_dma_zero(void *pool, size_t bytes);

/* alloc.c, pins.c, lock.c, manager.c, rendezvous.c: parts of the handle. */
int pmi_heap_open(pm_pool *pool);
void pmi_heap_close(pm_pool *pool);
/** Whether a block of pm_alloc starts at `offset`; reads the pool, takes no lock. */
int pmi_alloc_is_live(pm_pool *pool, uint64_t offset);
int pmi_pins_open(pm_pool *pool);
void pmi_pins_close(pm_pool *pool);
uint64_t pmi_pins_total(pm_pool *pool);
int pmi_locks_open(pm_pool *pool);
void pmi_locks_close(pm_pool *pool);
int pmi_locks_held(const pm_pool *pool);
void pmi_manager_close(pm_pool *pool);
int pmi_channels_open(pm_pool *pool);
void pmi_channels_close(pm_pool *pool);

#endif
