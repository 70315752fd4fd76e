/**
 * @file pool.h
 * Region: maps a shared pool (DAX device, file or memfd), checks its superblock, claims a node id.
 *
 * @threads a handle serves any number of threads of its process; pm_close is called once, when none of them uses it.
 * @visibility pm_format has published the whole pool, and pm_open has read it from the device, on return.
 * @see software/examples/library/hello.c
 */
#ifndef PRISMEM_POOL_H
#define PRISMEM_POOL_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define PM_NODES_MAX 32u
#define PM_LOCKS_MAX 64u
#define PM_NODE_ANY UINT32_MAX

typedef struct pm_pool pm_pool;

/** How the prefix index chooses the block that has to go. */
enum pm_replacement {
  PM_REPLACE_LRU = 0,  /**< exact least recently used; every hit moves the chain in a list under the index lock */
  PM_REPLACE_CLOCK = 1 /**< second chance: a hit costs no line and no lock beyond its pins */
};

/** How a lock goes from node to node. */
enum pm_lock_tier {
  PM_LOCK_QUEUE = 0, /**< a number as at a bakery; each waits for the line of the one before it. No manager grants */
  PM_LOCK_SLOTS = 1, /**< request and grant lines, served by the lock manager that leads */
  PM_LOCK_BAKERY = 2 /**< Lamport's bakery: each looks at all others in turn. No manager grants */
};

/** What a new pool looks like. Zero fields take the default in brackets. */
typedef struct pm_format_options {
  uint64_t pool_bytes;     /**< size; rounded up to 2 MiB; for a device or an existing file 0 = all of it */
  uint32_t nodes;          /**< node ids 0..nodes-1 [4], at most PM_NODES_MAX */
  uint32_t locks;          /**< global locks [16], at most PM_LOCKS_MAX; the first few are the library's own */
  uint64_t index_slots;    /**< buckets of the prefix index, a power of two [4096] */
  uint64_t index_capacity; /**< resident blocks before eviction [3/4 of index_slots] */
  uint64_t block_bytes;    /**< payload bytes of one KV block, a multiple of 64 [4096] */
  uint64_t chunk_bytes;    /**< unit of the global chunk bitmap, a power of two [64 KiB] */
  uint32_t objects;        /**< named roots [64] */
  uint32_t channels;       /**< rendezvous channels a pair and direction [1] */
  uint64_t hash_seed;      /**< seed of every digest */
  uint8_t name_space[16];  /**< digest of model, dtype, layout: attach refuses another */
  uint64_t lease_ns;       /**< a node with a heartbeat that is silent for so long counts as dead [2 s] */
  uint32_t replacement;    /**< enum pm_replacement [PM_REPLACE_LRU] */
  uint32_t place_bits;     /**< low bits of a digest that choose its bucket [64]; few force collisions, for tests */
  uint32_t lock_tier;      /**< enum pm_lock_tier [PM_LOCK_QUEUE] */
} pm_format_options;

typedef struct pm_open_options {
  uint32_t node;            /**< node id to claim, or PM_NODE_ANY */
  uint32_t check_namespace; /**< 1: refuse a pool whose name space differs from `name_space` */
  uint8_t name_space[16];
  uint64_t block_bytes;     /**< what the caller will move a block; refuse a pool of another size [any] */
  uint64_t hash_seed;       /**< compared when check_hash_seed is 1: digests of another seed would never hit */
  uint32_t check_hash_seed; /**< 1: refuse a pool whose seed differs from `hash_seed` */
} pm_open_options;

/** Lay out a pool at `path`. The magic is published last, so nobody attaches to half a pool. -EINVAL names the field in
 *  pm_error_text(); -ENOSPC when the parts do not fit, with the size that would. */
int pm_format(const char *path, const pm_format_options *opts);
/** Map the pool and claim a node id. -EPROTO: magic, version, check word, layout, name space, block size or
 *  hash seed differ (pm_error_text() names the field and both values); -EAGAIN: not formatted yet; -EBUSY: the node id is
 *  taken. A pool that is refused is not written. -ENOTSUP, -EINVAL: PM_FLUSH asks for a flush path that
 *  this CPU does not have, or for none. */
int pm_open(const char *path, const pm_open_options *opts, pm_pool **out);
/** Release the node id and unmap. -EBUSY while pins or locks are held. After fork() the child's handle answers -EOWNERDEAD
 *  to everything; the child opens the pool itself. */
int pm_close(pm_pool *pool);

/** Pointer <-> offset. Shared structures hold offsets only. pm_ptr of an offset outside the pool is NULL. */
void *pm_ptr(const pm_pool *pool, uint64_t offset);
uint64_t pm_offset(const pm_pool *pool, const void *p);

/** Own node id, number of node ids, bytes of the pool, payload bytes of a KV block. */
uint32_t pm_node(const pm_pool *pool);
uint32_t pm_nodes(const pm_pool *pool);
uint64_t pm_pool_bytes(const pm_pool *pool);
uint64_t pm_block_bytes(const pm_pool *pool);

/** What this handle has done so far. */
typedef struct pm_stats {
  uint64_t lines_published, lines_acquired, syncs;
  uint64_t locks_global, locks_local; /**< global acquisitions, and hand-overs inside the node */
  uint64_t dma_lines_in, dma_lines_out;
  uint64_t lookups, hits, inserts, evictions, probes;
} pm_stats;
/** Counters of this handle so far; a thread that counts meanwhile may or may not be in them. */
void pm_get_stats(const pm_pool *pool, pm_stats *out);

/** Text of the last error of this thread; never NULL. */
const char *pm_error_text(void);

/** Fault injection, in builds with PM_MUTATION only: switch the named fault on ("none" switches off). -ENOENT unknown name,
 *  -ENOTSUP in an ordinary build. Names: src/mutants.def. */
int pm_mutant_select(const char *name);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
