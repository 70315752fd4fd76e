/**
 * @file port_rtl.hpp
 * The memory port whose other side is Verilated hardware: requests wait in a queue a host and channel until the host
 * port of the bench fetches them, and completions are acted upon in the next clock.
 */
#pragma once

#include <deque>
#include <unordered_map>

#include "port.hpp"

namespace prismem {

class RtlPort final : public MemoryPort {
 public:
  bool submit(Request* request) override;
  bool force(uint32_t, uint64_t) override { return false; }
  bool progress() override { return false; }
  bool idle() const override { return true; }
};

}  // namespace prismem
