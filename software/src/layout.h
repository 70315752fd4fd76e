/*
 * Layout of a pool. Every structure is whole 64-byte lines, and the comment of each says who writes the line. Offsets of the
 * regions follow from the parameters in the superblock; nothing else is stored about them, except a digest that refuses a
 * library with other structures.
 */
#ifndef PRISMEM_SRC_LAYOUT_H
#define PRISMEM_SRC_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "prismem/digest.h"
#include "prismem/object.h"
#include "prismem/pool.h"
#include "prismem/verbs.h"

#define PMI_MAGIC UINT64_C(0x6c6f6f706d737270) /* "prsmpool" */
#define PMI_LAYOUT_VERSION 3u
#define PMI_POOL_ALIGN (UINT64_C(2) << 20)

#define PMI_ASSERT_LINES(type, lines) static_assert(sizeof(type) == (size_t)(lines) * PM_LINE, #type " is whole lines")

/* Numbers that a pool is laid out from. */
typedef struct pmi_params {
  uint64_t pool_bytes, index_slots, index_capacity, block_bytes, chunk_bytes;
  uint32_t nodes, locks, objects, channels;
  uint64_t hash_seed;
  uint64_t lease_ns;
  uint32_t replacement; /* enum pm_replacement */
  uint32_t place_bits;  /* bits of a digest that choose its place in the index */
  uint32_t lock_tier;   /* enum pm_lock_tier */
  uint32_t spare_half;
  uint64_t spare[5];
} pmi_params;
PMI_ASSERT_LINES(pmi_params, 2);

/* Written once by pm_format; `magic` is stored last and makes the pool valid. */
typedef struct pmi_superblock {
  uint64_t magic; /* synchronizing word */
  uint64_t version;
  uint64_t layout_digest;
  uint64_t spare[5];
  uint8_t uuid[16];
  uint8_t name_space[16];
  uint64_t check; /* over all but itself and the magic */
  uint64_t spare2[3];
  pmi_params params;
} pmi_superblock;
PMI_ASSERT_LINES(pmi_superblock, 4);

/* One a node id: written by whoever owns the id; state PMI_NODE_ACTIVE is its claim. */
typedef struct pmi_node_record {
  uint64_t state; /* synchronizing word: epoch * 2 + active */
  uint64_t token;
  uint64_t spare[6];
} pmi_node_record;
PMI_ASSERT_LINES(pmi_node_record, 1);

/* Two a node id: whoever wants the id writes them, whole lines at once (claim.c). */
typedef struct pmi_claim_line {
  uint64_t word; /* synchronizing word */
  uint64_t spare[7];
} pmi_claim_line;
PMI_ASSERT_LINES(pmi_claim_line, 1);

/* One a node id, written by the lock manager: which tenures of the id are over because their owner died. */
typedef struct pmi_verdict {
  uint64_t dead_epoch;     /* synchronizing word: tenures up to this one are dead, their owner is fenced off */
  uint64_t buried_epoch;   /* their locks are free, and marked as to be repaired */
  uint64_t repaired_epoch; /* what tenures up to this one left behind is repaired: the id may be claimed again */
  uint64_t spare[5];
} pmi_verdict;
PMI_ASSERT_LINES(pmi_verdict, 1);

/* One a lock, written by the lock manager: nodes that died and may have left what the lock protects half-way. Repairs are
 * numbered: PM_LOCK_SLOTS by the tenure of whoever repairs, the other tiers by one more at each mark. */
typedef struct pmi_lock_state {
  uint64_t dead;  /* bit n: node n */
  uint64_t since; /* number of the first repair that would cover all of them; stored behind `dead` */
  uint64_t spare[6];
} pmi_lock_state;
PMI_ASSERT_LINES(pmi_lock_state, 1);

/* PM_LOCK_SLOTS: one a lock and node, written by the node; by the lock manager once the node is dead. */
typedef struct pmi_request {
  uint64_t word;     /* synchronizing word: ticket * 2 + waiting */
  uint64_t repaired; /* last tenure in which this node repaired what the dead had left; stored before `word` */
  uint64_t spare[6];
} pmi_request;
PMI_ASSERT_LINES(pmi_request, 1);

/* The same line under PM_LOCK_QUEUE and PM_LOCK_BAKERY (lock_bakery.c); same writers. */
typedef struct pmi_turn {
  uint64_t word;     /* synchronizing word: turn << 48 | number << 1 | choosing */
  uint64_t tenure;   /* of the lock when this node last held it; this and the rest are stored before `word` */
  uint64_t repaired; /* marks of pmi_lock_state up to this one are repaired, as far as this node knew then */
  uint64_t since;    /* pmi_lock_state as this node knew it then */
  uint64_t dead;
  uint64_t number; /* the newest that this node took; it stays when the node leaves, so numbers never fall */
  uint64_t spare[2];
} pmi_turn;
static_assert(sizeof(pmi_turn) == sizeof(pmi_request), "both take the same place");

/* PM_LOCK_SLOTS: one a lock and node, written by the lock manager. */
typedef struct pmi_grant {
  uint64_t ticket;   /* synchronizing word: the request with this ticket holds the lock */
  uint64_t tenure;   /* how many grants this lock has seen */
  uint64_t previous; /* node + 1 that held it before, 0 none or unknown */
  uint64_t dead;     /* pmi_lock_state.dead at the grant */
  uint64_t term;     /* of the manager that granted */
  uint64_t spare[3];
} pmi_grant;
PMI_ASSERT_LINES(pmi_grant, 1);

