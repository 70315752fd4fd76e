/**
 * @file machine.hpp
 * The non-coherent machine of docs/litmus.md as transitions over flat byte states. A state is one array of
 * Machine::bytes() bytes, equal states are equal arrays:
 *
 *   a thread      status, program counter, entries in its buffer, registers, store buffer (3 bytes an entry)
 *   a host        a line: 0 invalid, 1 clean, 2 dirty, and its words; write-backs in flight; fills in flight
 *   the device    words; messages sent a channel; crashes that happened; cache events counted
 *
 * Words and registers hold numbers of Values. The rules stand in machine.cpp (threads, buffers) and cache.cpp (lines),
 * what is asked of a state in ends.cpp.
 */
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "program.hpp"

namespace litmus {

constexpr unsigned kBufferEntries = 8;  ///< of a store buffer
constexpr unsigned kInFlightMax = 2;    ///< write-backs of one line of one host on their way
constexpr unsigned kMessagesMax = 16;   ///< waiting in a channel; send blocks beyond
constexpr unsigned kEagerMax = 64;      ///< local steps that are taken as one

/** Reductions of the state space; each leaves the verdicts as they are. */
struct Reductions {
  bool local = true;  ///< local steps and issues at once
  bool fill = true;   ///< fills only of lines that something else than this host's cache writes
  bool evict = true;  ///< evictions only of lines that something else than this host's cache accesses
};

struct Setting {
  Mode mode = Mode::kNonCoherent;
  Reductions reductions;
  int cache_events_max = -1;  ///< fills, evictions and spurious write-backs in a run; -1: no bound
  bool lazy = false;          ///< no such events at all: for trap states
};

struct Move {
  enum class Kind : uint8_t { kStep, kCommit, kFill, kEvict, kSpurious, kLand, kFillStart, kFillEnd, kCrash };
  Kind kind;
  uint8_t actor;   ///< thread, or host
  uint8_t index;   ///< entry of the buffer, line, or crash
  uint8_t choice;  ///< clwb: 1 keeps the line; DMA: 1 allocates; landing: the unit
};

/** One line of a trace. */
struct TraceLine {
  std::string who, what, effect;
  unsigned source_line = 0;
};

class Machine {
 public:
  Machine(const Program &program, const Setting &setting);

  size_t bytes() const { return bytes_; }
  const Program &program() const { return program_; }
  void initial(uint8_t *s, std::vector<TraceLine> *trace) const;
  void moves(const uint8_t *s, std::vector<Move> &out) const;
  /** Take a move that `moves` gave, then the local steps that follow from it. */
  void apply(uint8_t *s, Move move, std::vector<TraceLine> *trace) const;
  /** All threads that must end have ended or died. */
  bool done(const uint8_t *s) const;
  /** `bad` holds here, or two threads are in their critical sections. */
  bool bad(const uint8_t *s) const;
  /** Two threads are in their critical sections. */
  bool overlap(const uint8_t *s) const;
  /** Done, and if `bad` names memory, everything is written back. */
  bool settled(const uint8_t *s) const;
  /** Registers, and memory if `bad` names it; see outcomes(). */
  std::string outcome(const uint8_t *s) const;
  /** Nothing that happens after this state can matter. */
  bool over(const uint8_t *s) const { return done(s) && !has_daemon_ && !program_.bad.reads_memory; }
  /** Registers, buffers, copies and device as text, for the end of a trace. */
  std::string describe(const uint8_t *s) const;

 private:
  enum Status : uint8_t { kWaiting = 0, kRunning = 1, kFinished = 2, kDead = 3, kStatusMask = 3, kInside = 4 };
  enum LineState : uint8_t { kInvalid = 0, kClean = 1, kDirty = 2 };
  static constexpr uint8_t kStarted = 0x80;  ///< entry whose write-back is on its way
  static constexpr size_t kEntryBytes = 3;   ///< kind, word, value (movdir64b: number of the instruction)

  struct ThreadLayout {
    size_t base, registers, buffer;
    unsigned entries;  ///< room in the buffer
    unsigned host;
  };
  struct Entry {
    Op op;
    bool started;
    uint8_t word, value;
  };

