/**
 * @file machine.hpp
 * The emulated machine: hosts, threads, device, and what holds them together. One a process (`g_machine`).
 */
#pragma once

#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "chooser.hpp"
#include "engine.hpp"
#include "fast.hpp"
#include "fiber.hpp"
#include "prismem_emu.h"
#include "rng.hpp"
#include "types.hpp"

#define PRISMEM_EXPORT extern "C" __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace prismem {

class MemoryPort;
class Lockstep;
class RtlPort;
class Verbs;
struct External;

/** Vector clock over actors; index beyond the end reads as 0. */
using Clock = std::vector<uint32_t>;
void clock_join(Clock &into, const Clock &from);

enum class ThreadState : uint8_t { kReady, kSleeping, kMemory, kBlocked, kDone };

/** A synchronizing load that a spinning thread repeats. */
struct Seen {
  uint64_t pc, value;
  uint64_t first, last;  ///< addresses: a loop over many words comes back to `first` only when it starts again
  uint64_t loads = 1;    ///< since the value has changed; at each power of two `first` moves up
  uint64_t again = 0;    ///< of these, the last ones in a row that were of one word
  bool moved = false;    ///< they were of several words
};

/** What the C++ runtime keeps a thread of the system: exceptions that are being handled, and how many are on their way. */
struct Exceptions {
  void *caught = nullptr;
  unsigned uncaught = 0;
};

struct Thread {
  int tid = 0;
  uint32_t host = 0;
  uint32_t named_host = 0;  ///< the host it was spawned for; differs from `host` when coherent
  uint32_t flags = 0;
  std::string name;
  emu_thread_fn fn = nullptr;
  void *arg = nullptr;
  External *external = nullptr;
  Fiber fiber;
  ThreadState state = ThreadState::kReady;
  uint64_t wake_ns = 0;
  uint64_t wait_line = kNever;  ///< kMemory: the line it waits for
  const char *wait_for = "";    ///< for the report of a deadlock
  int64_t status = 0;
  int saved_errno = 0;
  Exceptions exceptions;
  bool detached = false;
  std::vector<int> joiners;
  PendingList pending;
  uint32_t streams = 0;           ///< entries of `pending` that are streaming stores
  uint32_t writes_in_flight = 0;  ///< RTL: write-backs that its fences wait for
  bool writes_ordered = false;    ///< its next store has to wait for them too (CLFLUSH, SFENCE)
  uint64_t last_offset = kNever;  ///< last pool access, for reports
  uint64_t last_pc = 0;
  uint64_t polls = 0;
  uint64_t polls_at_change = 0;  ///< when it was last seen that something has changed
  uint64_t debt_ps = 0;          ///< RTL: time of accesses not yet realised
  uint64_t step_mark = 0;
  uint32_t first_flags = 0;     ///< `flags` before the first execution
  std::vector<Seen> seen;       ///< the last synchronizing loads, while nothing was stored in between
  uint64_t next_line = kNever;  ///< line of the step that it is about to make; kNever: none
  bool spins = false;           ///< its last synchronizing load told it nothing new
  uint64_t steps = 0;           ///< hooked accesses and polls before `step_mark`
  uint32_t actor = 0;
  Clock clock;
  uint64_t acquired_word = kNever, acquired_version = 0;  ///< of the last acquire in the pool: what it joined is known
  Clock fence_release, fence_acquire;  ///< C11 fences: clock to publish, clocks read but not yet joined
};

struct DmaTicket {
  int64_t id = 0;  ///< 0: free
  int dir = 0;
  uint64_t offset = 0;
  uint8_t *memory = nullptr;
  uint32_t lines = 0;
  uint32_t done = 0;
  std::vector<uint32_t> todo;  ///< lines not yet issued
  WordMeta meta{};             ///< of the stores, direction 0
  Clock clock;                 ///< of the submitter
  uint64_t start_ns = 0;       ///< the engine gets to it then
  uint64_t ordinal = 0;        ///< position in the host's order of submission
  uint32_t pc = 0;
};

struct HostCounters {
  uint64_t loads = 0, stores = 0, fills = 0, prefetches = 0, writebacks = 0, evictions = 0, flushes = 0, fences = 0,
           dma_lines_in = 0, dma_lines_out = 0;
};

/** Lines of a store whose hook has run but which may not have happened yet, while its thread is held up in a load. */
struct Pin {
  uint64_t first, last;
  int tid;
};

struct Host {
  uint32_t id = 0;
  uint8_t *view = nullptr;
  uint8_t *state = nullptr;
  uint64_t *dirty = nullptr;
  uint32_t *slot = nullptr;  ///< position of a valid line in `lines`
  uint8_t *superseded = nullptr;
  uint8_t *locked = nullptr;  ///< words with the result of a locked operation, since the last fill or write-back
  WordMeta *meta = nullptr;
  uint64_t *base = nullptr;          ///< version of each word at the last fill or write-back
  std::vector<uint64_t> lines;       ///< valid lines
  std::vector<Request *> in_flight;  ///< fills and write-backs on their way
  std::vector<Pin> pins;
  std::deque<Request *> deferred;  ///< writes to a line whose write-back is under way
  std::vector<DmaTicket> tickets;
  std::vector<uint64_t> dma_finished;  ///< ordinals completed beyond the contiguous prefix
  uint64_t dma_prefix = 0;             ///< all transfers up to this ordinal are complete
  uint64_t dma_ordinal = 0;
  int64_t dma_next_id = 1;
  uint32_t dma_active = 0;
  uint32_t dma_in_flight = 0;
  uint64_t events = 0;          ///< shared-memory events since crash_at was set
  uint64_t crash_at = 0;        ///< dies before this event; 0: not armed, kNever: counts only
  uint64_t first_crash_at = 0;  ///< `crash_at` before the first execution
  uint32_t crash_kind = EMU_CRASH_HOST_DROP;
  bool crashed = false;
  HostCounters count;
};

