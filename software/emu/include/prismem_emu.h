/**
 * @file prismem_emu.h
 * C interface of the host emulator.
 *
 * One machine a process: N hosts, each with a private non-coherent write-back cache over one shared pool, and any number
 * of deterministic user-level threads. Programs compiled with the hooks (`prismem_hooks.h`) run on its threads unchanged.
 * The machine sits on a memory port: *functional* (no time; `emu_run` drives it) or *RTL* (Verilated hardware drives it
 * through the functions of `prismem_emu_dpi.h`, one clock after the other).
 *
 * Memory model: docs/memory_model.md. All functions return 0 or a count on success and -errno on error unless stated.
 * Sizes are bytes, times are nanoseconds of simulated time.
 */
#ifndef PRISMEM_EMU_H
#define PRISMEM_EMU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMU_LINE_BYTES 64u
#define EMU_HOSTS_MAX 64u
#define EMU_THREADS_MAX 256u
/** A program reaches the pool by opening this path (or any path below it). */
#define EMU_POOL_PATH "/prismem/pool"

enum emu_port {
  EMU_PORT_FUNCTIONAL = 0,
  EMU_PORT_RTL = 1,
  EMU_PORT_LOCKSTEP = 2 /**< functional, each request also a transaction of the RTL, one at a time: emu_replay alone */
};

/** Who decides on spontaneous fills, evictions and the retirement of flushes. */
enum emu_policy {
  EMU_POLICY_RANDOM = 0, /**< seeded: about one step in `event_every` is a cache event */
  EMU_POLICY_LAZY = 1,   /**< no spontaneous event; a flush retires only when something forces it */
  EMU_POLICY_EAGER = 2,  /**< dirty lines are evicted soon after the store */
  EMU_POLICY_WARM = 3    /**< lines that another host writes are prefetched early and kept (stale) */
};

/** What CLWB leaves behind (the manuals allow both). */
enum emu_clwb { EMU_CLWB_MAY = 0, EMU_CLWB_KEEP = 1, EMU_CLWB_DROP = 2 };

typedef struct emu_config {
  uint32_t struct_bytes;      /**< sizeof(emu_config): refuses another version of this structure */
  uint32_t hosts;             /**< 1 .. EMU_HOSTS_MAX */
  uint64_t pool_bytes;        /**< size of the pool; a multiple of 2 MiB */
  uint64_t seed;              /**< the whole run follows from it */
  uint32_t port;              /**< enum emu_port */
  uint32_t policy;            /**< enum emu_policy */
  uint32_t coherent;          /**< 1: every thread runs on host 0, whichever host it names; one coherent cache */
  uint32_t clwb;              /**< enum emu_clwb */
  uint32_t dma_snoop;         /**< 1: DMA snoops the cache of the host that issues it (always so when coherent) */
  uint32_t completion_posted; /**< 1 = a flush completes before the device has the line (RTL: is told so) */
  uint32_t switch_every;      /**< mean hooked accesses between forced thread switches; 0: only at blocking points */
  uint32_t event_every;       /**< mean hooked accesses between spontaneous cache events; 0: none */
  uint32_t detect;            /**< 1: report stale reads and lost updates */
  uint32_t faults_max;        /**< the run stops after this many faults; at least 1 */
  uint64_t step_limit;        /**< hooked accesses and polls after which the run is declared stuck */
  uint32_t access_ps;         /**< RTL port: cost of one hooked access that hits, in ps */
  uint32_t pause_ns;          /**< RTL port: cost of one PAUSE (spin hint) */
  uint32_t jitter_ns;         /**< RTL port: seeded extra 0..jitter_ns before each memory request */
  uint32_t outstanding_max;   /**< RTL port: line requests in flight a host; at most 4096 */
  uint64_t hpa_base;          /**< RTL port: host physical address of pool offset 0; a multiple of 2 MiB */
} emu_config;

/** Why a run ended; also the value of `emu_state`. */
enum emu_state {
  EMU_RUNNING = 0,
  EMU_DONE = 1,     /**< every non-daemon thread has returned 0 */
  EMU_FAULT = 2,    /**< the detector or the memory answered with a fault; see emu_report */
  EMU_STUCK = 3,    /**< step_limit reached: who waits for which line is in the report */
  EMU_DEADLOCK = 4, /**< no thread can ever run again */
  EMU_FAILED = 5    /**< a thread returned non-zero */
};

/** Create the machine. -EEXIST when there is one, -EINVAL for a bad field (emu_error() names it). */
int emu_create(const emu_config *cfg);
/** Destroy the machine; idle call is harmless. */
void emu_destroy(void);
/** Text of the last error of this interface ("hosts: 0 is outside 1..64"); never NULL. */
const char *emu_error(void);

typedef int64_t (*emu_thread_fn)(void *arg);
enum {
  EMU_THREAD_DAEMON = 1u,     /**< the run may end while this thread still runs */
  EMU_THREAD_AFTER_CRASH = 2u /**< starts when its host has crashed, and never if it does not */
};

