/**
 * @file audit.cpp
 * The last look at the memory when an execution has ended, both ways: as it is when all caches are dropped, as by a loss of
 * power of all hosts, and after everything has been written back. What was never flushed shows in the first, what was
 * written wrongly and never read in both.
 */
#include <cerrno>

#include "access.hpp"

namespace prismem {

namespace {

struct Dirty {
  const Host *host = nullptr;
  uint64_t line = kNever;
  uint32_t pc = 0;
};

/** A line that the device does not have, the first one, and who has stored to it. */
Dirty first_dirty() {
  const Machine &m = *g_machine;
  Dirty found;
  for (const Host &host : m.hosts) {
    for (const uint64_t line : host.lines) {
      if (host.dirty[line] == 0 || line >= found.line) continue;
      found = {&host, line, 0};
      for (uint32_t i = 0; i < kWordsPerLine && detecting(); ++i) {
        if ((host.dirty[line] >> (i * 8)) & 0xff) found.pc = host.meta[line * kWordsPerLine + i].pc;
      }
    }
  }
  return found;
}

}  // namespace

void audit(bool dropped) {
  Machine &m = *g_machine;
  if (m.audit == nullptr || m.state != EMU_RUNNING) return;
  const Fast fast = g_fast;
  g_fast.view_bytes = g_fast.all_views_bytes = 0;  // it looks at the device, and no access of it is one of a host
  const int result = m.audit(m.audit_arg, m.device.data, m.cfg.pool_bytes, dropped ? 1 : 0);
  g_fast = fast;
  if (result == 0) return;
  Fault fault = fault_here("audit", kNever, reinterpret_cast<uint64_t>(m.audit_place));
  fault.message = "the audit at the end returned " + std::to_string(result);
  const Dirty dirty = dropped ? first_dirty() : Dirty{};
  if (dirty.host != nullptr) {
    fault.offset = dirty.line << kLineShift;
    fault.other_host = static_cast<int>(dirty.host->id);
    fault.other_pc = dirty.pc;
    fault.message += " with all caches dropped; only the cache of host " + std::to_string(dirty.host->id) +
                     " had line " + std::to_string(dirty.line) + ", stored to at \2";
  } else {
    fault.message += dropped ? " with all caches dropped" : " after everything was written back";
  }
  raise_fault(std::move(fault));
}

}  // namespace prismem

PRISMEM_EXPORT int emu_audit_set(emu_audit_fn fn, void *arg) {
  using namespace prismem;
  if (g_machine == nullptr || g_machine->rtl || g_machine->started) {
    set_error("emu_audit_set: there is no machine on the functional port, or its run has started");
    return -EINVAL;
  }
  g_machine->audit = fn;
  g_machine->audit_arg = arg;
  g_machine->audit_place = nullptr;
  return 0;
}
