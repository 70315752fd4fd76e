/**
 * @file port_timed.cpp
 * Drives a machine of the RTL port in the place of the bench: fetches requests, walks them through the stations of the
 * model, and completes them. Stations are visited in order of time, so that a request never waits for one that comes
 * later; a read takes its data when its access starts, a write is visible at the end of its.
 */
#include <array>
#include <bit>
#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include "port_rtl.hpp"
#include "prismem_emu_dpi.h"
#include "prismem_emu_timed.h"
#include "timed_media.hpp"

namespace prismem {

namespace {

constexpr uint64_t kPsPerNs = 1000;
constexpr uint64_t kRingNs = 1u << 11;  ///< steps further ahead wait in a map

/** A link: one line after the other, each for what it occupies. */
struct Link {
  uint64_t free_ps = 0;
  /** Time at which a line that arrives at `at_ns` starts. */
  uint64_t take(uint64_t at_ns, uint64_t occupied_ps) {
    const uint64_t start_ps = std::max(free_ps, at_ns * kPsPerNs);
    free_ps = start_ps + occupied_ps;
    return (start_ps + kPsPerNs - 1) / kPsPerNs;
  }
};

enum class Step : uint8_t { kMedia, kWritten, kBack, kHost };

/** Requests in the order of the times of their next steps: a ring of lists with a bit for each nanosecond that has one, and
 *  a map beyond. */
class Calendar {
 public:
  /** The request's next step is due at `at_ns`. */
  void add(uint64_t at_ns, Request *request, Step step) {
    request->step = static_cast<uint8_t>(step);
    request->later = nullptr;
    if (at_ns >= now_ns_ + kRingNs) {
      far_[at_ns].add(request);
      return;
    }
    ring_[at_ns % kRingNs].add(request);
    bits_[at_ns % kRingNs / 64] |= 1ull << (at_ns % 64);
  }

  /** Time of the first step at or after now; kNever without one. */
  uint64_t next() const {
    const uint64_t far_ns = far_.empty() ? kNever : far_.begin()->first;
    for (uint64_t i = 0; i <= bits_.size(); ++i) {
      const uint64_t word = (now_ns_ / 64 + i) % bits_.size();
      uint64_t bits = bits_[word];
      if (i == 0) bits &= ~0ull << (now_ns_ % 64);
      if (i == bits_.size()) bits &= ~(~0ull << (now_ns_ % 64));
      if (bits == 0) continue;
      const uint64_t at_ns = (now_ns_ / 64 + i) * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      return std::min(at_ns, far_ns);
    }
    return far_ns;
  }

  /** Requests with a step at `at_ns`, which is now from here on, linked by `later`; those that were added while it was far
   *  ahead come last. */
  Request *take(uint64_t at_ns) {
    now_ns_ = at_ns;
    List due = std::exchange(ring_[at_ns % kRingNs], {});
    bits_[at_ns % kRingNs / 64] &= ~(1ull << (at_ns % 64));
    if (!far_.empty() && far_.begin()->first == at_ns) {
      due.add(far_.begin()->second.first);
      far_.erase(far_.begin());
    }
    return due.first;
  }

 private:
  struct List {
    Request *first = nullptr, *last = nullptr;
    void add(Request *request) {
      (first == nullptr ? first : last->later) = request;
      last = request;
    }
  };

  uint64_t now_ns_ = 0;
  std::array<List, kRingNs> ring_{};
  std::array<uint64_t, kRingNs / 64> bits_{};
  std::map<uint64_t, List> far_;
};

/** Requests that wait at a port of a module, linked by `behind`; the first one is in the calendar. */
struct Waiting {
  Request *first = nullptr, *last = nullptr;
};

struct Module {
  explicit Module(const emu_timed &model) : tags(model), hbm(model.hbm), ddr(model.ddr) {}
  TimedTags tags;
  TimedDram hbm, ddr;
};

class TimedRack {
 public:
  TimedRack(RtlPort *port, const emu_timed &model)
      : port_(*port), model_(model), decoder_(model.decoder_bytes), granule_(model.granularity_b), ways_(model.ways) {
    const size_t hosts = g_machine->hosts.size(), paths = hosts * model.modules;
    cxl_out_.resize(hosts);
    cxl_back_.resize(hosts);
    path_out_.resize(paths);
    path_back_.resize(paths);
    ports_.resize(paths);
    moved_.assign(hosts * 2, 0);
    for (uint64_t i = 0; i < model.modules; ++i) modules_.emplace_back(model);
  }

