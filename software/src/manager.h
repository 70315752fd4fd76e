/*
 * What the parts of the lock manager share: manager.c scans and grants, election.c says who does, death.c what happens to a
 * node that is silent for too long. All state is DRAM, rebuilt from the lines of the pool when a node takes over.
 */
#ifndef PRISMEM_SRC_MANAGER_H
#define PRISMEM_SRC_MANAGER_H

#include "lease.h"
#include "locktable.h"

#define PMI_NOBODY UINT32_MAX

typedef struct pmi_managed_lock {
  uint32_t holder, last; /* node or PMI_NOBODY */
  int last_is_sure;      /* 0 after a takeover: a grant of the predecessor may be half-way */
  uint64_t tenure;
  uint64_t dead, since;            /* as in pmi_lock_state */
  uint64_t request[PM_NODES_MAX];  /* word of the request line as last read */
  uint64_t repaired[PM_NODES_MAX]; /* its `repaired` */
  uint64_t granted[PM_NODES_MAX];  /* ticket of the last grant */
} pmi_managed_lock;

struct pmi_manager {
  /* Every candidate watches the doorbells. */
  uint64_t pulse[PM_NODES_MAX];      /* what of the doorbell tells of life, as last read */
  uint64_t changed_ns[PM_NODES_MAX]; /* when it last changed, on this node's clock */
  uint64_t steps[PM_NODES_MAX];      /* the same of what tells that its lock manager steps */
  uint64_t stepped_ns[PM_NODES_MAX];
  uint64_t vacant_ns; /* since when nobody leads, 0 while somebody does */
  uint64_t claim_ns;  /* no new attempt to lead before this time */
  uint64_t term;      /* in which this node leads */
  uint64_t led_ns;    /* time before its last confirmed beat as a manager */
  int acting;
  /* The one that leads also serves them. */
  uint64_t sequence[PM_NODES_MAX];
  uint64_t active[PM_NODES_MAX];     /* bit l: the node waits for or holds lock l, by its request line as last read */
  uint64_t dead_epoch[PM_NODES_MAX]; /* as in pmi_verdict */
  uint64_t buried_epoch[PM_NODES_MAX];
  uint64_t repaired_epoch[PM_NODES_MAX];
  uint64_t dead; /* bit n: node n is dead, and its id not claimed again */
  pmi_managed_lock locks[PM_LOCKS_MAX];
};

static inline int pmi_manager_holds(const pmi_managed_lock *lock, uint32_t node) {
  return (lock->request[node] & 1u) && lock->request[node] >> 1 == lock->granted[node];
}

/* manager.c */
/** PM_LOCK_SLOTS: read the request line of `node` for `lock` again. */
void pmi_manager_read_request(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node);
/** Serve the locks in `set`; returns the number of grants. */
int pmi_manager_serve(pm_pool *pool, pmi_manager *m, uint64_t set);
/** Read everything that a predecessor left. */
void pmi_manager_rebuild(pm_pool *pool, pmi_manager *m);

/* election.c */
/** Acquire all doorbells and note which of them show life. */
void pmi_election_watch(pm_pool *pool, pmi_manager *m);
/** The node shows no life for a lease. */
int pmi_election_silent(const pm_pool *pool, const pmi_manager *m, uint32_t node);
/** A beat of this manager, with its term. -ESTALE as pmi_beat. */
int pmi_election_beat(pm_pool *pool, pmi_manager *m, uint64_t term);
/** Behind a watch, of a node that leads: somebody else leads by a higher term, so it does so no longer. */
int pmi_election_lost(pm_pool *pool, pmi_manager *m);
/** Behind a watch, of a node that does not lead: take over if nobody leads and it is this node's turn. 1 when it leads now. */
int pmi_election_try(pm_pool *pool, pmi_manager *m);

/* death.c */
/** Behind a watch: declare those dead whose lease is over. Returns the locks that this concerns. */
uint64_t pmi_deaths(pm_pool *pool, pmi_manager *m);
/** Locks, requests and lock states of the dead in `nodes`; also of those that a predecessor declared dead. */
uint64_t pmi_bury(pm_pool *pool, pmi_manager *m, uint64_t nodes);
/** Whoever comes to the lock next hears that the node has died; `since` as in pmi_lock_state. Published. */
void pmi_death_mark(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node, uint64_t since);
/** Repairs of what this lock protects are known up to `repaired`. */
void pmi_death_settle(pm_pool *pool, pmi_manager *m, uint32_t lock, uint64_t repaired);
/** The same for all of the library's own locks that are marked. */
void pmi_death_settle_own(pm_pool *pool, pmi_manager *m);

#endif
