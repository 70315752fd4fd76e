/**
 * @file prismem_explore.h
 * Many executions of one program in one process, each with its choices written down, and any of them again from what was
 * written. The functional port only. Functions return 0 or a count, and -errno on error (emu_error() says why).
 *
 * Order of calls: emu_create, emu_program_add for each host (or emu_library_add, then emu_spawn for each thread), then
 * emu_explore or emu_replay as often as wanted. Every execution starts from the same state: pool, globals and heap of the
 * programs, threads.
 */
#ifndef PRISMEM_EXPLORE_H
#define PRISMEM_EXPLORE_H

#include "prismem_emu.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where in a step of a thread something was chosen. */
enum emu_site {
  EMU_SITE_STEP = 0,   /**< before the access that is the thread's step number `step` */
  EMU_SITE_POLL = 1,   /**< while it polls */
  EMU_SITE_BLOCK = 2,  /**< as it blocks, sleeps or ends */
  EMU_SITE_STORE = 3,  /**< before the first store to a clean line */
  EMU_SITE_COMMIT = 4, /**< after a flush took effect */
  EMU_SITE_END = 5     /**< after the last thread has ended */
};

/** What was chosen. Everything else is as in the plain run: see chooser.hpp. */
enum emu_choice_kind {
  EMU_CHOICE_SWITCH = 0, /**< thread `target` goes on */
  EMU_CHOICE_STALL = 1,  /**< the thread stands still for `value` ns */
  EMU_CHOICE_FILL = 2,   /**< host `target` fetches line `value` that nobody asked for */
  EMU_CHOICE_EVICT = 3,  /**< host `target` evicts line `value`, writing it back if dirty */
  EMU_CHOICE_RETIRE = 4, /**< the oldest flush or streaming store of thread `target` to line `value` takes effect */
  EMU_CHOICE_LAND = 5,   /**< a posted write of host `target` to line `value` reaches the device */
  EMU_CHOICE_DMA = 6,    /**< the engine of host `target` moves line `value` */
  EMU_CHOICE_CLWB = 7,   /**< a CLWB drops its line (the plain run keeps it) */
  EMU_CHOICE_PICK = 8    /**< number `value` of `target` (the plain run takes 0) */
};

#define EMU_CHOICE_NO_THREAD 0xffffu

/** One choice. `thread` made `step` steps before it, in its own count. */
typedef struct emu_choice {
  uint32_t step;
  uint16_t thread; /**< EMU_CHOICE_NO_THREAD: before the first or after the last thread has run */
  uint8_t site;    /**< enum emu_site */
  uint8_t kind;    /**< enum emu_choice_kind */
  uint64_t target;
  uint64_t value;
} emu_choice;

/** A program with a main() of its own: `library` is a shared library compiled with the hooks, a copy of its own for each
 *  host since each has its own globals. Its main() is run by a thread of `host`; returning non-zero is a fault. Returns
 *  the thread's id. */
int emu_program_add(uint32_t host, const char *library, int argc, const char *const *argv);
/** A library compiled with the hooks whose functions threads of emu_spawn run; its hosts share its globals, which are what
 *  they are at the first execution before every other one. */
int emu_library_add(const char *library);
/** Paths that the programs map the pool under, beside EMU_POOL_PATH, /dev/dax* and shm_open; before the first run. */
int emu_pool_path_add(const char *path);

/** Who chooses. */
enum emu_strategy {
  EMU_STRATEGY_SEEDED = 0, /**< a policy of emu_config, its choices drawn from seed and number of the execution */
  EMU_STRATEGY_PCT = 1,    /**< random priorities, caches as threads, a few changes of priority */
  EMU_STRATEGY_DFS = 2     /**< every choice, one after the other; `first` 0 starts anew, otherwise it goes on */
};

/** How a search goes; fields as in emu_config unless said. */
typedef struct emu_explore_config {
  uint32_t struct_bytes;
  uint32_t policy;         /**< enum emu_policy */
  uint64_t first;          /**< number of the first execution: number and seed give all of its choices */
  uint64_t executions_max; /**< at least 1 */
  uint64_t time_ns_max;    /**< of real time; 0: no bound */
  uint64_t seed;
  uint32_t switch_every;
  uint32_t event_every;
  uint32_t strategy;   /**< enum emu_strategy */
  uint32_t events_max; /**< DFS: fills and evictions by themselves in an execution */
} emu_explore_config;

typedef struct emu_explored {
  uint64_t executions;
  uint64_t steps;    /**< of all of them */
  uint64_t cut;      /**< ended by step_limit */
  uint32_t found;    /**< 1: the last one has a fault */
  uint32_t complete; /**< 1: DFS has run every execution within its bound */
  uint32_t mapped;   /**< 1: some program has mapped the pool */
  uint32_t reserved; /**< 0 */
} emu_explored;

/** Run until a fault is found or a bound is reached. */
int emu_explore(const emu_explore_config *config, emu_explored *explored);

/** Choices of the last execution, in order; valid until the next one. Returns their number. */
int64_t emu_choices(const emu_choice **choices);

/** One execution driven by `choices`. Returns enum emu_state. With `trace` every access and cache event is kept. On the
 *  lockstep port it returns EMU_RUNNING at once, and the hardware's clock drives the only execution of the machine. */
int emu_replay(const emu_choice *choices, uint64_t count, int trace);

/** What an execution ended with, cheap enough to compare thousands: equal keys are the same fault at the same place. */
typedef struct emu_fault_key {
  uint32_t state;  /**< enum emu_state */
  uint32_t kind;   /**< hash of the kind; 0: no fault */
  uint64_t place;  /**< offset in the program's code */
  uint64_t other;  /**< of the other access */
  uint64_t digest; /**< of everything that happened */
  uint64_t offset; /**< in the pool, UINT64_MAX: none */
} emu_fault_key;
int emu_fault_key_get(emu_fault_key *key);

/** Count the flushes and fences of the programs from now on, over all executions. */
int emu_verbs_watch(void);
/** What was counted, JSON: [{place (decimal text), verb, function, source, count, idle}]. Idle: a flush without a copy or a
 *  fill of its line, a fence with nothing pending. Owned by the machine. */
const char *emu_verbs(void);
/** From now on the flush or fence of this place, in any host, does nothing; 0: all act again. After emu_verbs_watch. */
int emu_verb_skip(uint64_t place);

/** Trace of the last execution with `trace`, JSON: [{n, t (ns), event, thread, host, line, offset, bytes, value, cause,
 *  function, source, column}]; owned by the machine. */
const char *emu_trace(void);

#ifdef __cplusplus
}
#endif
#endif
