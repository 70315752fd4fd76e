/**
 * @file trace.hpp
 * Everything that happens in one execution, for the story that is told of a fault. Costs nothing when it is off.
 */
#pragma once

#include "machine.hpp"

namespace prismem {

enum class Event : uint8_t {
  kLoad,
  kStore,
  kAtomicLoad,
  kAtomicStore,
  kAtomicUpdate,
  kFlush,
  kFlushOpt,
  kClwb,
  kStream,
  kStoreFence,
  kFullFence,
  kCommit,     ///< a flush or streaming store takes effect; cause: PendingKind
  kFill,       ///< a line comes in for an access
  kPrefetch,   ///< a line comes in that nobody asked for
  kEvict,      ///< a line leaves by itself
  kWriteBack,  ///< 64 bytes reach the device
  kDrop,       ///< the host's copy becomes invalid
  kAcquire,    ///< a load has seen a release: host and thread of it in `cause`
  kDma,        ///< a line moved by DMA; cause 0: into the pool
  kEnd,        ///< a thread has ended
  kInvoke,     ///< an operation of the program's own begins: value its argument, bytes its key, cause object and call
  kRespond     ///< it ends: value its result
};

struct TraceEvent {
  Event event;
  uint16_t thread;
  uint16_t host;
  uint32_t pc;
  uint64_t time_ns, offset, bytes, value, cause;
};

void trace_clear();
void trace_add(Event event, uint32_t host, uint64_t offset, uint64_t bytes, uint64_t pc, uint64_t cause,
               uint64_t value);

/** Keep an event of the running thread or of a cache. */
inline void trace(Event event, uint32_t host, uint64_t offset, uint64_t bytes = 0, uint64_t pc = 0, uint64_t cause = 0,
                  uint64_t value = 0) {
  if (UNLIKELY(g_machine->tracing)) trace_add(event, host, offset, bytes, pc, cause, value);
}

}  // namespace prismem
