/**
 * @file port.hpp
 * The seam between the hosts' caches and what serves a line: submit a request, be told when it is complete.
 */
#pragma once

#include "machine.hpp"

namespace prismem {

class MemoryPort {
 public:
  virtual ~MemoryPort() = default;
  /** Take the request. True: served at once, its data is valid; false: complete_request comes later. */
  virtual bool submit(Request *request) = 0;
  /** A flush may be reported complete although the device does not have the line yet. */
  virtual bool posted() const { return false; }
  /** Finish own writes of this line now, if this port can; false: the thread has to wait. */
  virtual bool force(uint32_t host, uint64_t line) = 0;
  /** The host has died: its writes on their way never arrive. */
  virtual void drop_writes(uint32_t) {}
  /** Posted writes that have not reached the device; `land` lets one of them. */
  virtual size_t waiting() const { return 0; }
  virtual const Request *waiting_at(size_t) const { return nullptr; }
  virtual void land(size_t) {}
  /** Drop everything that is on its way: the machine starts again. */
  virtual void forget() {}
  /** Nothing on its way. */
  virtual bool idle() const = 0;
};

std::unique_ptr<MemoryPort> make_functional_port();
std::unique_ptr<RtlPort> make_rtl_port();

/** The device's side of a request. `data` is what the wire carried, `mask` the bytes enabled. */
void device_write(Request *request, const uint8_t *data, uint64_t mask);
void device_read(Request *request);

}  // namespace prismem
