/**
 * @file ends.cpp
 * What is asked of a state: has the program ended, is everything written back, is it bad.
 */
#include <map>

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

bool Machine::overlap(const uint8_t *s) const {
  unsigned inside = 0;
  for (size_t t = 0; t < threads_.size() && program_.has_critical_section; ++t) {
    inside += (s[threads_[t].base] & kInside) != 0 && status(s, t) != kDead;
  }
  return inside >= 2;
}

bool Machine::settled(const uint8_t *s) const {
  return done(s) && (!program_.bad.reads_memory || drained(s));
}

bool Machine::bad(const uint8_t *s) const {
  if (overlap(s)) return true;
  if (program_.bad.root < 0 || !settled(s)) return false;
  return evaluate(program_.bad, program_.bad.root, [&](const Node &node) {
           return value(node.kind == Node::Kind::kMemory ? s[device_ + node.word]
                                                         : s[threads_[node.thread].registers + node.reg]);
         }) != 0;
}

std::string Machine::outcome(const uint8_t *s) const {
  std::map<std::pair<unsigned, std::string>, int64_t> registers;
  for (size_t t = 0; t < threads_.size(); ++t) {
    const Thread &thread = program_.threads[t];
    for (size_t r = 0; r < thread.registers.size(); ++r)
      registers[{thread.id, thread.registers[r]}] = value(s[threads_[t].registers + r]);
  }
  std::map<std::string, int64_t> memory;
  for (size_t w = 0; w < program_.words.size() && program_.bad.reads_memory; ++w)
    memory[program_.words[w].name] = value(s[device_ + w]);
  std::string text;
  for (const auto &[key, held] : registers)
    text += std::to_string(key.first) + "." + key.second + "=" + std::to_string(held) + " ";
  for (const auto &[name, held] : memory) text += "mem." + name + "=" + std::to_string(held) + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace litmus
