/*
 * PM_LOCK_BAKERY and PM_LOCK_QUEUE: Lamport's bakery (1974) with flushes. Nobody grants; a lock manager looks after the
 * dead only.
 *
 * Each node has one line a lock. Doorway: it says that it chooses, reads the lines of all others, takes a number one higher
 * than the highest, and stores it together with the end of choosing. Both steps are Dekker's: publish, MFENCE, invalidate,
 * MFENCE, read. The pairs (number, node) order the nodes; whoever enters the doorway later has a higher one, so nobody is
 * passed by a node more than once. "Higher" is meant of all numbers ever taken, not only of those that somebody waits with:
 * whoever reads the line of a node that has left takes a number above the one that it had.
 *
 *   bakery   waits for each other node in turn: until it does not choose, and until it has no number or a higher one
 *   queue    looks once, waits until nobody who chose then still does, and then knows who is before it. Of these the last
 *            one, its predecessor, is the only one whose line it polls: a predecessor that leaves in good order has held the
 *            lock, so all before it have left, and nobody comes before it any more, since numbers do not fall. Handing the
 *            lock over moves one line out and one line in, whatever the number of nodes.
 *
 * A node may leave without having held the lock: it withdraws, or it is dead and the manager clears its number. Then the
 * turn in its word is another one, and whoever waited for it looks again at all. So does whoever sees turns that have changed
 * since its last look, before it takes the lock: the state of the lock, where the manager notes a death before it clears the
 * number, may have come to the cache before the line did.
 *
 * The line also says what its node knew when it released the lock: how many tenures there have been, so that the next holder
 * sees who was the last, and what of the dead is repaired.
 */
#include <errno.h>

#include "lease.h"
#include "locktable.h"
#include "tier.h"

#define NUMBER_BITS 47u
#define NUMBER_MAX ((UINT64_C(1) << NUMBER_BITS) - 1)
#define CHOOSING UINT64_C(1)
#define TURN_SHIFT 48u

static uint64_t number_of(uint64_t word) {
  return word >> 1 & NUMBER_MAX;
}

static uint64_t turn_of(uint64_t word) {
  return word >> TURN_SHIFT;
}

static uint64_t word_of(uint64_t turn, uint64_t number, uint64_t choosing) {
  assert(number <= NUMBER_MAX && turn >> (64 - TURN_SHIFT) == 0);
  return turn << TURN_SHIFT | number << 1 | choosing;
}

static uint64_t next_turn(uint64_t turn) {
  return (turn + 1) & (UINT64_MAX >> TURN_SHIFT);
}

/* All lines of a lock as one node saw them. */
typedef struct view {
  uint64_t word[PM_NODES_MAX];
  uint64_t tenure, settled; /* the highest of all lines */
  uint32_t last;            /* whose tenure it is */
  uint64_t since, dead;
  uint64_t number; /* the highest that anybody took */
} view;

static void learn(view *v, uint64_t since, uint64_t dead) {
  if (since <= v->since) return;
  v->since = since;
  v->dead = dead;
}

/* What a line says whose word was loaded. */
static void read_turn(pm_pool *pool, uint32_t lock, uint32_t node, uint64_t word, view *v) {
  const pmi_turn *turn = pmi_turn_of(pool, lock, node);
  v->word[node] = word;
  const uint64_t tenure = pmi_peek(&turn->tenure), repaired = pmi_peek(&turn->repaired);
  if (tenure > v->tenure) {
    v->tenure = tenure;
    v->last = node;
  }
  if (repaired > v->settled) v->settled = repaired;
  const uint64_t number = PM_MUTANT_ON(bakery_numbers_fall) ? number_of(word) : pmi_peek(&turn->number);
  if (number > v->number) v->number = number;
  const uint64_t since = pmi_look(&turn->since); /* before `dead`, which is stored first */
  learn(v, since, pmi_peek(&turn->dead));
}

/* The lines of all nodes and the state of the lock, side by side: each no older than this call, but one may be older than
 * another. That is enough, since nobody who comes later gets a lower number. */
static void look(pm_pool *pool, uint32_t lock, view *v) {
  const pmi_lock_state *state = pmi_lock_state_of(pool, lock);
  const pmi_turn *first = pmi_turn_of(pool, lock, 0);
  const size_t bytes = (size_t)((const char *)pmi_turn_of(pool, lock, pool->params.nodes) - (const char *)first);
  *v = (view){.last = pool->node};
  pmi_drop(pool, state, sizeof *state);
  pmi_acquire(pool, first, bytes);
  pmi_prefetch(state, sizeof *state);
  pmi_prefetch(first, bytes);
  for (uint32_t node = 0; node < pool->params.nodes; ++node)
    read_turn(pool, lock, node, pmi_look(&pmi_turn_of(pool, lock, node)->word), v);
  const uint64_t since = pmi_look(&state->since);
  learn(v, since, pmi_peek(&state->dead));
  pmi_looked();
}

