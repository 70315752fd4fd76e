/**
 * @file lockstep.cpp
 * Parking and waking. While a thread is parked the machine shows no running thread, since what the hardware calls then
 * (faults, its memory) must not be taken for something that the thread does.
 */
#include "lockstep.hpp"

#include <cerrno>
#include <cstring>

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

}  // namespace prismem