  int run() {
    uint64_t now = 0;
    for (;;) {
      const int state = port_.tick(now);
      if (state != EMU_RUNNING) break;
      fetch(now);
      for (Request *request = calendar_.take(now), *later; request != nullptr; request = later) {
        later = request->later;
        visit(request, now);
      }
      const uint64_t next = std::min(std::max(calendar_.next(), now), port_.own_wake(now));
      if (next == kNever) continue;  // the next tick finds that nobody can act
      now = std::max(next, now + 1);
    }
    emu_counters_begin();
    for (size_t i = 0; i < moved_.size(); ++i) {
      emu_counter("port_lines", static_cast<int>(i / 2), static_cast<int>(i % 2), moved_[i]);
    }
    return g_machine->state;
  }

 private:
  void fetch(uint64_t now) {
    uint32_t tag, data[16], be[2];
    uint64_t hpa;
    if (!port_.queued()) return;
    for (size_t host = 0; host < cxl_out_.size(); ++host) {
      for (const int channel : {0, 1}) {
        if (!port_.queued(host, static_cast<size_t>(channel))) continue;
        const auto id = static_cast<int>(host);
        while (port_.pop(id, channel, &tag, &hpa, data, be) != EMU_DPI_NONE)
          send(port_.by_tag(id, static_cast<int>(tag)), now);
      }
    }
  }

  Link &path(std::vector<Link> &links, const Request &request, bool back) {
    if (model_.shared_path != 0) return links[back ? request.host : request.module];
    return links[request.host * model_.modules + request.module];
  }

  /** Module of a request and its line there. */
  void locate(Request &request) const {
    const uint64_t byte = request.line << kLineShift, within = decoder_.rest(byte), granule = granule_.quotient(within);
    request.module = static_cast<uint32_t>(decoder_.quotient(byte) * model_.ways + ways_.rest(granule));
    request.place = (ways_.quotient(granule) * model_.granularity_b + granule_.rest(within)) >> kLineShift;
  }

  /** From the host port to the media of its module. */
  void send(Request *request, uint64_t now) {
    const size_t kind = is_read(request->kind) ? 0 : 1;
    locate(*request);
    auto &at = request->stamp;
    at[EMU_STAGE_ISSUE] = now + 1;
    const uint64_t sent = cxl_out_[request->host].take(now + 1, model_.cxl_out_ps[kind]);
    at[EMU_STAGE_NIC_RX] = sent + model_.cxl_request_ns[kind];
    at[EMU_STAGE_NIC_TAG] = at[EMU_STAGE_NIC_RX] + model_.decode_ns[kind];
    at[EMU_STAGE_PATH_TX] = path(path_out_, *request, false).take(at[EMU_STAGE_NIC_TAG], model_.path_out_ps[kind]);
    at[EMU_STAGE_FLIGHT] = at[EMU_STAGE_PATH_TX] + model_.serialize_ns[kind];
    at[EMU_STAGE_MOD_RX] = at[EMU_STAGE_FLIGHT] + model_.flight_ns[kind];
    at[EMU_STAGE_MEDIA] = at[EMU_STAGE_MOD_RX] + model_.port_ns[kind];
    calendar_.add(at[EMU_STAGE_MEDIA], request, Step::kMedia);
  }

  /** HBM on a hit; DDR5, and the fill of HBM, on a miss; both for a write, which is visible before either has it. */
  uint64_t access(const Request &request, uint64_t now) {
    Module &module = modules_[request.module];
    const uint64_t line = request.place;
    const bool write = !is_read(request.kind);
    if (model_.hbm_on == 0) {
      const uint64_t moved = module.ddr.access(line, write, now);
      return write ? now + model_.commit_ns : moved;
    }
    const bool hit = module.tags.touch(line);
    const uint64_t from_hbm = module.hbm.access(line, write || !hit, now);
    if (hit && !write) return from_hbm;
    const uint64_t from_ddr = module.ddr.access(line, write, now);
    return write ? now + model_.commit_ns : from_ddr;
  }

  /** A port of a module starts its requests in their order, when the memories that they need have room: whether this one
   *  starts now. If not, it comes back. */
  bool starts(Request *request, uint64_t now) {
    Waiting &port = ports_[request->host * model_.modules + request->module];
    if (port.first == nullptr) {
      port.first = port.last = request;
      request->behind = nullptr;
    } else if (port.first != request) {
      port.last->behind = request;
      port.last = request;
      request->behind = nullptr;
      return false;
    }
    const uint64_t start_ns = room_ns(*request, now);
    if (start_ns > now) {
      calendar_.add(start_ns, request, Step::kMedia);
      return false;
    }
    port.first = request->behind;
    if (port.first != nullptr) calendar_.add(now + 1, port.first, Step::kMedia);
    return true;
  }

