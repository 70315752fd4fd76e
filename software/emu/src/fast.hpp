/**
 * @file fast.hpp
 * The one object that the hooks touch when an access hits: everything about the running thread's host, flat, in the
 * library's own data segment. All zero while no emulated thread runs, so that every access is then ordinary memory.
 */
#pragma once

#include "types.hpp"

namespace prismem {

struct Fast {
  uint64_t view;  ///< address of pool offset 0 in the running thread's host
  uint64_t view_bytes;
  uint8_t *state;          ///< LineState of each line
  uint64_t *dirty;         ///< dirty byte mask of each line
  int64_t budget;          ///< hooked accesses left until the scheduler or the cache wants to act
  uint64_t loads, stores;  ///< hits not yet added to the host's counters
  uint64_t last_offset;    ///< pool offset and code address of the last access
  uint64_t last_pc;
  uint32_t store_gate;   ///< non-zero: stores take the slow path (flushes pending)
  uint32_t crash_armed;  ///< the host counts shared-memory events: stores take the slow path
  uint32_t store_armed;  ///< lines of a write hook whose store may not have happened yet: no event may come in between
  uint64_t all_views;    ///< the views of all hosts
  uint64_t all_views_bytes;
  WordMeta *meta;         ///< shadow words of the host's copies; nullptr: no detector
  WordMeta *newest;       ///< youngest store of each word by anyone
  uint64_t *sharers;      ///< hosts that hold a copy of each line
  uint64_t others;        ///< all hosts but this
  uint64_t version;       ///< last store version given out
  uint32_t actor, epoch;  ///< of the running thread
};

extern Fast g_fast;

}  // namespace prismem
