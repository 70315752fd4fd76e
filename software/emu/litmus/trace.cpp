/**
 * @file trace.cpp
 * Steps of the machine in words: who, what, and what it did to copies, buffers and the device.
 */
#include "machine.hpp"

namespace litmus {

std::string Machine::line_text(unsigned line) const {
  return "line " + std::to_string(line_of(line).number);
}

std::string Machine::words_text(unsigned line, const uint8_t *values) const {
  std::string text;
  for (unsigned i = 0; i < line_of(line).count; ++i) {
    text += (i == 0 ? "" : " ") + program_.words[line_of(line).first + i].name + "=" + std::to_string(value(values[i]));
  }
  return text;
}

std::string Machine::thread_text(size_t thread) const {
  return "thread " + std::to_string(program_.threads[thread].id) + " (host " + std::to_string(threads_[thread].host) +
         ")";
}

std::string Machine::step_effect(const uint8_t *before, const uint8_t *after, size_t thread) const {
  const Instruction &instruction = program_.threads[thread].code[pc(before, thread)];
  const unsigned host = threads_[thread].host;
  const auto reg = [&] {
    return program_.threads[thread].registers[instruction.reg] + " = " +
           std::to_string(value(after[threads_[thread].registers + instruction.reg]));
  };
  switch (instruction.op) {
    case Op::kLoad: {
      for (unsigned i = 0; i < entries(before, thread); ++i) {
        const Entry here = entry(before, thread, i);
        if (here.op == Op::kStore && here.word == instruction.word) return reg() + ", from the own store buffer";
      }
      const uint8_t had = before[copy(host, instruction.line)];
      const char *source = had == kInvalid ? ", filled from the device" : ", from the cache";
      const uint8_t word = before[device_ + instruction.word];
      const bool other = had != kInvalid && word != after[threads_[thread].registers + instruction.reg];
      return reg() + source + (other ? "; the device holds " + std::to_string(value(word)) : "");
    }
    case Op::kUncachedLoad:
      return reg() + ", from the device";
    case Op::kDmaLoad:
    case Op::kCas:
    case Op::kMov:
    case Op::kAdd:
      return reg();
    case Op::kDmaStore:
      return before[device_ + instruction.word] == after[device_ + instruction.word] ? "" : "the device has it";
    case Op::kMfence:
      return "the buffer is empty";
    case Op::kStop:
      return "ends";
    default:
      if (is_branch(instruction.op)) {
        const std::vector<Instruction> &code = program_.threads[thread].code;
        if (pc(after, thread) != instruction.target) return "";
        return instruction.target < code.size() ? "goes to '" + code[instruction.target].text + "'" : "goes to the end";
      }
      return is_issue(instruction.op) ? "waits in the buffer" : "";
  }
}

std::string Machine::write_back_text(const uint8_t *before, const uint8_t *after, unsigned host, unsigned line) const {
  const uint8_t *device = after + device_ + line_of(line).first;
  if (memcmp(before + device_ + line_of(line).first, device, line_of(line).count) != 0)
    return "the device has " + words_text(line, device);
  if (in_flight(after, host, line) > in_flight(before, host, line)) return "the write-back is on its way";
  if (before[copy(host, line)] == kDirty && after[copy(host, line)] != kDirty) return "written back, nothing changes";
  return "";
}

std::string Machine::commit_effect(const uint8_t *before, const uint8_t *after, size_t thread,
                                   const Entry &here) const {
  static const char *const kNames[] = {"store", "nt", "movdir64b", "uc_st", "clflush", "clflushopt", "clwb", "sfence"};
  const unsigned host = threads_[thread].host, line = program_.words[here.word].dense_line;
  std::string text = std::string(kNames[static_cast<unsigned>(here.op)]) + " takes effect";
  if (here.op == Op::kSfence) return text;
  if (here.op == Op::kStore) {
    return text + ": " + words_text(line, after + copy(host, line) + 1) + ", dirty in the cache";
  }
  const std::string written = write_back_text(before, after, host, line);
  text += " on " + line_text(line) + (written.empty() ? "" : ": " + written);
  const bool dropped = before[copy(host, line)] != kInvalid && after[copy(host, line)] == kInvalid;
  return text + (dropped ? "; the copy is dropped" : "");
}

std::string Machine::describe(const uint8_t *s) const {
  std::string text;
  for (size_t t = 0; t < threads_.size(); ++t) {
    const Thread &thread = program_.threads[t];
    for (size_t r = 0; r < thread.registers.size(); ++r) {
      text += std::to_string(thread.id) + "." + thread.registers[r] + "=" +
              std::to_string(value(s[threads_[t].registers + r])) + " ";
    }
  }
  for (size_t w = 0; w < program_.words.size(); ++w) {
    text += "mem." + program_.words[w].name + "=" + std::to_string(value(s[device_ + w])) + " ";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace litmus
