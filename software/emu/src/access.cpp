/**
 * @file access.cpp
 * Loads and stores to the pool. A hook runs before the access itself: it may let others run, but what it returns to must
 * find every line of the access in the view, so each pass over the lines is repeated until nothing came in between.
 *
 * g++ places the write hook of a structure copy before the read hook of its source. The destination is therefore
 * `armed` by the write hook, and the next read hook lets nothing happen that could take the line away.
 */
#include "access.hpp"

#include "trace.hpp"

namespace prismem {

Fast g_fast;

namespace {

void past_the_end(uint64_t offset, uint64_t bytes, uint64_t pc) {
  Fault fault = fault_here("check", offset, pc);
  fault.offset = kNever;
  fault.message = "access of " + std::to_string(bytes) + " bytes at \1 runs past the end of the pool of " +
                  std::to_string(g_machine->cfg.pool_bytes) + " bytes";
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

}  // namespace

void foreign_access(uint64_t address, uint64_t pc) {
  Machine &m = *g_machine;
  const uint64_t owner = (address - g_fast.all_views) / m.view_stride;
  const uint64_t offset = (address - g_fast.all_views) % m.view_stride;
  if (offset >= m.cfg.pool_bytes) past_the_end(offset, 1, pc);
  Fault fault = fault_here("check", offset, pc);
  fault.message = "thread of host " + std::to_string(m.current->host) + " uses a pointer of host " +
                  std::to_string(owner) + " at \1: shared structures hold offsets, never pointers";
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

namespace {

/** The range must not leave the view. */
void check_end(uint64_t offset, uint64_t bytes, uint64_t pc) {
  if (UNLIKELY(bytes > g_fast.view_bytes - offset)) past_the_end(offset, bytes, pc);
}

/** Bring all lines in; true when another thread or a cache event may have run since the first was looked at. */
bool fill_pass(Thread &thread, Host &host, uint64_t first, uint64_t last) {
  bool away = false;
  for (uint64_t line = first; line <= last; ++line) {
    if (!(host.state[line] & kValid)) away |= fill_line(thread, host, line);
  }
  return away;
}

/** The line of an access, for the search over orders; kManyLines if there are more. */
uint64_t line_of_step(uint64_t offset, uint64_t bytes) {
  const uint64_t first = offset >> kLineShift;
  return first == (offset + bytes - 1) >> kLineShift ? first : kManyLines;
}

bool all_valid(const Host &host, uint64_t first, uint64_t last) {
  for (uint64_t line = first; line <= last; ++line) {
    if (!(host.state[line] & kValid)) return false;
  }
  return true;
}

}  // namespace

void slow_load(uint64_t address, uint64_t bytes, uint64_t pc, bool checked) {
  const uint64_t offset = address - g_fast.view;
  if (UNLIKELY(offset >= g_fast.view_bytes)) {
    if (in_any_view(address)) foreign_access(address, pc);
    return;
  }
  if (UNLIKELY(bytes == 0)) return;
  check_end(offset, bytes, pc);
  Machine &m = *g_machine;
  Thread &thread = *m.current;
  Host &host = m.hosts[thread.host];
  ++g_fast.loads;
  thread.next_line = line_of_step(offset, bytes);
  const bool armed = g_fast.store_armed != 0;
  if (UNLIKELY(armed)) {
    const uint64_t line = g_fast.last_offset >> kLineShift;
    host.pins.push_back({line, line + g_fast.store_armed - 1, thread.tid});
    g_fast.store_armed = 0;
    --g_fast.budget;  // what is due happens at the next hook
  } else {
    count_step();
  }
  g_fast.last_offset = offset;
  g_fast.last_pc = pc;
  const uint64_t first = offset >> kLineShift;
  const uint64_t last = (offset + bytes - 1) >> kLineShift;
  do {
    fill_pass(thread, host, first, last);
  } while (!all_valid(host, first, last));
  if (checked) trace(Event::kLoad, host.id, offset, bytes, pc);
  if (UNLIKELY(armed)) std::erase_if(host.pins, [&](const Pin &pin) { return pin.tid == thread.tid; });
  if (checked && g_fast.newest != nullptr) {
    for (uint64_t line = first; line <= last; ++line) {
      if (host.state[line] & kCheck) {
        check_load(thread, host, offset, bytes, pc);
        break;
      }
    }
  }
}

void slow_store(uint64_t address, uint64_t bytes, uint64_t pc) {
  const uint64_t offset = address - g_fast.view;
  if (UNLIKELY(offset >= g_fast.view_bytes)) {
    if (in_any_view(address)) foreign_access(address, pc);
    return;
  }
  if (UNLIKELY(bytes == 0)) return;
  check_end(offset, bytes, pc);
  crash_point();
  Machine &m = *g_machine;
  Thread &thread = *m.current;
  Host &host = m.hosts[thread.host];
  ++g_fast.stores;
  g_fast.last_offset = offset;
  g_fast.last_pc = pc;
  g_fast.store_armed = 0;
  thread.next_line = line_of_step(offset, bytes);
  count_step();
  const uint64_t first = offset >> kLineShift;
  const uint64_t last = (offset + bytes - 1) >> kLineShift;
  do {
    if (g_fast.store_gate) {
      drain_for_store(thread);
      for (uint64_t line = first; line <= last && thread.streams != 0; ++line) commit_streams(thread, line);
    }
    for (uint64_t line = first; line <= last && m.quirks != 0; ++line) drop_fills(host, line);
    fill_pass(thread, host, first, last);
    for (uint64_t line = first; line <= last; ++line) {
      if (host.dirty[line] == 0 && (host.state[line] & kValid)) first_store(host, line);
    }
  } while (!all_valid(host, first, last));
  for (uint64_t line = first; line <= last; ++line) {
    const uint64_t begin = line == first ? offset & (kLineBytes - 1) : 0;
    const uint64_t end = line == last ? ((offset + bytes - 1) & (kLineBytes - 1)) + 1 : kLineBytes;
    const uint64_t ones = end - begin == kLineBytes ? ~0ull : ((1ull << (end - begin)) - 1) << begin;
    host.dirty[line] |= ones;
  }
  trace(Event::kStore, host.id, offset, bytes, pc);
  if (g_fast.newest != nullptr) shadow_store(thread, host, offset, bytes, pc);
  g_fast.store_armed = static_cast<uint32_t>(last - first + 1);
}

}  // namespace prismem