/* One a node, written by the node: which request lines are worth a look, its heartbeat, its part in lock management. */
typedef struct pmi_doorbell {
  uint64_t sequence; /* one more at each request and release */
  uint64_t wanted;   /* bit l set while the node waits for or holds lock l; stored before the sequence */
  uint64_t beat; /* one more at each heartbeat; 0: the node has no lease and is never taken for dead by its silence */
  uint64_t term; /* synchronizing word: term of lock management * 2 + acting */
  uint64_t accused; /* bit n: this node asks the manager to look whether the owner of node n is gone */
  uint64_t steps;   /* one more at each beat that this node makes as a lock manager */
  uint64_t spare[2];
} pmi_doorbell;
PMI_ASSERT_LINES(pmi_doorbell, 1);

/* Which lock ids are taken; written under lock PMI_LOCK_META. */
typedef struct pmi_lock_table {
  uint8_t taken[PM_LOCKS_MAX];
} pmi_lock_table;
PMI_ASSERT_LINES(pmi_lock_table, 1);

/* A named root; written under lock PMI_LOCK_OBJECT. */
typedef struct pmi_object {
  uint8_t key[PM_KEY_MAX];
  uint64_t offset;
  uint32_t generation, key_bytes; /* key_bytes 0: the entry is free */
  uint64_t spare[2];
} pmi_object;
PMI_ASSERT_LINES(pmi_object, 1);

/* One a chunk, written under lock PMI_LOCK_ALLOC. */
typedef struct pmi_chunk {
  uint64_t word; /* see alloc.c */
  uint64_t spare[7];
} pmi_chunk;
PMI_ASSERT_LINES(pmi_chunk, 1);

/* One a node: blocks of this node's chunks that others freed so far; written under lock PMI_LOCK_ALLOC. */
typedef struct pmi_freed_count {
  uint64_t count;
  uint64_t spare[7];
} pmi_freed_count;
PMI_ASSERT_LINES(pmi_freed_count, 1);

/* Counters and ends of the replacement list; written under lock PMI_LOCK_INDEX. Slots are stored plus one, 0 is none. */
typedef struct pmi_index_head {
  uint64_t youngest, oldest;
  uint64_t count; /* blocks reserved or resident */
  uint64_t tombstones;
  uint64_t inserts, evictions;
  uint64_t probe_max;
  uint64_t spare;
} pmi_index_head;
PMI_ASSERT_LINES(pmi_index_head, 1);

/* Links of one slot in the replacement list; four a line, written under lock PMI_LOCK_INDEX. */
typedef struct pmi_link {
  uint32_t older, younger;
  uint32_t seen; /* PM_REPLACE_CLOCK: uses of the slot, over all nodes, when the list last looked */
  uint32_t spare;
} pmi_link;

/* Pins of one node on one slot in bits 0..15, and how often it took one (modulo 2^16) in bits 16..31; sixteen a line. */
typedef uint32_t pmi_pin_cell;

/* One a slot. Written under lock PMI_LOCK_INDEX, except while RESERVED: then by the node that reserved it, without lock. */
typedef struct pmi_bucket {
  uint64_t control; /* synchronizing word, stored last: see bucket.h */
  pm_digest digest, parent;
  uint64_t offset;
  uint64_t length;
  uint64_t spare;
} pmi_bucket;
PMI_ASSERT_LINES(pmi_bucket, 1);

/* A rendezvous channel, from one node to another: the signal line is written by the sender, the other by the receiver. */
typedef struct pmi_channel {
  struct {
    uint64_t sequence; /* synchronizing word */
    uint64_t offset, length, tag, checksum;
    uint64_t spare[3];
  } signal;
  struct {
    uint64_t sequence; /* synchronizing word: last signal taken */
    uint64_t spare[7];
  } taken;
} pmi_channel;
PMI_ASSERT_LINES(pmi_channel, 2);

/* The library's own locks. A thread that holds PMI_LOCK_INDEX may take PMI_LOCK_ALLOC; no other nesting exists. */
enum { PMI_LOCK_META = 0, PMI_LOCK_ALLOC = 1, PMI_LOCK_INDEX = 2, PMI_LOCK_OBJECT = 3, PMI_LOCKS_OWN = 4 };

/* Offsets of the regions in bytes, each a multiple of 64; filled by pmi_layout_compute(). */
typedef struct pmi_layout {
  uint64_t nodes, claims, verdicts, doorbells, requests, grants, lock_states;
  uint64_t lock_table;
  uint64_t objects;
  uint64_t channels;
  uint64_t owners;      /* u8 a chunk: node + 1, 0 free; lock PMI_LOCK_ALLOC */
  uint64_t freed_count; /* lock PMI_LOCK_ALLOC */
  uint64_t chunks;      /* lock PMI_LOCK_ALLOC */
  uint64_t freed;       /* bitmap a chunk: freed by another node than the owner; lock PMI_LOCK_ALLOC */
  uint64_t live;        /* bitmap a chunk: allocated; written by the owner */
  uint64_t index_head, links, buckets;
  uint64_t pins; /* pmi_pin_cell a node and slot, written by the node */
  uint64_t meta_end;
  uint64_t heap; /* first chunk */
  uint64_t chunk_count;
  uint64_t bitmap_bytes; /* of one chunk, whole lines */
  uint64_t pins_bytes;   /* of one node, whole lines */
  uint64_t digest;
} pmi_layout;

/** Fill in defaults, then check each field: 0 or -EINVAL with the field named. `pool_bytes` must be set. */
int pmi_params_check(pmi_params *params);
/** 0, or -ENOSPC when metadata and one chunk do not fit, naming the size that would. */
int pmi_layout_compute(const pmi_params *params, pmi_layout *layout);
/** Check word of the superblock. */
uint64_t pmi_superblock_check(const pmi_superblock *sb);

#endif
