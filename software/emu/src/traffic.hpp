/**
 * @file traffic.hpp
 * Request generators beside the threads: keep a number of line requests in flight, for latency and bandwidth.
 */
#pragma once

#include <vector>

#include "machine.hpp"

namespace prismem {

class Json;

class Traffic {
 public:
  int add(const emu_traffic &config);
  /** Issue what is due. `stopping`: unbounded generators issue nothing more. */
  void issue(uint64_t now, bool stopping);
  void complete(Request &request, uint64_t now);
  /** Poison and errors of this request are answers, not faults. */
  bool tolerates(const Request &request) const { return generators_[request.owner].config.tolerate != 0; }
  /** What became of the requests, as a JSON array with an entry for each generator. */
  void write(Json &json) const;
  /** No bounded generator has work left, and nothing of any is in flight. */
  bool ended() const;
  bool bounded_ended() const;
  /** Earliest time at which one may issue; kNever when all wait for completions or have ended. */
  uint64_t next_due() const;

 private:
  struct Generator {
    emu_traffic config;
    uint64_t issued = 0, completed = 0, poisoned = 0, failed = 0;
    uint64_t refused_ns_max = 0;         ///< longest that a request took which was answered with poison or an error
    uint64_t refused_first_ns = kNever;  ///< time of the first such answer
    std::vector<uint64_t> slots;         ///< times from which each idle slot may issue
  };
  bool finished(const Generator &generator) const;
  void issue_one(Generator &generator, uint32_t id);

  std::vector<Generator> generators_;
  std::vector<bool> written_;  ///< lines whose write has completed
  bool stopping_ = false;
};

}  // namespace prismem
