/**
 * @file latency.cpp
 * Sums are checked for each transaction: every boundary was seen, none before the one that it follows, and the stages add
 * up to the total. The total does not come from the probes: it runs from the cycle after the host port fetched the request,
 * in which it offers the message, to the completion.
 */
#include "latency.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "json.hpp"
#include "prismem_emu_dpi.h"

namespace prismem {

namespace {

constexpr uint64_t kBinsMax = 1u << 16;
const char *const kStageNames[kStages - 1] = {"cxl_request",   "nic_decode", "path_queue",  "serialize",
                                              "flight",        "port_queue", "media",       "media_return",
                                              "rsp_serialize", "rsp_flight", "cxl_response"};
const char *const kPartNames[3] = {"request", "memory", "response"};

}  // namespace

void Histogram::add(uint64_t ns) {
  if (ns >= bins_.size()) {
    if (ns >= kBinsMax) {
      ++beyond_count_;
      beyond_sum_ += ns;
      beyond_min_ = std::min(beyond_min_, ns);
      beyond_max_ = std::max(beyond_max_, ns);
      return;
    }
    bins_.resize(std::bit_ceil(ns + 1), 0);
  }
  ++bins_[ns];
}

uint64_t Histogram::count() const {
  return std::accumulate(bins_.begin(), bins_.end(), beyond_count_);
}

void Histogram::write(Json &json) const {
  const uint64_t all = count(), rank_50 = (all * 50 + 99) / 100, rank_99 = (all * 99 + 99) / 100;  // nearest rank
  uint64_t seen = 0, sum = beyond_sum_, min = kNever, max = beyond_max_, p50 = beyond_max_, p99 = beyond_max_;
  for (uint64_t ns = 0; ns < bins_.size(); ++ns) {
    if (bins_[ns] == 0) continue;
    if (seen == 0) min = ns;
    if (beyond_count_ == 0) max = ns;
    if (seen < rank_50) p50 = ns;
    if (seen < rank_99) p99 = ns;
    sum += ns * bins_[ns];
    seen += bins_[ns];
  }
  if (seen < rank_50) p50 = beyond_max_;
  if (seen < rank_99) p99 = beyond_max_;
  json.open('{').field("min", all == 0 ? uint64_t{0} : std::min(min, beyond_min_));
  json.field("mean", all == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(all));
  json.field("p50", p50).field("p99", p99).field("max", max).close('}');
}

bool Latency::sums_up(const Request &request, uint64_t total) {
  ++sums_checked_;
  const auto &at = request.stamp;
  if (std::is_sorted(at.begin(), at.end()) && at.back() != kNever && at.back() - at.front() == total) return true;
  uint64_t sum = 0;
  std::string wrong;
  for (uint32_t stage = 0; stage + 1 < kStages && wrong.empty(); ++stage) {
    const uint64_t from = request.stamp[stage], to = request.stamp[stage + 1];
    if (from == kNever || to == kNever) {
      wrong = std::string("stage ") + kStageNames[stage] + " has no time stamp";
    } else if (to < from) {
      wrong = std::string("stage ") + kStageNames[stage] + " ends before it starts";
    } else {
      sum += to - from;
    }
  }
  if (wrong.empty() && sum != total)
    wrong = "the stages add up to " + std::to_string(sum) + " ns, not to " + std::to_string(total);
  if (sum_errors_++ == 0) {
    first_error_ = "host " + std::to_string(request.host) + " tag " + std::to_string(request.tag) + " line " +
                   std::to_string(request.line) + ": " + wrong;
  }
  return false;
}

void Latency::add(const Request &request, uint64_t host_ns) {
  const bool probed = std::any_of(request.stamp.begin(), request.stamp.end(), [](uint64_t at) { return at != kNever; });
  if (!probed) return;  // a bench without probes
  const uint64_t total = host_ns - (request.popped_at + 1);
  const bool read = is_read(request.kind);
  if (!sums_up(request, total)) return;
  const Class kind = request.kind == RequestKind::kDmaRead    ? kDmaRead
                     : request.kind == RequestKind::kDmaWrite ? kDmaWrite
                     : read                                   ? kRead
                                                              : kWrite;
  Table &table = tables_[kind];
  table.total.add(total);
  const auto &at = request.stamp;
  table.parts[0].add(at[EMU_STAGE_NIC_RX] - at[EMU_STAGE_ISSUE]);
  table.parts[1].add(at[EMU_STAGE_NIC_RSP] - at[EMU_STAGE_NIC_RX]);
  table.parts[2].add(at[EMU_STAGE_HOST] - at[EMU_STAGE_NIC_RSP]);
  for (uint32_t stage = 0; stage + 1 < kStages; ++stage) table.stages[stage].add(at[stage + 1] - at[stage]);
  if (request.host >= ports_.size()) ports_.resize(request.host + 1);
  if (request.module >= ports_[request.host].size()) ports_[request.host].resize(request.module + 1);
  Port &port = ports_[request.host][request.module];
  ++(read ? port.read_lines : port.write_lines);
  port.first_ns = std::min(port.first_ns, host_ns);
  port.last_ns = std::max(port.last_ns, host_ns);
}

void Latency::reset() {
  *this = Latency();
}

std::string Latency::report() const {
  static const char *const names[kClasses] = {"read", "write", "dma_read", "dma_write"};
  Json json;
  json.open('{');
  for (uint32_t kind = 0; kind < kClasses; ++kind) {
    const Table &table = tables_[kind];
    json.key(names[kind]).open('{').field("count", table.total.count());
    json.key("total_ns");
    table.total.write(json);
    json.key("parts_ns").open('{');
    for (uint32_t i = 0; i < 3; ++i) {
      json.key(kPartNames[i]);
      table.parts[i].write(json);
    }
    json.close('}').key("stages_ns").open('{');
    for (uint32_t i = 0; i + 1 < kStages; ++i) {
      json.key(kStageNames[i]);
      table.stages[i].write(json);
    }
    json.close('}').close('}');
  }
  json.key("ports").open('[');
  for (size_t host = 0; host < ports_.size(); ++host) {
    for (size_t module = 0; module < ports_[host].size(); ++module) {
      const Port &port = ports_[host][module];
      if (port.first_ns == kNever) continue;
      json.open('{').field("host", uint64_t{host}).field("module", uint64_t{module});
      json.field("read_lines", port.read_lines).field("write_lines", port.write_lines);
      json.field("first_ns", port.first_ns).field("last_ns", port.last_ns).close('}');
    }
  }
  json.close(']').field("sums_checked", sums_checked_).field("sum_errors", sum_errors_);
  json.field("first_sum_error", first_error_).close('}');
  return json.take();
}

}  // namespace prismem
