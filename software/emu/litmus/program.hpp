/**
 * @file program.hpp
 * A litmus program as the explorer runs it: instructions over words of shared lines, threads on hosts, switches of the
 * model, what is bad. The text format is docs/litmus.md; parse.cpp reads it.
 */
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace litmus {

constexpr unsigned kThreadsMax = 8;
constexpr unsigned kHostsMax = 8;
constexpr unsigned kLinesMax = 16;
constexpr unsigned kWordsPerLine = 8;
constexpr unsigned kRegistersMax = 16;      ///< of a thread
constexpr unsigned kInstructionsMax = 250;  ///< of a thread; a program counter is a byte
constexpr unsigned kChannelsMax = 16;
constexpr unsigned kCrashesMax = 8;
constexpr unsigned kValuesMax = 256;  ///< different values in all runs of a program; states hold their numbers

/** What is wrong with a file, a command line or a program: where, what, and what to do about it. */
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/** Every value of a program has a number below kValuesMax, in order of appearance; 0 is number 0. */
class Values {
 public:
  Values() { id(0); }
  /** @throws InputError beyond kValuesMax values: a loop that counts for ever. */
  uint8_t id(int64_t value);
  int64_t operator[](uint8_t number) const { return values_[number]; }
  size_t size() const { return values_.size(); }

 private:
  std::vector<int64_t> values_;
  std::unordered_map<int64_t, uint8_t> numbers_;
};

enum class Op : uint8_t {
  kStore,
  kNonTemporal,
  kMovdir64b,
  kUncachedStore,
  kClflush,
  kClflushopt,
  kClwb,
  kSfence,
  kMfence,
  kLfence,
  kLoad,
  kUncachedLoad,
  kDmaStore,
  kDmaLoad,
  kCas,
  kMov,
  kAdd,
  kBeq,
  kBne,
  kBlt,
  kBle,
  kJmp,
  kCsEnter,
  kCsLeave,
  kSend,
  kRecv,
  kStop
};

/** Kind of entry that an operation leaves in the store buffer: those up to kSfence do. */
inline bool is_issue(Op op) {
  return op <= Op::kSfence;
}
inline bool is_flush(Op op) {
  return op == Op::kClflush || op == Op::kClflushopt || op == Op::kClwb;
}
inline bool is_branch(Op op) {
  return op >= Op::kBeq && op <= Op::kBle;
}

/** A register of the thread, or a number of Values. */
struct Operand {
  bool is_register = false;
  uint8_t index = 0;
};

struct Instruction {
  Op op = Op::kStop;
  uint8_t word = 0;     ///< number of the word accessed, in Program::words
  uint8_t line = 0;     ///< its line
  uint8_t reg = 0;      ///< register written
  uint8_t channel = 0;  ///< of send and recv
  uint8_t target = 0;   ///< of branches: number of the instruction
  Operand a, b;
  std::vector<uint8_t> values;  ///< movdir64b: numbers of the values of words 0, 1, ... of the line
  unsigned source_line = 0;
  std::string text;  ///< as written
};

struct Thread {
  unsigned id = 0;  ///< as named in the file
  unsigned host = 0;
  bool daemon = false;
  bool after_crash = false;
  std::vector<Instruction> code;
  std::vector<std::string> registers;
};

/** A named 8-byte word. Words of one line follow each other in Program::words. */
struct Word {
  std::string name;
  unsigned line = 0;   ///< as named in the file
  unsigned index = 0;  ///< 0..7 in the line
  uint8_t dense_line = 0;
  uint8_t init = 0;  ///< number of its first value
};

struct Line {
  unsigned number = 0;  ///< as named in the file
  uint8_t first = 0;    ///< of Program::words
  uint8_t count = 0;
};

enum class Completion : uint8_t { kDevice, kPosted };
enum class Clwb : uint8_t { kMay, kKeep, kDrop };

constexpr int kNobody = -1;

struct Options {
  Completion completion = Completion::kDevice;
  unsigned write_unit = 64;
  bool fill_survives_flush = false;
  bool spurious_dirty = false;
  Clwb clwb = Clwb::kMay;
  bool prefetch = true;
  bool evict = true;
  int dma_snoop = kNobody;
  int ddio = kNobody;
  bool crash_in_flight_kept = true;
  bool warm = false;
};

/** Node of `bad`: numbers, registers, final memory, operators; children by index. */
struct Node {
  enum class Kind : uint8_t {
    kNumber,
    kRegister,
    kMemory,
    kNot,
    kNegate,
    kOr,
    kAnd,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAdd,
    kSubtract,
    kModulo
  };
  Kind kind = Kind::kNumber;
  int64_t number = 0;
  uint8_t thread = 0, reg = 0, word = 0;
  int left = -1, right = -1;
};

struct Expression {
  std::vector<Node> nodes;
  int root = -1;  ///< -1: there is none
  bool reads_memory = false;
};

enum class Mode : uint8_t { kNonCoherent, kCoherent };
enum class Verdict : uint8_t { kUnstated, kAllowed, kForbidden };
enum class TrapClaim : uint8_t { kUnstated, kNone, kNonCoherent, kCoherent, kBoth };

struct Program {
  std::string name;
  std::string path;
  std::vector<Word> words;
  std::vector<Line> lines;
  std::vector<Thread> threads;
  std::vector<std::string> channels;
  std::vector<unsigned> crashes;  ///< hosts; each entry is one crash that may happen
  Options options;
  Expression bad;
  bool has_critical_section = false;
  std::array<Verdict, 2> expect{Verdict::kUnstated, Verdict::kUnstated};  ///< by Mode
  TrapClaim expect_trap = TrapClaim::kUnstated;
  mutable Values values;  ///< grows while the program runs

  unsigned hosts() const;
};

/** Read one program. @throws InputError with file, line, column, what and cure. */
Program parse(const std::string &path, const std::string &text);

/** A piece of a line of text, with the column where it starts, from 1. */
struct Token {
  std::string text;
  unsigned column = 0;
};

/** Where an error is reported: turns tokens into InputErrors. */
struct Place {
  std::string path;
  unsigned line = 0;
  [[noreturn]] void fail(unsigned column, const std::string &message) const;
};

/** `bad`: or, and, not, comparisons, + - %, parentheses, over N.register and mem.variable. */
Expression parse_expression(const Place &place, const std::string &line, unsigned first_column, const Program &program);

/** A number in decimal, maybe negative; false if `text` is none. */
bool parse_number(const std::string &text, int64_t &value);

/** Value of `expression`; `leaf(node)` gives registers and memory. Remainders by 0 are 0. */
template <typename Leaf>
int64_t evaluate(const Expression &expression, int index, const Leaf &leaf) {
  const Node &node = expression.nodes[static_cast<size_t>(index)];
  const auto left = [&] { return evaluate(expression, node.left, leaf); };
  const auto right = [&] { return evaluate(expression, node.right, leaf); };
  switch (node.kind) {
    case Node::Kind::kNumber:
      return node.number;
    case Node::Kind::kRegister:
    case Node::Kind::kMemory:
      return leaf(node);
    case Node::Kind::kNot:
      return left() == 0;
    case Node::Kind::kNegate:
      return -left();
    case Node::Kind::kOr:
      return left() != 0 || right() != 0;
    case Node::Kind::kAnd:
      return left() != 0 && right() != 0;
    case Node::Kind::kEqual:
      return left() == right();
    case Node::Kind::kNotEqual:
      return left() != right();
    case Node::Kind::kLess:
      return left() < right();
    case Node::Kind::kLessEqual:
      return left() <= right();
    case Node::Kind::kGreater:
      return left() > right();
    case Node::Kind::kGreaterEqual:
      return left() >= right();
    case Node::Kind::kAdd:
      return left() + right();
    case Node::Kind::kSubtract:
      return left() - right();
    case Node::Kind::kModulo: {
      const int64_t divisor = right();
      return divisor == 0 ? 0 : left() % divisor;
    }
  }
  return 0;
}

}  // namespace litmus
