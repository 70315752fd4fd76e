/**
 * @file modules.hpp
 * What the parts of the emulator offer each other. Each block names the file that implements it.
 */
#pragma once

#include "machine.hpp"

namespace prismem {

/** Polls, by all threads, between two retirements that time alone brings about. */
inline constexpr uint64_t kPollsPerRetirement = 32;

// scheduler.cpp -------------------------------------------------------------------------------------------------------
/** Prepare the thread to begin its function. */
void thread_start(Thread &thread);
int thread_create(uint32_t host, const char *name, emu_thread_fn fn, void *arg, uint32_t flags);
uint64_t now_ns();
/** Exploring: a load of a synchronizing word has returned `value`; if the next time round the same word still has it, others
 *  run before the next one. */
void spin_seen(Thread &thread, uint64_t address, uint64_t pc, uint64_t value);
void spin_before(Thread &thread);
/** A thread that gives up the processor on the functional port: choose who goes on, among the ready ones. */
void reschedule(Site site);
/** The run ends for lack of progress: the fault says who waits for what. */
void report_end(const char *kind, std::string message);
/** Give up the processor until `wake`. */
void block_current(ThreadState state, const char *wait_for);
void wake(Thread &thread);
void sleep_until(uint64_t wake_ns);
void poll_once();
/** Exploring: ends the run when all threads poll, or sleep and look again, and nothing changes. */
void check_idle();
/** RTL: let the time of the accesses so far pass (and `extra_ns`); true when the thread was away meanwhile. */
bool realise_debt(uint64_t extra_ns);
/** The run is over; does not return on a fiber. */
void end_run(int state);
void thread_return(int64_t status) __attribute__((noreturn));
/** RTL: run every thread that is due at `now`. */
void run_due_threads();
uint64_t earliest_wake();
/** All caches written back, in seeded order. */
void final_writebacks();
/** Ask the machine's audit about the device, before or after the final write-backs. */
void audit(bool dropped);
/** Hold the operations that a program has recorded against what their objects allow; forget them. */
void history_check();
void history_reset();
int run_functional();

// budget.cpp ----------------------------------------------------------------------------------------------------------
/** Set the budget for what is due next, at this count of steps. */
void arm_budget(uint64_t steps);
/** A hooked access or poll has used up the budget: cache events and forced switches happen here. */
void budget_expired();
/** One hooked step outside of the fast path. */
inline void count_step() {
  if (--g_fast.budget < 0) budget_expired();
}

// context.cpp ---------------------------------------------------------------------------------------------------------
/** Add the hits of the running thread to its host and remember where it was. */
void fold_counters(Thread &thread);
/** Save the running thread and continue `next`, or the main context when nullptr; on return the thread runs again. */
void switch_to(Thread *next);
/** Enter a thread from the main context. */
void enter_thread(Thread &thread);
/** Make the hooks inert while the running fiber waits for an operating-system thread, and active again. */
void context_suspend();
void context_resume(Thread &thread);

// external.cpp --------------------------------------------------------------------------------------------------------
int64_t external_body(Thread &thread);
void externals_cancel();
void external_destroy(External *external);

// crash.cpp -----------------------------------------------------------------------------------------------------------
/** The running thread is about to store, flush or fence, and its host is armed: count, and die when it is time. */
void crash_step();
inline void crash_point() {
  if (UNLIKELY(g_fast.crash_armed)) crash_step();
}
/** The host's DMA engine is about to move a line; true when the host died instead. */
bool crash_dma_line(Host &host);
/** Does not return when the running thread, or all there was to wait for, has died meanwhile. */
void crash_leave();

// cache.cpp -----------------------------------------------------------------------------------------------------------
/** Make the line valid in the thread's host. True when other threads may have run meanwhile. */
bool fill_line(Thread &thread, Host &host, uint64_t line);
/** Start a clean fill that no load waits for. */
void prefetch_line(Host &host, uint64_t line);
/** A flush or streaming store overtakes a fill under way: what comes back may be older, so it is not installed. */
void drop_fills(Host &host, uint64_t line);
/** Write the line back if dirty; it stays valid and clean. */
void write_back(Host &host, uint64_t line, Thread *thread);
void invalidate(Host &host, uint64_t line);
void evict(Host &host, uint64_t line);
void submit_write(Request *request, Thread *thread);
/** Called by the port when a request has been served. */
void complete_request(Request *request);
/** A whole line that was written past the caches stays in the host's own; the host has no copy and no write-back of it. */
void allocate_written(Request &request);
void note_use(Host &host, uint64_t line);
void first_store(Host &host, uint64_t line);

// pending.cpp ---------------------------------------------------------------------------------------------------------
void issue_flush(PendingKind kind, uint64_t address, uint64_t pc);
void issue_store_fence(uint64_t pc);
void issue_stream(uint64_t address, const void *data, uint32_t bytes, uint64_t pc);
/** Commit what a store may not overtake. */
void drain_for_store(Thread &thread);
/** Commit everything and wait until the device has it: MFENCE, locked operations. */
void drain_all(Thread &thread);
void commit_streams(Thread &thread, uint64_t line);
void commit_all_pending(Thread &thread);
/** The entry `index` need not wait for an older one. */
bool may_commit(const Thread &thread, size_t index);
void commit_at(Thread &thread, size_t index);
void update_gate(Thread &thread);

// detector.cpp --------------------------------------------------------------------------------------------------------
void shadow_store(Thread &thread, Host &host, uint64_t offset, uint64_t bytes, uint64_t pc);
/** Another host holds the line that the running actor stores to: its copy goes stale, its older stores are superseded. */
void shadow_shared(uint64_t line, uint64_t first_word, uint64_t last_word);
/** The words that the running thread has just stored: by an atomic store, or by a `locked` operation that read them. */
void mark_atomic(Host &host, uint64_t offset, uint64_t bytes, bool locked);
void mark_stale(uint64_t line, uint64_t first_word, uint64_t last_word, const Clock &clock, uint64_t hosts);
void shadow_stream(Thread &thread, Pending &pending, uint64_t offset, uint64_t bytes);
void check_load(Thread &thread, Host &host, uint64_t offset, uint64_t bytes, uint64_t pc);
void shadow_fill(Host &host, const Request &request);
void check_device_write(const Request &request);
void shadow_device_write(const Request &request, uint64_t mask);
void shadow_dma_submit(Thread &thread, DmaTicket &ticket);
void check_dma_read(const Host &host, const DmaTicket &ticket, uint64_t line, const WordMeta *seen);
void shadow_loader_write(uint64_t offset, uint64_t bytes);
bool happens_before(const WordMeta &store, const Clock &clock);
uint32_t intern_pc(uint64_t pc);
uint64_t pc_of(uint32_t id);
void detector_reset();

// sync.cpp ------------------------------------------------------------------------------------------------------------
void sync_release(Thread &thread, uint64_t address, bool keep_sequence, uint64_t replaced_version);
/** A relaxed store after a release fence publishes the clock of that fence. */
void sync_relaxed_store(Thread &thread, uint64_t address);
void sync_acquire(Thread &thread, uint64_t address, bool now);
void sync_release_fence(Thread &thread);
void sync_acquire_fence(Thread &thread);
void sync_fork(Thread &parent, Thread &child);
void sync_join(Thread &thread, const Clock &from);
void sync_advance(Thread &thread);
void sync_reset();

// dma.cpp -------------------------------------------------------------------------------------------------------------
void dma_progress(Host &host, uint32_t lines);
void dma_issue(Host &host);
/** Issue every line of every transfer, oldest first. */
void dma_in_order(Host &host);
void dma_line_done(Request *request);
bool dma_any();
/** Earliest start of a transfer that the engine has not got to; kNever if none. */
uint64_t dma_next_start();

// intercept_*.cpp ------------------------------------------------------------------------------------------------------
void intercept_reset();
/** Descriptor of the pool for the running thread's host. */
int pool_descriptor();
/** The program has ended itself, at this code address: ends the run. */
void ended_by(const char *what, uint64_t pc);

// report.cpp, symbols.cpp, log.cpp ------------------------------------------------------------------------------------
void raise_fault(Fault fault);
Fault fault_here(const char *kind, uint64_t offset, uint64_t pc);
std::string waiting_report();
/** Name in `fault` the waiting thread whose line is stale in its cache or not yet in the device, else the first that waits,
 *  and who stored that line last. */
void blame_waiting(Fault &fault);
/** Name in `fault` the last pool access of a thread that failed. */
void blame_failed(Fault &fault, const Thread &thread);
std::string line_report(uint64_t offset);
std::string actor_text(uint32_t actor);
int actor_host(uint32_t actor);
int actor_thread(uint32_t actor);
struct Location {
  std::string function, source;
};
std::vector<Location> locate(const std::vector<uint32_t> &pcs);
/** The machine ends, and programs may be unloaded: addresses mean nothing any more. */
void locate_forget();
std::string module_offset(uint64_t pc);
const char *state_name(int state);

enum class Decision : uint8_t {
  kSwitch = 1,
  kFill,
  kPrefetch,
  kEvict,
  kWriteBack,
  kRetire,
  kStream,
  kDmaRead,
  kDmaWrite,
  kTrafficRead,
  kTrafficWrite,
  kWake,
  kFault,
  kEnd,
  kCrash
};
/** Add a decision to the digest and, when open, to the log. `data` (64 bytes) may be nullptr. */
void note(Decision decision, uint64_t a, uint64_t b, uint64_t c, const void *data);

}  // namespace prismem
