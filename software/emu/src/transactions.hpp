/**
 * @file transactions.hpp
 * Keeps single transactions with the times of their stages, when a run asks for it.
 */
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <vector>

#include "prismem_emu_transactions.h"
#include "types.hpp"

namespace prismem {

class Transactions {
 public:
  void record(uint64_t max) { max_ = max; }
  /** A request has been completed. */
  void add(const Request &request) {
    if (max_ != 0) keep(request);
  }
  /** The NIC's tag of a write on its way: what the module tells of it later goes by that. */
  void tagged(const Request &request, uint32_t nic_tag) {
    if (max_ != 0 && !is_read(request.kind)) lines_[key(request.host, nic_tag)] = request.line;
  }
  /** The module has applied a write whose completion went out before. */
  void visible(uint64_t now_ns, uint32_t host, uint32_t nic_tag);
  const std::vector<emu_transaction> &kept() const { return kept_; }
  uint64_t left_out() const { return left_out_; }

 private:
  static uint64_t key(uint32_t host, uint64_t low) { return (uint64_t{host} << 48) | low; }
  void keep(const Request &request);

  uint64_t max_ = 0, left_out_ = 0;
  std::vector<emu_transaction> kept_;
  std::unordered_map<uint64_t, uint64_t> lines_;                ///< by host and tag of the NIC
  std::unordered_map<uint64_t, std::deque<std::size_t>> open_;  ///< by host and line: completed, not yet visible
  std::unordered_map<uint64_t, std::deque<uint64_t>> early_;    ///< visible before the completion was there
};

}  // namespace prismem
