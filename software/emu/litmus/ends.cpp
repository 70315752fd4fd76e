/**
 * @file ends.cpp
 * What is asked of a state: has the program ended, is everything written back, is it bad.
 */
#include "machine.hpp"

namespace litmus {

bool Machine::done(const uint8_t *s) const {
  for (size_t t = 0; t < threads_.size(); ++t) {
    if (!program_.threads[t].daemon && status(s, t) != kFinished && status(s, t) != kDead) return false;
  }
  return true;
}

bool Machine::drained(const uint8_t *s) const {
  for (size_t t = 0; t < threads_.size(); ++t) {
    if (entries(s, t) != 0) return false;
  }
  for (unsigned host = 0; host < hosts_; ++host) {
    for (unsigned line = 0; line < program_.lines.size(); ++line) {
      if (s[copy(host, line)] == kDirty || in_flight(s, host, line) != 0) return false;
    }
  }
  return true;
}

bool Machine::bad(const uint8_t *s) const {
  unsigned inside = 0;
  for (size_t t = 0; t < threads_.size() && program_.has_critical_section; ++t) {
    inside += (s[threads_[t].base] & kInside) != 0 && status(s, t) != kDead;
  }
  if (inside >= 2) return true;
  if (program_.bad.root < 0 || !done(s) || (program_.bad.reads_memory && !drained(s))) return false;
  return evaluate(program_.bad, program_.bad.root, [&](const Node &node) {
           return value(node.kind == Node::Kind::kMemory ? s[device_ + node.word]
                                                         : s[threads_[node.thread].registers + node.reg]);
         }) != 0;
}

}  // namespace litmus