static int is_before(const view *v, uint32_t node, uint64_t number, uint32_t me) {
  const uint64_t other = number_of(v->word[node]);
  return other != 0 && (other < number || (other == number && node < me));
}

static void store_word(pm_pool *pool, uint32_t lock, uint64_t word) {
  pmi_turn *turn = pmi_turn_of(pool, lock, pool->node);
  pmi_store(&turn->word, word);
  pmi_publish(pool, turn, sizeof *turn);
}

/* One poll of the line of `node`. `patience` is that of the whole wait. */
static int poll(pm_pool *pool, uint32_t lock, uint32_t node, view *v, pmi_patience *patience) {
  pmi_lock_local *local = &pool->locks[lock];
  const pmi_turn *turn = pmi_turn_of(pool, lock, node);
  pm_relax();
  pmi_poke(&local->polls, local->polls + 1);
  pmi_acquire(pool, turn, sizeof *turn);
  read_turn(pool, lock, node, pmi_load(&turn->word), v);
  pmi_show_life(pool);
  const int rc = pmi_fence(pool);
  if (rc < 0 || !pmi_out_of_patience(pool, patience)) return rc;
  local->ticket = next_turn(local->ticket);
  store_word(pool, lock, word_of(local->ticket, 0, 0));
  return pmi_error(
      ETIMEDOUT,
      "lock: %u: node %u is before this one, and no lock manager looks after the dead for %u leases of %llu "
      "ns; run pm_manager_run on a node",
      lock, node, PMI_LEASE_PATIENCE, (unsigned long long)pool->params.lease_ns);
}

static int wait_for_choice(pm_pool *pool, uint32_t lock, uint32_t node, view *v, pmi_patience *patience) {
  int rc = 0;
  while (rc == 0 && (v->word[node] & CHOOSING) && !PM_MUTANT_ON(bakery_no_choosing))
    rc = poll(pool, lock, node, v, patience);
  return rc;
}

static int wait_bakery(pm_pool *pool, uint32_t lock, uint64_t number, view *v) {
  pmi_patience patience = {0};
  const pmi_lock_state *state = pmi_lock_state_of(pool, lock);
  int rc = 0;
  look(pool, lock, v);
  for (uint32_t node = 0; rc == 0 && node < pool->params.nodes; ++node) {
    if (node == pool->node) continue;
    rc = wait_for_choice(pool, lock, node, v, &patience);
    while (rc == 0 && is_before(v, node, number, pool->node)) rc = poll(pool, lock, node, v, &patience);
  }
  if (rc < 0) return rc;
  pmi_acquire(pool, state, sizeof *state);
  const uint64_t since = pmi_load(&state->since);
  learn(v, since, pmi_peek(&state->dead));
  return 0;
}

/* The last of those before this node, by the view; PMI_NOBODY when it is the first. */
static uint32_t predecessor(const pm_pool *pool, const view *v, uint64_t number) {
  uint32_t last = PMI_NOBODY;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    if (node == pool->node || !is_before(v, node, number, pool->node)) continue;
    if (last == PMI_NOBODY || is_before(v, last, number_of(v->word[node]), node)) last = node;
  }
  return last;
}

/* Changes with every node that has left without the lock; turns only rise. */
static uint64_t sum_of_turns(const pm_pool *pool, const view *v) {
  uint64_t sum = 0;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) sum += turn_of(v->word[node]);
  return sum;
}

/* `v` is the view from the doorway at first. */
static int wait_queue(pm_pool *pool, uint32_t lock, uint64_t number, view *v) {
  pmi_patience patience = {0};
  int rc = 0;
  for (;;) {
    const uint64_t turns = sum_of_turns(pool, v);
    look(pool, lock, v);
    for (uint32_t node = 0; rc == 0 && node < pool->params.nodes; ++node) {
      if (node != pool->node) rc = wait_for_choice(pool, lock, node, v, &patience);
    }
    const uint32_t before = predecessor(pool, v, number);
    if (rc < 0) return rc;
    if (before == PMI_NOBODY) {
      if (sum_of_turns(pool, v) == turns || PM_MUTANT_ON(queue_old_news)) return rc;
      continue;
    }
    const uint64_t seen = v->word[before];
    while (rc == 0 && v->word[before] == seen) rc = poll(pool, lock, before, v, &patience);
    if (rc < 0 || turn_of(v->word[before]) == turn_of(seen) || PM_MUTANT_ON(queue_no_second_look)) return rc;
  }
}

/* Through the doorway. Returns the number. */
static uint64_t take_number(pm_pool *pool, uint32_t lock, view *v) {
  pmi_lock_local *local = &pool->locks[lock];
  store_word(pool, lock, word_of(local->ticket, 0, CHOOSING));
  pmi_sync(pool);
  look(pool, lock, v);
  const uint64_t number = v->number + 1;
  pmi_store(&pmi_turn_of(pool, lock, pool->node)->number, number);
  store_word(pool, lock, word_of(local->ticket, number, 0));
  pmi_sync(pool);
  __atomic_fetch_add(&local->queued, 1, __ATOMIC_RELEASE);
  return number;
}

