/**
 * @file timed_media.cpp
 * A bank answers with the earliest column command: its row open, or precharge and activate first, and no refresh in the
 * way. Channels and banks are spread by folding higher address bits onto them, as the hardware does.
 */
#include "timed_media.hpp"

#include <algorithm>
#include <bit>

namespace prismem {

namespace {

constexpr uint64_t kPsPerNs = 1000;

uint32_t log2_of(uint64_t power_of_2) {
  return static_cast<uint32_t>(std::countr_zero(power_of_2));
}

}  // namespace

TimedDram::TimedDram(const emu_timed_dram &config)
    : config_(config),
      channel_bits_(log2_of(config.channels)),
      bank_bits_(log2_of(config.banks)),
      row_shift_(log2_of(config.channels) + log2_of(config.row_lines)),
      group_bits_(log2_of(config.refresh_groups)),
      banks_(config.channels * config.banks),
      bus_free_ps_(config.channels, 0) {}

uint64_t TimedDram::phase_ns(uint64_t bank) const {
  const uint64_t group = bank & (config_.refresh_groups - 1), member = bank >> group_bits_;
  return ((config_.refresh_interval_ns * group) >> group_bits_) + config_.refresh_step_ns * member +
         config_.refresh_offset_ns;
}

uint64_t TimedDram::refresh_before(uint64_t at_ns, uint64_t phase) const {
  if (at_ns < phase) return 0;
  return at_ns - (at_ns - phase) % config_.refresh_interval_ns;
}

uint64_t TimedDram::room_ns(uint64_t line, uint64_t now_ns) const {
  const auto [channel, number, row] = place(line);
  const uint64_t bus_ns = bus_free_ps_[channel] / kPsPerNs,
                 bank_ns = banks_[channel * config_.banks + number].column_ns;
  const uint64_t free_ns = std::max(bus_ns > config_.ahead_ns ? bus_ns - config_.ahead_ns : 0,
                                    bank_ns > config_.horizon_ns ? bank_ns - config_.horizon_ns : 0);
  return std::max(now_ns, free_ns);
}

uint64_t TimedDram::access(uint64_t line, bool write, uint64_t now_ns) {
  const auto [channel, number, row] = place(line);
  Bank &bank = banks_[channel * config_.banks + number];
  const bool used = bank.column_ns != 0;
  const uint64_t next_ns = std::max(now_ns, used ? bank.column_ns + config_.column_ns : 0);
  const uint64_t close_ns = std::max(bank.precharge_ns, bank.column_ns + config_.idle_close_ns);
  const bool open = used && (config_.idle_close_ns == 0 || next_ns <= close_ns);
  const bool refreshes = config_.refresh_interval_ns != 0;
  const uint64_t phase = refreshes ? phase_ns(number) : 0;
  uint64_t column_ns = next_ns;
  if (!open || bank.row != row || (refreshes && refresh_before(next_ns, phase) != bank.refresh_ns)) {
    uint64_t ready_ns = used ? (open ? std::max(now_ns, bank.precharge_ns) : close_ns) + config_.precharge_ns : 0;
    uint64_t command_ns = std::max(now_ns, ready_ns);
    if (refreshes) {
      const uint64_t refresh_ns = refresh_before(command_ns, phase);
      if (refresh_ns != bank.refresh_ns) {
        ready_ns = used ? bank.precharge_ns + config_.precharge_ns : 0;
        command_ns = std::max(command_ns, std::max(refresh_ns, ready_ns) + config_.refresh_ns);
        bank.refresh_ns = refresh_ns;
      }
    }
    column_ns = command_ns + config_.row_to_column_ns;
    bank.precharge_ns = std::max(bank.precharge_ns, command_ns + config_.activate_ns);
  }
  uint64_t &free_ps = bus_free_ps_[channel];
  // The bus is a calendar in the hardware: an access that waits for its bank leaves the time before it to others.
  const uint64_t start_ps = std::max(free_ps, now_ns * kPsPerNs);
  free_ps = start_ps + config_.bus_ps;
  column_ns = std::max(column_ns, start_ps / kPsPerNs);
  bank.row = row;
  bank.column_ns = column_ns;
  bank.precharge_ns =
      std::max(bank.precharge_ns, column_ns + (write ? config_.write_precharge_ns : config_.read_precharge_ns));
  return column_ns + config_.data_ns;
}

TimedTags::TimedTags(const emu_timed &config)
    : ways_(config.hbm_ways),
      lines_(config.hbm_sector_lines),
      set_(config.hbm_sets),
      sector_line_(config.hbm_sector_lines),
      sectors_(config.hbm_sets * config.hbm_ways),
      victim_(config.hbm_sets, 0) {}

bool TimedTags::has(uint64_t line) const {
  const uint64_t sector = sector_line_.quotient(line);
  const Sector *const first = &sectors_[set_.rest(sector) * ways_];
  const uint32_t way = way_of(first, sector);
  return way < ways_ && first[way].valid[sector_line_.rest(line)];
}

bool TimedTags::touch(uint64_t line) {
  const uint64_t sector = sector_line_.quotient(line), set = set_.rest(sector), bit = sector_line_.rest(line);
  Sector *const first = &sectors_[set * ways_];
  uint32_t way = way_of(first, sector);
  const bool there = way < ways_;
  if (!there) {
    way = victim_[set];
    first[way].tag = sector;
    first[way].valid.assign(lines_, false);
  }
  // The pointer steps over the way that has just been used.
  if (way == victim_[set]) victim_[set] = way + 1 == ways_ ? 0 : way + 1;
  const bool hit = first[way].valid[bit];
  first[way].valid[bit] = true;
  return hit;
}

}  // namespace prismem
