/**
 * @file objects.cpp
 * The sequential objects of prismem_history.h: their table is there.
 */
#include "objects.hpp"

namespace prismem {

namespace {

constexpr int64_t kFree = -1;  ///< a lock that nobody holds

bool says(const Operation &operation, int64_t value) {
  return !operation.answered || operation.result == value;
}

/** Refused, as by a full queue or a lock that is held: nothing has happened. */
bool refused(const Operation &operation) {
  return operation.answered && operation.result != 0;
}

bool step_lock(const Operation &operation, ObjectState &state) {
  if (operation.call == PRISMEM_ACQUIRE) {
    if (refused(operation)) return true;
    if (state[0] != kFree) return false;
    state[0] = operation.thread;
    return true;
  }
  if (state[0] != operation.thread) return false;
  state[0] = kFree;
  return true;
}

bool step_sequence(const Operation &operation, ObjectState &state) {
  if (operation.call == PRISMEM_PUT) {
    if (!refused(operation)) state.push_back(operation.argument);
    return true;
  }
  if (state.empty()) return says(operation, PRISMEM_NOTHING);
  const auto next = operation.object == PRISMEM_QUEUE ? state.begin() : state.end() - 1;
  if (!says(operation, *next)) return false;
  state.erase(next);
  return true;
}

bool step_set(const Operation &operation, ObjectState &state) {
  const bool present = !state.empty();
  if (operation.call == PRISMEM_CONTAINS) return says(operation, present);
  const bool inserts = operation.call == PRISMEM_INSERT;
  if (!says(operation, inserts != present)) return false;
  state.assign(inserts ? 1 : 0, 1);
  return true;
}

bool step_map(const Operation &operation, ObjectState &state) {
  if (operation.call == PRISMEM_READ) return says(operation, state.empty() ? PRISMEM_NOTHING : state[0]);
  if (operation.call == PRISMEM_WRITE) {
    state.assign(1, operation.argument);
    return true;
  }
  if (!says(operation, state.empty() ? 0 : 1)) return false;
  state.clear();
  return true;
}

}  // namespace

ObjectState object_start(prismem_object object) {
  if (object == PRISMEM_LOCK) return {kFree};
  return object == PRISMEM_REGISTER || object == PRISMEM_COUNTER ? ObjectState{0} : ObjectState{};
}

bool object_has(prismem_object object, prismem_call call) {
  switch (object) {
    case PRISMEM_REGISTER:
      return call == PRISMEM_READ || call == PRISMEM_WRITE;
    case PRISMEM_COUNTER:
      return call == PRISMEM_READ || call == PRISMEM_ADD;
    case PRISMEM_LOCK:
      return call == PRISMEM_ACQUIRE || call == PRISMEM_RELEASE;
    case PRISMEM_QUEUE:
    case PRISMEM_STACK:
      return call == PRISMEM_PUT || call == PRISMEM_TAKE;
    case PRISMEM_SET:
      return call == PRISMEM_INSERT || call == PRISMEM_REMOVE || call == PRISMEM_CONTAINS;
    case PRISMEM_MAP:
      return call == PRISMEM_READ || call == PRISMEM_WRITE || call == PRISMEM_REMOVE;
  }
  return false;
}

bool object_step(const Operation &operation, ObjectState &state) {
  switch (operation.object) {
    case PRISMEM_REGISTER:
      if (operation.call == PRISMEM_READ) return says(operation, state[0]);
      state[0] = operation.argument;
      return true;
    case PRISMEM_COUNTER:
      if (!says(operation, state[0])) return false;
      if (operation.call == PRISMEM_ADD) state[0] += operation.argument;
      return true;
    case PRISMEM_LOCK:
      return step_lock(operation, state);
    case PRISMEM_QUEUE:
    case PRISMEM_STACK:
      return step_sequence(operation, state);
    case PRISMEM_SET:
      return step_set(operation, state);
    case PRISMEM_MAP:
      return step_map(operation, state);
  }
  return false;
}

const char *object_name(prismem_object object) {
  static const char *const names[] = {"register", "counter", "lock", "queue", "stack", "set", "map"};
  return static_cast<unsigned>(object) < 7 ? names[object] : "unknown object";
}

const char *call_name(prismem_call call) {
  static const char *const names[] = {"read", "write", "add",    "acquire", "release",
                                      "put",  "take",  "insert", "remove",  "contains"};
  return static_cast<unsigned>(call) < 10 ? names[call] : "unknown call";
}

}  // namespace prismem