static int acquire(pm_pool *pool, uint32_t lock, int *fresh,
                   int (*wait)(pm_pool *pool, uint32_t lock, uint64_t number, view *v)) {
  pmi_lock_local *local = &pool->locks[lock];
  const int first = !local->known;
  if (first) {
    const pmi_turn *own = pmi_turn_of(pool, lock, pool->node);
    pmi_acquire(pool, own, sizeof *own);
    local->ticket = turn_of(pmi_load(&own->word));
    local->known = 1;
  }
  pmi_show_life(pool);
  view v;
  const uint64_t number = take_number(pool, lock, &v);
  int rc = wait(pool, lock, number, &v);
  if (rc == 0) rc = pmi_fence(pool);
  if (rc < 0) return rc;
  local->tenure = v.tenure + 1;
  local->since = v.since;
  local->settled = v.settled;
  local->dead = v.since > v.settled && !PM_MUTANT_ON(dead_not_told) ? v.dead : 0;
  *fresh = first || local->dead != 0 || v.last != pool->node;
  return 0;
}

static int bakery_acquire(pm_pool *pool, uint32_t lock, int *fresh) {
  return acquire(pool, lock, fresh, wait_bakery);
}

static int queue_acquire(pm_pool *pool, uint32_t lock, int *fresh) {
  return acquire(pool, lock, fresh, wait_queue);
}

static void release(pm_pool *pool, uint32_t lock) {
  const pmi_lock_local *local = &pool->locks[lock];
  pmi_turn *turn = pmi_turn_of(pool, lock, pool->node);
  pmi_store(&turn->tenure, local->tenure);
  pmi_store(&turn->repaired, local->repaired ? local->since : local->settled);
  pmi_store(&turn->dead, local->dead);
  pmi_store(&turn->since, local->since);
  store_word(pool, lock, word_of(local->ticket, 0, 0));
}

static uint64_t repaired(pm_pool *pool, uint32_t lock) {
  view v;
  look(pool, lock, &v);
  return v.settled;
}

static void rebuild(pm_pool *pool, pmi_manager *m, uint32_t lock) {
  (void)pool;
  (void)m;
  (void)lock; /* the lines themselves are looked at when somebody has died */
}

/* The first of those who have a number: it holds the lock, or is about to. */
static uint32_t first_of(const pm_pool *pool, const view *v) {
  uint32_t first = PMI_NOBODY;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    if (number_of(v->word[node]) == 0) continue;
    if (first == PMI_NOBODY || is_before(v, node, number_of(v->word[first]), first)) first = node;
  }
  return first;
}

static void leave(pm_pool *pool, uint32_t lock, uint32_t node, uint64_t word) {
  pmi_turn *turn = pmi_turn_of(pool, lock, node);
  pmi_store(&turn->word, word_of(next_turn(turn_of(word)), 0, 0));
  pmi_publish(pool, turn, sizeof *turn);
}

static void bury(pm_pool *pool, pmi_manager *m, uint32_t lock, uint32_t node) {
  view v;
  look(pool, lock, &v);
  const int held = first_of(pool, &v) == node;
  if (held || lock < PMI_LOCKS_OWN) pmi_death_mark(pool, m, lock, node, m->locks[lock].since + 1);
  if ((v.word[node] & CHOOSING) || number_of(v.word[node]) != 0) leave(pool, lock, node, v.word[node]);
}

static pmi_lock_left left(pm_pool *pool, uint32_t lock) {
  view v = {.last = pool->node};
  pmi_lock_left found = {0};
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    read_turn(pool, lock, node, pmi_load(&pmi_turn_of(pool, lock, node)->word), &v);
    if ((v.word[node] & CHOOSING) || number_of(v.word[node]) != 0) found.nodes |= UINT64_C(1) << node;
  }
  const uint32_t first = first_of(pool, &v);
  if (first != PMI_NOBODY) found.holders = UINT64_C(1) << first;
  found.tenure = v.tenure;
  return found;
}

static uint64_t clear(pm_pool *pool, uint32_t lock) {
  const uint64_t nodes = left(pool, lock).nodes;
  for (uint32_t node = 0; node < pool->params.nodes; ++node) {
    if (nodes >> node & 1u) leave(pool, lock, node, pmi_load(&pmi_turn_of(pool, lock, node)->word));
  }
  return pmi_load(&pmi_lock_state_of(pool, lock)->since) + 1;
}

const pmi_tier pmi_tier_bakery = {.acquire = bakery_acquire,
                                  .release = release,
                                  .rebuild = rebuild,
                                  .bury = bury,
                                  .repaired = repaired,
                                  .left = left,
                                  .clear = clear};

const pmi_tier pmi_tier_queue = {.acquire = queue_acquire,
                                 .release = release,
                                 .rebuild = rebuild,
                                 .bury = bury,
                                 .repaired = repaired,
                                 .left = left,
                                 .clear = clear};
