/**
 * @file lockstep.cpp
 * Parking and waking. While a thread is parked the machine shows no running thread, since what the hardware calls then
 * (faults, its memory) must not be taken for something that the thread does.
 */
#include "lockstep.hpp"

#include <cerrno>
#include <cstring>

#include "json.hpp"
#include "modules.hpp"

namespace prismem {

void Lockstep::transact(Request *request) {
  Machine &m = *g_machine;
  if (m.current == nullptr) return;
  Thread *const self = m.current;
  const Fast fast = g_fast;
  const int number = errno;
  const Site site = m.site;
  hardware_.submit(request);
  waits_ = true;
  m.current = nullptr;
  m.main_context.enter(parked_);
  m.current = self;
  m.site = site;
  g_fast = fast;
  errno = number;
}

void Lockstep::answered(const Request &request, uint64_t cycle) {
  answered_ = true;
  if (transactions_.size() >= kTransactionsMax) return;
  transactions_.push_back({request.kind, request.host, request.module, request.line, request.popped_at, cycle});
}

void Lockstep::run() {
  Machine &m = *g_machine;
  if (!runs_) {
    runs_ = true;
    run_functional();
  } else if (waits_ && answered_) {
    waits_ = answered_ = false;
    parked_.enter(m.main_context);
  }
}

std::array<uint8_t, kLineBytes> &Lockstep::cell(uint64_t line) {
  const auto [found, fresh] = cells_.try_emplace(line);
  if (fresh) memcpy(found->second.data(), g_machine->device.data + (line << kLineShift), kLineBytes);
  return found->second;
}

std::string Lockstep::report() const {
  static const char *const kinds[] = {"fill", "prefetch", "write-back", "streaming store", "DMA read", "DMA write"};
  Json json;
  json.open('[');
  for (const Transaction &t : transactions_) {
    json.open('{').field("host", uint64_t{t.host}).field("kind", std::string(kinds[static_cast<size_t>(t.kind)]));
    json.field("line", t.line).field("module", uint64_t{t.module});
    json.field("asked_ns", t.asked_ns).field("answered_ns", t.answered_ns).close('}');
  }
  return json.close(']').take();
}

}  // namespace prismem

PRISMEM_EXPORT const char *emu_lockstep_transactions(void) {
  using prismem::g_machine;
  if (g_machine == nullptr || g_machine->lockstep == nullptr) return "[]";
  g_machine->transactions_text = g_machine->lockstep->report();
  return g_machine->transactions_text.c_str();
}
