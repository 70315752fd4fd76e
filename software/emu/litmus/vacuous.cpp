/**
 * @file vacuous.cpp
 * Could `bad` hold if the memory did whatever it likes? Every load, cas and final word takes any value that the program
 * writes anywhere, and messages never wait; then threads do not depend on each other and each is explored alone. A `bad`
 * that is out of reach even so says nothing about the memory model.
 */
#include <algorithm>
#include <set>

#include "explore.hpp"

namespace litmus {

namespace {

constexpr size_t kLocalStatesMax = 200'000;      ///< of one thread; beyond, a program is not called vacuous
constexpr size_t kCombinationsMax = 20'000'000;  ///< of ends of all threads; the same
constexpr size_t kSumsMax = 16;                  ///< values that loads return; sums join them up to here

using Local = std::vector<uint8_t>;  ///< program counter, then registers

class Chaos {
 public:
  explicit Chaos(const Program &program) : program_(program) {
    for (const Node &node : program.bad.nodes) {
      if (node.kind == Node::Kind::kRegister) asked_.insert({node.thread, node.reg});
    }
    for (const Word &word : program.words) values_.insert(word.init);
    for (const Thread &thread : program.threads) {
      for (const Instruction &instruction : thread.code) collect(instruction);
    }
  }

  std::string run() {
    size_t known = 0;
    while (known != values_.size()) {  // sums that threads may store are values that others may load
      known = values_.size();
      for (const Thread &thread : program_.threads) {
        std::set<Local> seen;
        if (!explore(thread, seen)) return "";
      }
    }
    std::vector<std::vector<Local>> ends;
    size_t inside = 0;
    for (const Thread &thread : program_.threads) {
      std::set<Local> seen;
      if (!explore(thread, seen)) return "";
      const auto enters = [&](const Local &at) {
        return at[0] < thread.code.size() && thread.code[at[0]].op == Op::kCsEnter;
      };
      inside += std::any_of(seen.begin(), seen.end(), enters);
      ends.push_back(ends_of(thread, seen));
      if (ends.back().empty() && !thread.daemon) return "thread " + std::to_string(thread.id) + " never ends";
    }
    if (inside >= 2 || combine(ends)) return "";
    if (program_.bad.root < 0) return "fewer than two threads ever enter the critical section";
    return "'bad' cannot hold whatever values the loads return";
  }

 private:
  void collect(const Instruction &instruction) {
    values_.insert(instruction.values.begin(), instruction.values.end());
    for (const Operand &operand : {instruction.a, instruction.b}) {
      if (!operand.is_register) values_.insert(operand.index);
    }
  }

  /** Every state of the thread alone; false when there are too many to say. */
  bool explore(const Thread &thread, std::set<Local> &seen) {
    std::vector<Local> work{Local(thread.registers.size() + 1, 0)};
    seen.insert(work[0]);
    while (!work.empty()) {
      const Local here = work.back();
      work.pop_back();
      if (here[0] == thread.code.size()) continue;
      const Instruction &instruction = thread.code[here[0]];
      Local next = here;
      ++next[0];
      const auto add = [&] {
        if (seen.insert(next).second) work.push_back(next);
      };
      const auto set = [&](uint8_t number) {
        next[1u + instruction.reg] = number;
        add();
      };
      const auto value = [&](const Operand &o) {
        return program_.values[o.is_register ? here[1u + o.index] : o.index];
      };
      switch (instruction.op) {
        case Op::kLoad:
        case Op::kUncachedLoad:
        case Op::kDmaLoad:
          for (const uint8_t number : values_) set(number);
          break;
        case Op::kCas:
          for (const int64_t success : {0, 1}) set(program_.values.id(success));
          break;
        case Op::kMov:
          set(instruction.a.index);
          break;
        case Op::kAdd: {
          if (program_.values.size() == kValuesMax) return false;
          const uint8_t sum = program_.values.id(value(instruction.a) + value(instruction.b));
          if (values_.size() < kSumsMax) values_.insert(sum);
          set(sum);
          break;
        }
        case Op::kStop:
          next[0] = static_cast<uint8_t>(thread.code.size());
          add();
          break;
        default:
          if (is_branch(instruction.op)) add();
          if (is_branch(instruction.op) || instruction.op == Op::kJmp) next[0] = instruction.target;
          add();
          break;
      }
      if (seen.size() > kLocalStatesMax) return false;
    }
    return true;
  }

  /** Registers at the end; a daemon and a thread that may die can be asked anywhere. */
  std::vector<Local> ends_of(const Thread &thread, const std::set<Local> &seen) const {
    std::set<Local> ends;
    const bool anywhere = thread.daemon || !program_.crashes.empty();
    const size_t number = static_cast<size_t>(&thread - program_.threads.data());
    for (const Local &local : seen) {
      if (!anywhere && local[0] != thread.code.size()) continue;
      Local end(local.begin() + 1, local.end());
      for (size_t r = 0; r < end.size(); ++r) {
        if (asked_.count({number, r}) == 0) end[r] = 0;
      }
      ends.insert(end);
    }
    return {ends.begin(), ends.end()};
  }

  /** Whether some choice of ends and of final words makes `bad` true, or there are too many to try. */
  bool combine(const std::vector<std::vector<Local>> &ends) const {
    if (program_.bad.root < 0) return false;
    std::vector<size_t> sizes;
    for (const auto &of_thread : ends) sizes.push_back(std::max<size_t>(of_thread.size(), 1));
    std::vector<uint8_t> written(values_.begin(), values_.end());
    if (program_.bad.reads_memory) sizes.resize(ends.size() + program_.words.size(), written.size());
    size_t combinations = 1;
    for (const size_t size : sizes) {
      combinations *= size;
      if (combinations > kCombinationsMax) return true;
    }
    std::vector<size_t> pick(sizes.size(), 0);
    for (size_t tried = 0; tried < combinations; ++tried) {
      const int64_t holds = evaluate(program_.bad, program_.bad.root, [&](const Node &node) -> int64_t {
        if (node.kind == Node::Kind::kMemory) return program_.values[written[pick[ends.size() + node.word]]];
        if (ends[node.thread].empty()) return 0;
        return program_.values[ends[node.thread][pick[node.thread]][node.reg]];
      });
      if (holds != 0) return true;
      for (size_t i = 0; i < pick.size() && ++pick[i] == sizes[i]; ++i) pick[i] = 0;
    }
    return false;
  }

  const Program program_;  // a copy: what is added here is no value of the program
  std::set<uint8_t> values_;
  std::set<std::pair<size_t, size_t>> asked_;  ///< threads and registers in `bad`
};

}  // namespace

std::string vacuous(const Program &program) {
  return Chaos(program).run();
}

}  // namespace litmus
