/**
 * @file timed_media.hpp
 * Media of a module for the timed port: DRAM banks in first order, and the tags of the HBM cache.
 */
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "prismem_emu_timed.h"

namespace prismem {

/** Division by a number that is a power of two as a rule. */
class Divisor {
 public:
  explicit Divisor(uint64_t by)
      : by_(by), shift_(static_cast<uint32_t>(std::countr_zero(by))), shifts_(std::has_single_bit(by)) {}
  uint64_t quotient(uint64_t of) const { return shifts_ ? of >> shift_ : of / by_; }
  uint64_t rest(uint64_t of) const { return shifts_ ? of & (by_ - 1) : of % by_; }

 private:
  uint64_t by_;
  uint32_t shift_;
  bool shifts_;
};

/** Banks and buses of a group of channels; the rules are those of rtl/pf_mem/mem_dram_pkg.sv. */
class TimedDram {
 public:
  explicit TimedDram(const emu_timed_dram &config);
  /** First time from `now_ns` on at which the access of `line` may start: bus and bank are not booked too far ahead. */
  uint64_t room_ns(uint64_t line, uint64_t now_ns) const;
  /** Book the access of `line` at `now_ns`; returns the time at which the line has been moved. */
  uint64_t access(uint64_t line, bool write, uint64_t now_ns);

 private:
  struct Bank {
    uint64_t row = 0, column_ns = 0, precharge_ns = 0, refresh_ns = 0;  ///< column 0: never used
  };
  /** Where a line lies. */
  struct Place {
    uint64_t channel, number, row;  ///< number of the bank in its channel
  };
  Place place(uint64_t line) const {
    const uint64_t folded = line ^ (line >> channel_bits_) ^ (line >> (2 * channel_bits_ + 3));
    const uint64_t row = line >> row_shift_;
    return {folded & (config_.channels - 1), (row ^ (row >> bank_bits_)) & (config_.banks - 1), row};
  }
  uint64_t phase_ns(uint64_t bank) const;
  uint64_t refresh_before(uint64_t at_ns, uint64_t phase) const;

  emu_timed_dram config_;
  uint32_t channel_bits_, bank_bits_, row_shift_, group_bits_;
  std::vector<Bank> banks_;
  std::vector<uint64_t> bus_free_ps_;
};

/** Set-associative tags of sectors with a bit a line; the victim pointer of a set goes round. */
class TimedTags {
 public:
  explicit TimedTags(const emu_timed &config);
  /** Whether the line is there; `touch`: it is from now on. */
  bool has(uint64_t line) const;
  bool touch(uint64_t line);

 private:
  struct Sector {
    uint64_t tag = UINT64_MAX;
    std::vector<bool> valid;
  };
  /** Way of a sector in its set; as many as there are ways when it is in none. */
  uint32_t way_of(const Sector *first, uint64_t sector) const {
    uint32_t way = 0;
    while (way < ways_ && first[way].tag != sector) ++way;
    return way;
  }

  uint64_t ways_, lines_;
  Divisor set_, sector_line_;
  std::vector<Sector> sectors_;
  std::vector<uint32_t> victim_;
};

}  // namespace prismem
