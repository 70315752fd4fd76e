/**
 * @file objects.hpp
 * Sequential objects that the history of a program is held against: what each call does to the state, and which answer it
 * may then give.
 */
#pragma once

#include <cstdint>
#include <vector>

#define PRISMEM_HOOKED 1  // the functions themselves, not the empty ones of other builds
#include "prismem_history.h"

namespace prismem {

using ObjectState = std::vector<int64_t>;

struct Operation {
  prismem_object object;
  prismem_call call;
  uint64_t key;
  int64_t argument, result;
  bool answered;
  int thread, host;
  uint32_t pc;  ///< of its begin
};

/** Before the first operation. */
ObjectState object_start(prismem_object object);
/** The object has this call. */
bool object_has(prismem_object object, prismem_call call);
/** Do the operation; false if the object does not answer so. One that never answered may have been told anything. */
bool object_step(const Operation &operation, ObjectState &state);
const char *object_name(prismem_object object);
const char *call_name(prismem_call call);

}  // namespace prismem
