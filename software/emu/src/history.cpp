/**
 * @file history.cpp
 * Histories of a program's own operations (prismem_history.h), and the check at the end of an execution that they are
 * linearizable, object by object.
 *
 * Just-in-time linearization (Lowe, "Testing for linearizability", CCPE 2017): the history is walked in time with all
 * configurations that are possible so far, the object's state and the set of pending operations that have taken effect.
 * When an operation answers, those survive in which it has, or can be made to, with that answer. None left: no order
 * explains it. models/linearize.py does the same for the library, apart from this.
 */
#include <map>
#include <set>

#include "intercept.hpp"
#include "objects.hpp"
#include "trace.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

constexpr size_t kOperationsMax = 4096;       ///< in an execution
constexpr size_t kPendingAtOnceMax = 64;      ///< of one object
constexpr size_t kConfigurationsMax = 20000;  ///< of one object at one time

using Key = std::pair<prismem_object, uint64_t>;

struct Moment {
  uint32_t operation;
  bool ends;
};

/** State of the object, and which of the pending operations have taken effect, by their slots. */
using Configuration = std::pair<ObjectState, uint64_t>;

std::vector<Operation> g_operations;
std::vector<Moment> g_moments;

std::string text_of(const Operation &operation) {
  const auto number = [](int64_t value) {
    return value == PRISMEM_NOTHING ? std::string("nothing") : std::to_string(value);
  };
  return std::string(call_name(operation.call)) + "(" + std::to_string(operation.argument) + ") of host " +
         std::to_string(operation.host) + " at \1, which answered " + number(operation.result);
}

/** Walks the history of one object. */
class Walk {
 public:
  explicit Walk(prismem_object object) {
    configurations_.insert({object_start(object), 0});
    std::fill(std::begin(slot_), std::end(slot_), -1);
  }

  void begins(uint32_t operation) {
    for (size_t slot = 0; slot < kPendingAtOnceMax; ++slot) {
      if (slot_[slot] >= 0) continue;
      slot_[slot] = operation;
      return;
    }
    too_many_ = true;
  }

  /** False: no configuration has this answer. */
  bool ends(uint32_t operation) {
    const auto slot = static_cast<size_t>(std::find(slot_, slot_ + kPendingAtOnceMax, operation) - slot_);
    if (too_many_ || slot == kPendingAtOnceMax) return true;
    const uint64_t bit = 1ull << slot;
    std::set<Configuration> known = configurations_, survivors;
    std::vector<Configuration> todo(known.begin(), known.end());
    while (!todo.empty()) {
      const Configuration now = todo.back();
      todo.pop_back();
      if (now.second & bit) {
        survivors.insert({now.first, now.second & ~bit});
        continue;
      }
      for (size_t other = 0; other < kPendingAtOnceMax; ++other) {
        if (slot_[other] < 0 || (now.second >> other & 1)) continue;
        Configuration next = now;
        if (!object_step(g_operations[static_cast<size_t>(slot_[other])], next.first)) continue;
        next.second |= 1ull << other;
        if (known.insert(next).second) todo.push_back(next);
      }
      too_many_ |= known.size() > kConfigurationsMax;
      if (too_many_) return true;
    }
    slot_[slot] = -1;
    configurations_ = std::move(survivors);
    return !configurations_.empty();
  }

  bool too_many() const { return too_many_; }

 private:
  std::set<Configuration> configurations_;
  int64_t slot_[kPendingAtOnceMax];  ///< the pending operation that has this bit, or -1
  bool too_many_ = false;
};

void raise(const Operation &operation, const std::string &message) {
  Fault fault = fault_here("history", kNever, 0);
  fault.host = operation.host;
  fault.thread = operation.thread;
  fault.pc = operation.pc;
  fault.message = message;
  raise_fault(std::move(fault));
}

/** In the order of the program, other threads may come in at the begin and at the end of an operation. */
void operation_step() {
  self().next_line = kManyLines;
  count_step();
}

void note_moment(uint32_t index, bool ends) {
  const Operation &operation = g_operations[index];
  g_moments.push_back({index, ends});
  trace(ends ? Event::kRespond : Event::kInvoke, g_machine->current->host, kNever, operation.key, pc_of(operation.pc),
        static_cast<uint64_t>(operation.object) << 8 | operation.call,
        static_cast<uint64_t>(ends ? operation.result : operation.argument));
}

}  // namespace

namespace prismem {

void history_reset() {
  g_operations.clear();
  g_moments.clear();
}

void history_check() {
  if (g_operations.empty() || g_machine->state != EMU_RUNNING) return;
  std::map<Key, Walk> walks;
  for (const Moment &moment : g_moments) {
    const Operation &operation = g_operations[moment.operation];
    Walk &walk = walks.try_emplace({operation.object, operation.key}, operation.object).first->second;
    if (!moment.ends) {
      walk.begins(moment.operation);
      continue;
    }
    const bool explained = walk.ends(moment.operation);
    const std::string which = std::string(object_name(operation.object)) + " " + std::to_string(operation.key);
    if (walk.too_many()) {
      raise(operation, "history: too many operations of " + which + " overlap to be told apart; use fewer threads");
      return;
    }
    if (explained) continue;
    raise(operation, "not linearizable: " + which + ": no order of its operations explains " + text_of(operation));
    return;
  }
}

}  // namespace prismem

PRISMEM_EXPORT prismem_operation prismem_begin(enum prismem_object object, uint64_t key, enum prismem_call call,
                                               int64_t argument) {
  if (!emulated()) return 0;
  if (!object_has(object, call)) {
    refuse_call("prismem_begin", std::string("a ") + object_name(object) + " has no " + call_name(call), CALLER);
  }
  if (g_operations.size() >= kOperationsMax) {
    refuse_call("prismem_begin", "more than " + std::to_string(kOperationsMax) + " operations; record fewer", CALLER);
  }
  operation_step();
  const Thread &thread = self();
  const auto index = static_cast<uint32_t>(g_operations.size());
  const int host = static_cast<int>(thread.named_host);
  g_operations.push_back({object, call, key, argument, 0, false, thread.tid, host, pc_id(CALLER)});
  note_moment(index, false);
  return index;
}

PRISMEM_EXPORT void prismem_end(prismem_operation operation, int64_t result) {
  if (!emulated()) return;
  if (operation >= g_operations.size() || g_operations[operation].answered) {
    refuse_call("prismem_end", "the operation has not begun, or has ended already", CALLER);
  }
  operation_step();
  g_operations[operation].answered = true;
  g_operations[operation].result = result;
  note_moment(operation, true);
}