struct Fault {
  std::string kind;
  std::string message;  ///< '\1' and '\2' stand for the own and the other source location
  uint64_t time_ns = 0;
  uint64_t offset = kNever;
  int host = -1, thread = -1, other_host = -1, other_thread = -1;
  uint32_t pc = 0, other_pc = 0;
};

/** Counters of the hardware at one time, by name: {index, index, value}. */
using Reading = std::map<std::string, std::vector<std::array<int64_t, 3>>>;

/** The device behind all caches: bytes and shadow words of the pool. */
struct Device {
  uint8_t *data = nullptr;
  WordMeta *meta = nullptr;
  uint64_t *landed = nullptr;  ///< highest version of each word that has ever been written here
};

struct Machine {
  explicit Machine(const emu_config &config);
  ~Machine();
  bool allocate();
  /** Keep what the pool holds now in `initial`. */
  bool keep_initial();

  emu_config cfg;
  uint64_t lines;
  uint64_t view_stride;  ///< from one host's view to the next
  Rng rng;
  Rng program_rng;  ///< what getrandom() gives: the same in every execution, whoever chooses
  bool rtl;
  uint32_t quirks = 0;  ///< enum emu_quirk
  std::vector<Host> hosts;
  std::vector<std::unique_ptr<Thread>> threads;
  Device device;
  std::unique_ptr<MemoryPort> port;
  RtlPort *rtl_port = nullptr;
  std::unique_ptr<RtlPort> hardware;   ///< lockstep: behind the functional port
  std::unique_ptr<Lockstep> lockstep;  ///< on this port only
  std::unique_ptr<Verbs> verbs;        ///< when flushes and fences are counted
  emu_audit_fn audit = nullptr;        ///< asked at the end of an execution
  void *audit_arg = nullptr;
  const char *audit_place = nullptr;  ///< in its code, for reports
  int state = EMU_RUNNING;
  bool started = false;
  bool finished = false;  ///< final write-backs done

  // scheduler
  Thread *current = nullptr;
  Fiber main_context;
  std::vector<int> ready;
  uint64_t now_ns = 0;       ///< RTL: the hardware's clock; functional: time skipped beyond one ns a step
  uint64_t step_target = 0;  ///< step at which the budget reaches 0
  uint64_t switches = 0;
  uint64_t sleep_end_ns = kNever;  ///< earliest end of a thread's sleep, while `sleep_known`
  bool sleep_known = true;
  int live = 0;  ///< threads that are not daemons and have not ended
  uint64_t idle_polls = 0;

  // choices
  std::unique_ptr<Chooser> chooser;
  Site site = Site::kBlock;
  bool recording = false;
  bool tracing = false;
  std::vector<emu_choice> choices;

  // many executions (explore.cpp)
  std::unique_ptr<Chooser> search;  ///< of the last call, which goes on in the next
  uint32_t strategy = 0;
  bool exploring = false;
  std::set<uint64_t> loaded_lines;  ///< written by emu_device_write
  Device initial;                   ///< the pool before the first execution
  uint64_t initial_version = 0;
  size_t first_threads = 0;
  std::vector<Fiber> spare_fibers;
  std::vector<std::string> pool_paths;
  bool pool_mapped = false;   ///< some host has mapped the pool, in this execution or before
  uint64_t progress = 0;      ///< writes that reached the device, threads that woke or ended
  uint64_t idle_version = 0;  ///< stores and progress at the last poll
  uint64_t idle_rounds = 0;   ///< polls since either has changed

  // shared shadow
  uint64_t *sharers = nullptr;
  uint64_t *touched = nullptr;  ///< hosts that have used each line
  WordMeta *newest = nullptr;
  std::vector<uint64_t> touched_lines;
  uint64_t recent[kRecentLines] = {};
  uint32_t recent_count = 0;

  std::vector<Request *> free_requests;
  std::vector<std::unique_ptr<Request>> all_requests;

  std::vector<Fault> faults;
  std::vector<Reading> readings;
  Engines engines;
  uint64_t digest = 0;
  FILE *log = nullptr;
  std::string report_text, latency_text, trace_text, verbs_text;
};

extern Machine *g_machine;

inline bool detecting() {
  return g_machine->newest != nullptr;
}
/** Own count of steps of a thread. */
uint64_t thread_steps(const Thread &thread);

inline uint64_t steps_now() {
  return g_machine->step_target - static_cast<uint64_t>(g_fast.budget);
}

Request *new_request(RequestKind kind, uint32_t host, uint64_t line);
void free_request(Request *request);

void set_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Lazily committed zero memory; nullptr when the address space is exhausted. */
void *map_lazy(size_t bytes);

}  // namespace prismem
