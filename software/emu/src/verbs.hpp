/**
 * @file verbs.hpp
 * The flushes and fences of a program, by their place in it: how often each was issued, how often it had nothing to do, and
 * whether it is left out, which tells whether anything depends on it.
 */
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "machine.hpp"

namespace prismem {

enum class VerbKind : uint8_t { kFlush, kFlushOpt, kWriteBack, kStoreFence, kFullFence };

class Verbs {
 public:
  /** A thread issues one that has, or has not, something to do. False: it is left out. */
  bool acts(VerbKind kind, uint64_t pc, bool idle);
  /** Leave out that of this place from now on; 0: none. */
  void skip(uint64_t place) { skipped_ = place; }
  std::string report() const;

 private:
  struct Verb {
    VerbKind kind;
    uint32_t pc;
    uint64_t count, idle;
  };
  struct Issuer {
    uint64_t place;
    Verb *verb;
  };

  std::map<uint64_t, Verb> by_place_;  ///< copies of the program in other hosts have the same places
  std::unordered_map<uint64_t, Issuer> by_pc_;
  uint64_t skipped_ = 0;
};

/** Whether the flush or fence that a thread issues here is to act. */
inline bool verb_acts(VerbKind kind, uint64_t pc, bool idle) {
  return LIKELY(g_machine->verbs == nullptr) || g_machine->verbs->acts(kind, pc, idle);
}

}  // namespace prismem
