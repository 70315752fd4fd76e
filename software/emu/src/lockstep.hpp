/**
 * @file lockstep.hpp
 * The functional machine in front of the hardware: each request that the functional port serves is also a transaction of
 * the RTL, and the whole machine stands still until the answer is there. So an execution keeps its order, choice by choice,
 * whatever time the hardware takes, and what the hardware answers is compared with what the plain memory holds.
 */
#pragma once

#include <unordered_map>

#include "machine.hpp"
#include "port_rtl.hpp"

namespace prismem {

class Lockstep {
 public:
  explicit Lockstep(RtlPort &hardware) : hardware_(hardware) {}
  /** From a thread: send the request to the hardware and wait. Reads come back with the hardware's bytes. */
  void transact(Request *request);
  /** A clock of the hardware, after its completions have been delivered: the machine starts, or goes on. */
  void run();
  /** The hardware has completed the request. */
  void answered() { answered_ = true; }
  /** What the hardware's memory holds of a line; at first what the device of the machine holds. */
  std::array<uint8_t, kLineBytes> &cell(uint64_t line);

 private:
  RtlPort &hardware_;
  Fiber parked_;           ///< the thread that waits for the hardware
  bool waits_ = false;     ///< it does
  bool answered_ = false;  ///< and has its answer
  bool runs_ = false;
  std::unordered_map<uint64_t, std::array<uint8_t, kLineBytes>> cells_;
};

}  // namespace prismem
