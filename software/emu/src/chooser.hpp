/**
 * @file chooser.hpp
 * Whoever decides: every choice that the memory model leaves open comes by here. The scheduler, the caches and the pending
 * flushes ask; a chooser answers and acts through the functions below, which write what was done into the run's log, so
 * that any run can be driven again by its log alone.
 *
 * A log holds only what differs from the plain run: threads in turn, each until it polls, blocks or ends; caches that do
 * nothing by themselves; flushes that retire when something forces them. Each entry has its place: a thread, its own count
 * of steps, and a site within that step, so that it keeps its meaning when other entries are taken away.
 */
#pragma once

#include <memory>
#include <vector>

#include "prismem_explore.h"
#include "types.hpp"

namespace prismem {

struct Host;
struct Thread;

/** Places within a step of a thread at which something may be chosen. */
enum class Site : uint8_t {
  kStep = EMU_SITE_STEP,
  kPoll = EMU_SITE_POLL,
  kBlock = EMU_SITE_BLOCK,
  kStore = EMU_SITE_STORE,
  kCommit = EMU_SITE_COMMIT,
  kEnd = EMU_SITE_END
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  /** A new execution starts. */
  virtual void begin() {}
  /** There is no further execution that it would choose. */
  virtual bool complete() const { return false; }
  /** Count of steps at which `at_stop` wants to be asked next; kNever: not before the next change of thread. */
  virtual uint64_t next_stop(uint64_t steps) = 0;
  /** It has come: act on the caches; true if the running thread is to give way afterwards, by `give_way`. */
  virtual bool at_stop(uint64_t steps) = 0;
  virtual void give_way() = 0;
  /** `next_stop` counts the steps of one thread, so it has to be asked again when another one runs. */
  virtual bool by_thread() const { return false; }
  /** Position in the list of ready threads, which is not empty, of the one that goes on. */
  virtual size_t next_ready(Site site) = 0;
  /** The running thread polls: before others get the processor. */
  virtual void at_poll() = 0;
  /** A line is about to get its first store since it was filled; a flush of the line has been committed. */
  virtual void at_first_store(Host &host, uint64_t line) = 0;
  virtual void at_commit(Host &host, uint64_t line) = 0;
  /** The line of a committed CLWB stays valid. */
  virtual bool clwb_keeps(uint64_t line) = 0;
  /** One of `count`, at least 1: victim of a full cache, order of the last write-backs. */
  virtual uint64_t pick(uint64_t count) = 0;
  /** A transfer was polled and is not complete. */
  virtual void at_dma_poll(Host &host) = 0;
  /** Nobody can run: the engines move what they have. */
  virtual void at_idle(Host &host) = 0;
};

std::unique_ptr<Chooser> make_seeded_chooser();
std::unique_ptr<Chooser> make_pct_chooser();
/** At most so many fills and evictions by themselves in an execution. */
std::unique_ptr<Chooser> make_dfs_chooser(uint32_t events_max);
std::unique_ptr<Chooser> make_replay_chooser(const emu_choice *choices, size_t count);

/** Position in the list of ready threads of the one that the plain run takes: the next in turn after the running one. */
size_t plain_ready();

// What a chooser does; each leaves an entry in the log. False: it was not possible, and nothing was done.
void act_fill(Host &host, uint64_t line, uint64_t cause);
void act_evict(Host &host, uint64_t line);
bool act_retire(Thread &thread, size_t index);
bool act_land(uint32_t host, uint64_t line);
bool act_dma(Host &host, uint64_t line);
/** Time alone makes the oldest flush retire, a posted write land, DMA complete; the plain run has nothing else. */
void retire_by_time(bool dma = true);
/** Write down what was chosen without an action of its own. */
void record(emu_choice_kind kind, uint32_t target, uint64_t value);

/** Marks where in a step the machine is, for the entries of the log. */
class AtSite {
 public:
  explicit AtSite(Site site);
  ~AtSite();
  AtSite(const AtSite &) = delete;
  AtSite &operator=(const AtSite &) = delete;

 private:
  Site before_;
};

}  // namespace prismem