  /** When the memories that a request needs have room. */
  uint64_t room_ns(const Request &request, uint64_t now) const {
    const Module &module = modules_[request.module];
    const uint64_t hbm_ns = model_.hbm_on == 0 ? now : module.hbm.room_ns(request.place, now);
    if (model_.hbm_on != 0 && is_read(request.kind) && module.tags.has(request.place)) return hbm_ns;
    return std::max(hbm_ns, module.ddr.room_ns(request.place, now));
  }

  void visit(Request *request, uint64_t now) {
    const size_t kind = is_read(request->kind) ? 0 : 1;
    auto &at = request->stamp;
    switch (static_cast<Step>(request->step)) {
      case Step::kMedia:
        if (!starts(request, now)) break;
        at[EMU_STAGE_MEDIA] = now;
        if (kind == 0) {
          device_read(request);
          request->bound = true;
        }
        at[EMU_STAGE_MEDIA_DONE] = access(*request, now);
        if (kind == 0) {
          calendar_.add(at[EMU_STAGE_MEDIA_DONE] + model_.return_ns[kind], request, Step::kBack);
        } else {
          calendar_.add(at[EMU_STAGE_MEDIA_DONE], request, Step::kWritten);
        }
        break;
      case Step::kWritten:
        device_write(request, request->data.data(), request->mask);
        request->bound = true;
        calendar_.add(now + model_.return_ns[kind], request, Step::kBack);
        break;
      case Step::kBack:
        at[EMU_STAGE_RSP_TX] = path(path_back_, *request, true).take(now, model_.path_back_ps[kind]);
        at[EMU_STAGE_RSP_FLIGHT] = at[EMU_STAGE_RSP_TX] + model_.serialize_back_ns[kind];
        at[EMU_STAGE_NIC_RSP] = at[EMU_STAGE_RSP_FLIGHT] + model_.flight_back_ns[kind];
        at[EMU_STAGE_HOST] = cxl_back_[request->host].take(at[EMU_STAGE_NIC_RSP], model_.cxl_back_ps[kind]) +
                             model_.cxl_response_ns[kind];
        calendar_.add(at[EMU_STAGE_HOST], request, Step::kHost);
        break;
      case Step::kHost:
        ++moved_[request->host * 2 + kind];
        port_.done(now, static_cast<int>(request->host), static_cast<int>(request->tag), EMU_DPI_OK,
                   reinterpret_cast<const uint32_t *>(request->data.data()));
        break;
    }
  }

  RtlPort &port_;
  const emu_timed model_;
  const Divisor decoder_, granule_, ways_;
  Calendar calendar_;
  std::vector<Link> cxl_out_, cxl_back_, path_out_, path_back_;
  std::vector<Waiting> ports_;
  std::vector<Module> modules_;
  std::vector<int64_t> moved_;
};

bool power_of_2(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

/** What a structure would need that is wrong, or nullptr. */
const char *problem_of(const emu_timed &model) {
  if (model.modules == 0 || model.modules > EMU_TIMED_MODULES_MAX) return "modules: not 1..16";
  if (model.ways == 0 || model.modules % model.ways != 0) return "ways: does not divide modules";
  if (model.granularity_b < kLineBytes || model.decoder_bytes == 0) return "granularity_b or decoder_bytes: too small";
  for (const emu_timed_dram *dram : {&model.hbm, &model.ddr}) {
    if (!power_of_2(dram->channels) || !power_of_2(dram->banks) || !power_of_2(dram->row_lines) ||
        !power_of_2(dram->refresh_groups))
      return "channels, banks, row_lines or refresh_groups: no power of two";
  }
  for (const size_t kind : {0, 1}) {
    if (model.return_ns[kind] == 0 || model.cxl_response_ns[kind] == 0 || model.commit_ns == 0)
      return "return_ns, cxl_response_ns or commit_ns: 0";
  }
  if (model.hbm_sets == 0 || model.hbm_ways == 0 || model.hbm_sector_lines == 0) return "hbm_sets, ways or lines: 0";
  return nullptr;
}

}  // namespace

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_run_timed(const emu_timed *model) {
  if (g_machine == nullptr || g_machine->rtl_port == nullptr || g_machine->started) {
    set_error("emu_run_timed: needs a machine on the RTL port that has not run");
    return -EINVAL;
  }
  if (model == nullptr || model->struct_bytes != sizeof(emu_timed)) {
    set_error("struct_bytes: not %zu", sizeof(emu_timed));
    return -EINVAL;
  }
  if (const char *problem = problem_of(*model)) {
    set_error("emu_run_timed: %s", problem);
    return -EINVAL;
  }
  return TimedRack(g_machine->rtl_port, *model).run();
}