/** Add a thread that runs `fn(arg)` on `host`. Returns its id. A thread that returns non-zero fails the run. */
int emu_spawn(uint32_t host, const char *name, emu_thread_fn fn, void *arg, uint32_t flags);

/**
 * Add a thread whose program is an ordinary operating-system thread of the caller (a Python thread): its calls into
 * instrumented code are carried over one at a time, and the machine stands still between them, so the run stays
 * deterministic. Create it before the run starts; the run waits for its first call.
 */
int emu_spawn_external(uint32_t host, const char *name);
/** Run `fn(args[0..7])` on the external thread `tid`; blocks the caller in real time, the machine in simulated time.
 *  -ECANCELED when the run has ended. */
int emu_external_call(int tid, void *fn, const int64_t args[8], int64_t *ret);
/** The external thread ends with `status`. */
int emu_external_exit(int tid, int64_t status);

/** Functional port: run until the end; returns enum emu_state. */
int emu_run(void);
int emu_state(void);

/** Called from a running thread: id, host, simulated ns (functional port: steps), and a hint that it is waiting. */
int emu_self(void);
uint32_t emu_self_host(void);
uint64_t emu_now_ns(void);
/** Let others run; the thread is polling. */
void emu_yield(void);
/** Sleep for simulated ns. */
void emu_sleep_ns(uint64_t ns);
/** A thread reports a failure of its own (a wrong byte, a failed check); ends the run with EMU_FAULT. `addr` may be a
 *  pool address (its line, holders and last writer are added to the report) or NULL. */
