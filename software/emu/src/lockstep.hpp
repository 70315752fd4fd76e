/**
 * @file lockstep.hpp
 * The functional machine in front of the hardware: each request that the functional port serves is also a transaction of
 * the RTL, and the whole machine stands still until the answer is there. So an execution keeps its order, choice by choice,
 * whatever time the hardware takes, and what the hardware answers is compared with what the plain memory holds.
 */
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "machine.hpp"
#include "port_rtl.hpp"

namespace prismem {

inline constexpr size_t kTransactionsMax = 1u << 16;  ///< that are remembered

class Lockstep {
 public:
  explicit Lockstep(RtlPort &hardware) : hardware_(hardware) {}
  /** From a thread: send the request to the hardware and wait. Reads come back with the hardware's bytes. */
  void transact(Request *request);
  /** A clock of the hardware, after its completions have been delivered: the machine starts, or goes on. */
  void run();
  /** The hardware has completed the request. */
  void answered(const Request &request, uint64_t cycle);
  /** What the hardware's memory holds of a line; at first what the device of the machine holds. */
  std::array<uint8_t, kLineBytes> &cell(uint64_t line);
  /** All transactions, JSON: [{host, kind, line, module, asked_ns, answered_ns}]. */
  std::string report() const;

 private:
  struct Transaction {
    RequestKind kind;
    uint32_t host, module;
    uint64_t line, asked_ns, answered_ns;
  };

  RtlPort &hardware_;
  Fiber parked_;           ///< the thread that waits for the hardware
  bool waits_ = false;     ///< it does
  bool answered_ = false;  ///< and has its answer
  bool runs_ = false;
  std::unordered_map<uint64_t, std::array<uint8_t, kLineBytes>> cells_;
  std::vector<Transaction> transactions_;
};

}  // namespace prismem
