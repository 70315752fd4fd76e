/**
 * @file latency.hpp
 * Latency of each transaction, stage by stage, from the probes of the hardware.
 */
#pragma once

#include <string>
#include <vector>

#include "types.hpp"

namespace prismem {

class Json;

/** Exact counts of whole nanoseconds up to a bound; of what is beyond, count, sum, least and most. */
class Histogram {
 public:
  void add(uint64_t ns);
  uint64_t count() const;
  void write(Json &json) const;

 private:
  std::vector<uint32_t> bins_;
  uint64_t beyond_count_ = 0, beyond_sum_ = 0, beyond_min_ = kNever, beyond_max_ = 0;
};

class Latency {
 public:
  /** A transaction has come back to the host port at `host_ns`. */
  void add(const Request &request, uint64_t host_ns);
  void reset();
  std::string report() const;

 private:
  enum Class { kRead, kWrite, kDmaRead, kDmaWrite, kClasses };
  struct Table {
    Histogram total, parts[3], stages[kStages - 1];
  };
  struct Port {
    uint64_t read_lines = 0, write_lines = 0, first_ns = kNever, last_ns = 0;
  };
  bool sums_up(const Request &request, uint64_t total);

  Table tables_[kClasses];
  std::vector<std::vector<Port>> ports_;  ///< by host and module
  uint64_t sums_checked_ = 0, sum_errors_ = 0;
  std::string first_error_;
};

}  // namespace prismem