void emu_fail(const void *addr, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** What dies with a host (emu_crash_at). */
enum emu_crash {
  EMU_CRASH_HOST_DROP =
      0, /**< threads, pending flushes, cache; write-backs under way are lost (with posted completion) */
  EMU_CRASH_HOST_KEEP = 1, /**< the same, but write-backs under way arrive */
  EMU_CRASH_PROCESS = 2    /**< threads only: what they issued takes effect, the cache lives on and writes back later */
};
/** Functional port, non-coherent: `host` dies right before its `event`-th shared-memory event from now on: each store,
 *  flush, fence and DMA line is one. 0: never, but count them. Before the run, or from a running thread. */
int emu_crash_at(uint32_t host, uint64_t event, uint32_t kind);
/** No crash any more, no counting. */
void emu_crash_disarm(uint32_t host);
/** Events of the host since emu_crash_at, or -EINVAL. */
int64_t emu_crash_events(uint32_t host);
/** 1 when the host has crashed, else 0; -EINVAL. */
int emu_crashed(uint32_t host);
/** From a running thread: its host loses cache, pending flushes and transfers, as in a crash, on any port; its threads go
 *  on, as programs of the host after a restart. Write-backs under way arrive, or (`keep` 0, functional port) do not. */
int emu_host_restart(int keep);

/** What a cache may do at any time (enum emu_choice_kind has more of it for logs). */
enum emu_cache_event {
  EMU_CACHE_FILL = 0,  /**< fetch the line, if there is no copy */
  EMU_CACHE_EVICT = 1, /**< give the copy up, writing it back if it is dirty */
  EMU_CACHE_RETIRE = 2 /**< a pending flush of the running thread to this line takes effect, if it may */
};
/** From a running thread: this happens now in its host's cache, to the line of a pool address. 1: it did; 0: it could not. */
int emu_cache_event(int event, const void *addr);

/** Assumptions of the memory model that some CPU or device breaks; they hold unless set here. */
enum emu_quirk {
  EMU_QUIRK_FILL_SURVIVES = 1u, /**< RTL port: a flush does not end a fill of its line that is under way */
  EMU_QUIRK_SPURIOUS = 2u,      /**< an eviction may write a clean line back */
  EMU_QUIRK_DDIO = 4u           /**< with dma_snoop: a DMA write may stay in the cache of its host, dirty */
};
/** The quirks of the machine, instead of those before. Before the run. */
int emu_quirks_set(uint32_t quirks);

/** A look at the memory when all threads have ended: 0 if it is as it should be. `dropped` 1: as it is when all caches and
 *  pending flushes vanish; then once more, 0, after everything has been written back. It must not change anything. */
typedef int (*emu_audit_fn)(void *arg, const void *pool, uint64_t bytes, int dropped);
/** Functional port: ask `fn` at the end of every execution; not 0 is a fault of kind "audit". NULL: nobody. Before the run.
 *  Programs of emu_program_add are asked for theirs: `int prismem_audit(const void *pool, size_t bytes, int dropped)`. */
int emu_audit_set(emu_audit_fn fn, void *arg);

/** DMA engine of the current thread's host: pool <-> any memory, without the host's cache. Asynchronous; a ticket is
 *  positive. `dir` 0: memory to pool, 1: pool to memory. Offsets and sizes are multiples of 64. */
int64_t emu_dma_submit(int dir, void *pool_addr, void *mem, size_t bytes);
/** 1 complete, 0 not yet, -EINVAL unknown ticket. */
int emu_dma_poll(int64_t ticket);

/** Report of the run so far as JSON (owned by the machine, valid until the next call):
 *  {state, state_name, now_ns, steps, switches, digest, seed, policy,
 *   faults: [{kind: "stale_read"|"lost_update"|"stuck"|"deadlock"|"check"|"nxm"|"poison"|"thread", time_ns, message,
 *             pool_offset, line, host, thread, function, source, other_host, other_thread, other_function, other_source}],
 *   hosts: [{host, loads, stores, fills, prefetches, writebacks, evictions, flushes, fences, dma_lines_in,
 *            dma_lines_out}], threads: [{tid, host, name, state, status}],
 *   traffic: [{host, first_line, issued, completed, poisoned, failed, refused_ns_max, refused_first_ns}] by generator:
 *   answered with poison and with an error, the longest that one of these took, and when the first of them came,
 *   counters: {name: [[index, index, value], ...]} of the hardware at its last reading, {} before the first,
 *   readings: [counters of each reading]}  */
const char *emu_report(void);
/** Write one text line for each thread switch, cache event, port transaction and fault to `path`. Call before the run. */
int emu_log_open(const char *path);

/** Read or write the device behind the caches (tests, seeding, final audits); no time passes. */
int emu_device_read(uint64_t pool_offset, void *dst, size_t bytes);
int emu_device_write(uint64_t pool_offset, const void *src, size_t bytes);

/** RTL port: request generators beside the threads, for latency and bandwidth measurements. Lines
 *  `first_line .. first_line + lines - 1` of the pool; data is derived from the address and checked on return. */
typedef struct emu_traffic {
  uint32_t struct_bytes;
  uint32_t host;
  uint32_t outstanding;   /**< requests kept in flight */
  uint32_t read_permille; /**< share of reads, 0..1000 */
  uint32_t random;        /**< 0 linear, 1 seeded random */
  uint32_t gap_ns;        /**< idle time after each completion (0: back to back) */
  uint64_t first_line, lines;
  uint64_t requests; /**< stop after this many; 0: until the end of the run */
  uint32_t tolerate; /**< 1: poison and errors are answers to be counted, not faults of the run */
} emu_traffic;
/** Returns a generator id. The run ends when all threads and all bounded generators have ended. */
int emu_traffic_add(const emu_traffic *t);

/** RTL port: a traffic engine in the bench (`tb/hdl/traffic_engine.sv`) that takes the place of a host; what it measures
 *  comes back in the counters of emu_report, a reading a phase. All engines of a phase start together, and the next phase
 *  starts when all have ended. Footprints of 2^lines_log2 lines must not overlap if one of them is written. */
typedef struct emu_engine {
  uint32_t struct_bytes;
  uint32_t host;
  uint32_t phase;           /**< 0, 1, ... */
  uint32_t pattern;         /**< 0 linear, 1 random (each block once before any comes again), 2 strided */
  uint32_t request_bytes;   /**< 32, 64, 128, ... 1024; 32: linear ones share a line, others use half of theirs */
  uint32_t read_permille;   /**< share of reads, 0..1000 */
  uint32_t outstanding;     /**< lines in flight at most, from the lines of a request up to 2048 */
  uint32_t poisson;         /**< arrivals: 0 evenly spaced, 1 exponential */
  uint32_t stride_log2;     /**< strided: requests of the footprint between one and the next */
  uint32_t hot_permille;    /**< share of requests that go to the hot footprint, 0..1000 */
  uint32_t hot_module;      /**< which lies on this module */
  uint32_t hot_outstanding; /**< not 0: the hot footprint has a closed loop of its own, this many lines at most */
  uint32_t lines_log2;      /**< lines of a footprint: at least twice `outstanding`, rounded up to a power of two */
  uint64_t interval_q16;    /**< mean time from arrival to arrival in ns / 65536; 0: closed loop */
  uint64_t first_line;      /**< host address / 64 */
  uint64_t hot_line;        /**< first line of the hot footprint, address in the module / 64 */
  uint64_t start;           /**< request of the footprint with which the walk starts */
  uint64_t requests;        /**< stop after this many; 0: at stop_ns, or else when the threads have ended */
  uint64_t warmup;          /**< requests that are not counted */
  uint64_t count_ns;        /**< no counting before this time of the phase */
  uint64_t stop_ns;         /**< no request after this time of the phase; 0: no such time */
  uint64_t seed;
} emu_engine;
int emu_engine_add(const emu_engine *engine);

/** RTL port: latency table from the probes of the hardware, JSON:
 *  {read: {...}, write: {...}, dma_read, dma_write} each {count, total_ns: {min, mean, p50, p99, max},
 *   parts_ns: {request: {...}, memory: {...}, response: {...}}, stages_ns: {<stage name>: {min, mean, p50, p99, max}}};
 *  ports: [{host, module, read_lines, write_lines, first_ns, last_ns}]; sums_checked; sum_errors. */
const char *emu_latency_report(void);
/** Forget the latencies and port counts so far (after a warm-up). */
void emu_latency_reset(void);

#ifdef __cplusplus
}
#endif
#endif