  // machine.cpp: layout, threads and their buffers
  void lay_out();
  unsigned buffer_room(const Thread &thread) const;
  Entry entry(const uint8_t *s, size_t thread, unsigned index) const;
  void remove_entry(uint8_t *s, size_t thread, unsigned index) const;
  bool ordered(const Entry &older, const Entry &younger) const;
  bool buffers_line(const uint8_t *s, size_t thread, unsigned line) const;
  bool can_step(const uint8_t *s, size_t thread) const;
  bool is_local(const uint8_t *s, size_t thread) const;
  void step(uint8_t *s, size_t thread, uint8_t choice, std::vector<TraceLine> *trace) const;
  void issue(uint8_t *s, size_t thread, const Instruction &instruction) const;
  void set_pc(uint8_t *s, size_t thread, size_t pc) const;
  void run_local(uint8_t *s, size_t thread, std::vector<TraceLine> *trace) const;
  bool can_commit(const uint8_t *s, size_t thread, unsigned index) const;
  void commit(uint8_t *s, size_t thread, unsigned index, uint8_t choice, std::vector<TraceLine> *trace) const;
  bool drained(const uint8_t *s) const;
  uint8_t operand(const uint8_t *s, size_t thread, const Operand &operand) const {
    return operand.is_register ? s[threads_[thread].registers + operand.index] : operand.index;
  }
  uint8_t status(const uint8_t *s, size_t thread) const { return s[threads_[thread].base] & kStatusMask; }
  uint8_t &pc(uint8_t *s, size_t thread) const { return s[threads_[thread].base + 1]; }
  uint8_t pc(const uint8_t *s, size_t thread) const { return s[threads_[thread].base + 1]; }
  uint8_t &entries(uint8_t *s, size_t thread) const { return s[threads_[thread].base + 2]; }
  uint8_t entries(const uint8_t *s, size_t thread) const { return s[threads_[thread].base + 2]; }
  const Line &line_of(unsigned line) const { return program_.lines[line]; }

  // cache.cpp: lines, the device, what happens by itself
  size_t copy(unsigned host, unsigned line) const { return copies_[host * program_.lines.size() + line]; }
  size_t flight(unsigned host, unsigned line) const { return flights_[host * program_.lines.size() + line]; }
  size_t pending_fill(unsigned host, unsigned line) const { return fills_[host * program_.lines.size() + line]; }
  size_t slot_bytes(unsigned line) const { return 2 + line_of(line).count; }
  uint8_t units(unsigned line, uint8_t mask) const;
  unsigned in_flight(const uint8_t *s, unsigned host, unsigned line) const;
  bool may_fill(const uint8_t *s, unsigned host, unsigned line) const { return in_flight(s, host, line) == 0; }
  bool readable(const uint8_t *s, unsigned host, unsigned line) const {
    return s[copy(host, line)] != kInvalid || may_fill(s, host, line);
  }
  /** A demand fill if there is no copy. */
  void ensure(uint8_t *s, unsigned host, unsigned line) const;
  /** The copy is about to be written: filled if need be, dirty; a fill under way is merged into it. */
  void own(uint8_t *s, unsigned host, unsigned line) const;
  void drop_fill(uint8_t *s, unsigned host, unsigned line) const;
  void invalidate(uint8_t *s, unsigned host, unsigned line) const;
  /** Whether a write of `mask` reaches the device at once, in this state. */
  bool immediate(const uint8_t *s, unsigned host, unsigned line, uint8_t mask) const;
  void device_write(uint8_t *s, unsigned host, unsigned line, uint8_t mask, const uint8_t *values) const;
  void write_back(uint8_t *s, unsigned host, unsigned line) const;
  void land(uint8_t *s, unsigned host, unsigned line, uint8_t unit) const;
  bool can_dma(const uint8_t *s, unsigned host, const Instruction &instruction) const;
  void dma(uint8_t *s, size_t thread, const Instruction &instruction, uint8_t choice) const;
  void cache_moves(const uint8_t *s, std::vector<Move> &out, bool finished) const;
  void cache_event(uint8_t *s, Move move, std::vector<TraceLine> *trace) const;
  void crash(uint8_t *s, unsigned index) const;
  void find_reductions();

  // trace.cpp
  std::string line_text(unsigned line) const;
  std::string words_text(unsigned line, const uint8_t *values) const;
  std::string host_text(unsigned host) const { return "host " + std::to_string(host); }
  std::string thread_text(size_t thread) const;
  std::string step_effect(const uint8_t *before, const uint8_t *after, size_t thread) const;
  std::string commit_effect(const uint8_t *before, const uint8_t *after, size_t thread, const Entry &entry) const;
  std::string write_back_text(const uint8_t *before, const uint8_t *after, unsigned host, unsigned line) const;
  int64_t value(uint8_t number) const { return program_.values[number]; }

  const Program &program_;
  Setting setting_;
  unsigned hosts_ = 1;
  bool posted_ = false;        ///< write-backs complete before they land
  bool flights_kept_ = false;  ///< states hold write-backs in flight
  bool has_daemon_ = false;
  int snoop_host_ = kNobody, ddio_host_ = kNobody;
  size_t bytes_ = 0, device_ = 0, channels_ = 0, crashed_ = 0, events_ = 0;
  std::vector<ThreadLayout> threads_;
  std::vector<size_t> copies_, flights_, fills_;  ///< by host and line
  std::vector<uint8_t> fill_matters_, evict_matters_;
  std::vector<uint8_t> cares_for_time_;  ///< by thread: its registers are looked at after a crash
};

}  // namespace litmus
