/**
 * @file port_rtl.cpp
 * Everything that a clock of the hardware brings: completions, due threads, generators, the end of the run. Only tick()
 * makes decisions; the other calls of the same clock just store or fetch, so their order has no influence.
 */
#include "port_rtl.hpp"

#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "lockstep.hpp"
#include "prismem_emu_dpi.h"
#include "rng.hpp"

namespace prismem {

namespace {

constexpr uint32_t kNicTagsMax = 1u << 16;
/** Where fills survive flushes: a prefetch that has come back waits up to so long before the cache takes it. */
constexpr uint64_t kSurviveNs = 8000;

int channel_of(const Request &request) {
  return is_read(request.kind) ? 0 : 1;
}
uint64_t place_key(int module, uint64_t dpa) {
  return (static_cast<uint64_t>(module) << 48) | (dpa >> kLineShift);
}

Decision decision_of(const Request &request) {
  static const Decision decisions[] = {Decision::kFill,        Decision::kPrefetch,    Decision::kWriteBack,
                                       Decision::kStream,      Decision::kDmaRead,     Decision::kDmaWrite,
                                       Decision::kTrafficRead, Decision::kTrafficWrite};
  return decisions[static_cast<size_t>(request.kind)];
}

uint64_t taken_at(uint64_t now, const Request &request) {
  if (!(g_machine->quirks & EMU_QUIRK_FILL_SURVIVES) || request.kind != RequestKind::kPrefetch) return now;
  uint64_t state = g_machine->cfg.seed ^ (request.line << 8) ^ request.host;
  return now + splitmix64(state) % kSurviveNs;
}

void raise_check(const Request &request, std::string message) {
  Fault fault = fault_here("check", request.line << kLineShift, 0);
  fault.host = static_cast<int>(request.host);
  fault.message = std::move(message);
  raise_fault(std::move(fault));
}

}  // namespace

RtlPort::RtlPort() {
  const uint32_t half = g_machine->cfg.outstanding_max / 2;
  hosts_.resize(g_machine->hosts.size());
  for (HostPort &host : hosts_) {
    host.by_tag.assign(size_t{half} * 2, nullptr);
    for (uint32_t tag = 0; tag < half; ++tag) {
      host.free_tags[0].push_back(tag);
      host.free_tags[1].push_back(half + tag);
    }
  }
}

std::unique_ptr<RtlPort> make_rtl_port() {
  return std::make_unique<RtlPort>();
}

bool RtlPort::submit(Request *request) {
  if (g_machine->finished) {  // the final write-backs take no time
    if (!is_read(request->kind)) device_write(request, request->data.data(), request->mask);
    return true;
  }
  auto &queue = hosts_[request->host].queue[channel_of(*request)];
  if (queue.size() >= kPortQueueMax) {
    raise_check(*request, "host " + std::to_string(request->host) + " has " + std::to_string(queue.size()) +
                              " requests waiting: the hardware takes none");
  }
  if (g_machine->lockstep == nullptr) {
    note(decision_of(*request), request->host, request->line, request->mask,
         is_read(request->kind) ? nullptr : request->data.data());
  }
  queue.push_back(request);
  ++queued_;
  ++on_their_way_;
  next_due_ = 0;
  return false;
}

Request *RtlPort::by_tag(int host, int tag) const {
  if (host < 0 || static_cast<size_t>(host) >= hosts_.size()) return nullptr;
  const auto &tags = hosts_[static_cast<size_t>(host)].by_tag;
  return tag < 0 || static_cast<size_t>(tag) >= tags.size() ? nullptr : tags[static_cast<size_t>(tag)];
}

Request *RtlPort::by_nic_tag(int host, int tag) const {
  if (host < 0 || static_cast<size_t>(host) >= hosts_.size()) return nullptr;
  const auto &tags = hosts_[static_cast<size_t>(host)].by_nic_tag;
  return tag < 0 || static_cast<size_t>(tag) >= tags.size() ? nullptr : tags[static_cast<size_t>(tag)];
}

int RtlPort::pop(int host, int channel, uint32_t *tag, uint64_t *hpa, uint32_t *data, uint32_t *be) {
  if (g_machine->state != EMU_RUNNING || host < 0 || static_cast<size_t>(host) >= hosts_.size() || (channel & ~1) != 0)
    return EMU_DPI_NONE;
  HostPort &port = hosts_[static_cast<size_t>(host)];
  auto &queue = port.queue[channel];
  auto &free_tags = port.free_tags[channel];
  if (queue.empty() || free_tags.empty()) return EMU_DPI_NONE;
  Request *request = queue.front();
  queue.pop_front();
  --queued_;
  request->tag = free_tags.front();
  free_tags.pop_front();
  request->popped_at = last_tick_;
  port.by_tag[request->tag] = request;
  *tag = request->tag;
  *hpa = g_machine->cfg.hpa_base + (request->line << kLineShift);
  if (channel == 0) return EMU_DPI_MEM_RD;
  memcpy(data, request->data.data(), kLineBytes);
  be[0] = static_cast<uint32_t>(request->mask);
  be[1] = static_cast<uint32_t>(request->mask >> 32);
  return request->mask == ~0ull ? EMU_DPI_MEM_WR : EMU_DPI_MEM_WR_PTL;
}

void RtlPort::done(uint64_t now, int host, int tag, int status, const uint32_t *data) {
  const Request *request = by_tag(host, tag);
  if (request == nullptr) {
    Fault fault = fault_here("check", kNever, 0);
    fault.host = host;
    fault.message =
        "completion for tag " + std::to_string(tag) + " of host " + std::to_string(host) + ", which is not in flight";
    raise_fault(std::move(fault));
    return;
  }
  Done done{now,
            taken_at(now, *request),
            static_cast<uint32_t>(host),
            static_cast<uint32_t>(tag),
            static_cast<uint8_t>(status),
            {}};
  if (is_read(request->kind)) memcpy(done.data.data(), data, kLineBytes);
  done_.push_back(done);
}

void RtlPort::report_status(const Request &request, uint8_t status) {
  Machine &m = *g_machine;
  Fault fault = fault_here(status == EMU_DPI_NXM ? "nxm" : "poison", request.line << kLineShift, 0);
  fault.host = static_cast<int>(request.host);
  for (const auto &thread : m.threads) {
    if (thread->state != ThreadState::kMemory || thread->host != request.host || thread->wait_line != request.line)
      continue;
    fault.thread = thread->tid;
    fault.pc = pc_id(thread->last_pc);
  }
  char where[96];
  snprintf(where, sizeof where, "0x%llx (pool+0x%llx)",
           static_cast<unsigned long long>(m.cfg.hpa_base + (request.line << kLineShift)),
           static_cast<unsigned long long>(request.line << kLineShift));
  const std::string what = std::string(is_read(request.kind) ? "read" : "write") + " by host " +
                           std::to_string(request.host) + " of address " + where;
  fault.message =
      status == EMU_DPI_NXM ? "nxm: " + what + ": no decoder claims it" : "poison: " + what + ": the data is poisoned";
  if (fault.pc != 0) fault.message += ", at \1";
  raise_fault(std::move(fault));
}

void RtlPort::finish(const Done &done) {
  HostPort &port = hosts_[done.host];
  Request *request = port.by_tag[done.tag];
  if (request == nullptr) {  // two completions of one tag in one clock
    Fault fault = fault_here("check", kNever, 0);
    fault.message = "two completions for tag " + std::to_string(done.tag) + " of host " + std::to_string(done.host);
    raise_fault(std::move(fault));
    return;
  }
  port.by_tag[done.tag] = nullptr;
  port.free_tags[channel_of(*request)].push_back(done.tag);
  --on_their_way_;
  request->status = done.status;
  if (is_read(request->kind)) {
    request->data = done.data;
    if (!request->bound && detecting() && g_machine->lockstep == nullptr) {
      memcpy(request->meta.data(), g_machine->device.meta + request->line * kWordsPerLine, sizeof request->meta);
    }
  }
  if (g_machine->lockstep == nullptr) {
    note(Decision::kWake, request->host, request->line, done.cycle,
         is_read(request->kind) ? request->data.data() : nullptr);
  }
  const bool is_traffic = request->kind >= RequestKind::kTrafficRead;
  if (done.status == EMU_DPI_OK) {
    latency.add(*request, done.cycle);
    transactions.add(*request);
    const bool tagged = request->stamp[EMU_STAGE_NIC_TAG] != kNever;  // only then the media can tell whose access it is
    const bool early = g_machine->cfg.completion_posted != 0 && !is_read(request->kind);
    if (tagged && !request->bound && !early) {
      raise_check(*request, "line " + std::to_string(request->line) + ": a " +
                                (is_read(request->kind) ? "read" : "write") + " of host " +
                                std::to_string(request->host) + " was completed and never reached the media");
    }
  } else if (!is_traffic || !traffic.tolerates(*request)) {
    report_status(*request, done.status);
  }
  if (g_machine->lockstep != nullptr) {
    g_machine->lockstep->answered();
    return;
  }
  if (is_traffic) traffic.complete(*request, g_machine->now_ns);
  complete_request(request);
}

void RtlPort::deliver(uint64_t now) {
  ready_.clear();
  size_t later = 0;
  for (const Done &done : done_) {
    if (done.taken_at < now) {
      ready_.push_back(done);
    } else {
      done_[later++] = done;
    }
  }
  done_.erase(done_.begin() + static_cast<ptrdiff_t>(later), done_.end());
  std::sort(ready_.begin(), ready_.end(), [](const Done &a, const Done &b) {
    return std::tie(a.cycle, a.host, a.tag) < std::tie(b.cycle, b.host, b.tag);
  });
  for (const Done &done : ready_) finish(done);
}

void RtlPort::settle_end() {
  Machine &m = *g_machine;
  if (m.state != EMU_RUNNING) {
    externals_cancel();
    return;
  }
  const bool threads_ended = m.live == 0;
  if (threads_ended && traffic.ended() && on_their_way_ == 0 && !dma_any()) {
    final_writebacks();
    end_run(EMU_DONE);
    externals_cancel();
    return;
  }
  const bool someone_acts =
      !m.ready.empty() || on_their_way_ != 0 || earliest_wake() != kNever || traffic.next_due() != kNever || dma_any();
  if (someone_acts) return;
  Fault fault = fault_here("deadlock", kNever, 0);
  fault.message = "deadlock: no thread can ever run again\n" + waiting_report();
  blame_waiting(fault);
  m.faults.push_back(std::move(fault));
  end_run(EMU_DEADLOCK);
  externals_cancel();
}

int RtlPort::tick(uint64_t now) {
  Machine &m = *g_machine;
  if (m.state != EMU_RUNNING || (ticked_ && now <= last_tick_)) return m.state;
  ticked_ = true;
  last_tick_ = now;
  if (m.lockstep != nullptr) {
    deliver(now);
    if (m.state == EMU_RUNNING) m.lockstep->run();
    next_due_ = kNever;
    return m.state;
  }
  m.now_ns = now;
  if (done_.empty() && now < next_due_) return m.state;
  deliver(now);
  if (m.state == EMU_RUNNING) run_due_threads();
  if (m.state == EMU_RUNNING) {
    for (Host &host : m.hosts) {
      if (host.dma_active != 0) dma_issue(host);
    }
    traffic.issue(now, m.live == 0 && traffic.bounded_ended());
  }
  settle_end();
  next_due_ = std::min({earliest_wake(), traffic.next_due(), dma_next_start()});
  if (!m.ready.empty()) next_due_ = 0;
  return m.state;
}

uint64_t RtlPort::next_wake(uint64_t now) const {
  if (g_machine->state != EMU_RUNNING) return kNever;
  if (!ticked_) return now + 1;
  for (const HostPort &port : hosts_) {
    for (const int channel : {0, 1}) {
      if (!port.queue[channel].empty()) return now + 1;
    }
  }
  return own_wake(now);
}

uint64_t RtlPort::own_wake(uint64_t now) const {
  if (!done_.empty()) return now + 1;
  return next_due_ == kNever ? kNever : std::max(next_due_, now + 1);
}

uint64_t RtlPort::line_at(int module, uint64_t dpa, const Request *request) {
  const uint64_t place = place_key(module, dpa);
  const auto known = line_of_place_.find(place);
  if (request == nullptr) return known == line_of_place_.end() ? kNever : known->second;
  if (known != line_of_place_.end()) {
    if (known->second != request->line) {
      raise_check(*request, "module " + std::to_string(module) + " address " + std::to_string(dpa) + " serves line " +
                                std::to_string(known->second) + " and line " + std::to_string(request->line) +
                                " of the pool");
    }
    return known->second;
  }
  const auto [home, fresh] = place_of_line_.try_emplace(request->line, place);
  if (!fresh) {
    raise_check(*request, "line " + std::to_string(request->line) + " of the pool is served by two places: module " +
                              std::to_string(home->second >> 48) + " and module " + std::to_string(module));
    return request->line;
  }
  line_of_place_[place] = request->line;
  const auto loose = loose_.find(place);
  if (loose != loose_.end()) {
    memcpy(g_machine->device.data + (request->line << kLineShift), loose->second.data(), kLineBytes);
    loose_.erase(loose);
  }
  return request->line;
}

void RtlPort::store_read(int module, uint64_t dpa, int host, int ntag, uint32_t *data) {
  Request *request = by_nic_tag(host, ntag);
  const uint64_t line = line_at(module, dpa, request);
  if (g_machine->lockstep != nullptr && line != kNever) {
    if (request != nullptr) request->bound = true;
    memcpy(data, g_machine->lockstep->cell(line).data(), kLineBytes);
  } else if (request != nullptr && line == request->line) {
    if (is_read(request->kind)) {
      device_read(request);
      request->bound = true;
    }
    memcpy(data, g_machine->device.data + (line << kLineShift), kLineBytes);
  } else if (line != kNever) {
    memcpy(data, g_machine->device.data + (line << kLineShift), kLineBytes);
  } else {
    const auto loose = loose_.find(place_key(module, dpa));
    if (loose == loose_.end()) {
      memset(data, 0, kLineBytes);
    } else {
      memcpy(data, loose->second.data(), kLineBytes);
    }
  }
}

void RtlPort::store_write(int module, uint64_t dpa, int host, int ntag, const uint32_t *data, const uint32_t *be) {
  const uint64_t mask = be[0] | (static_cast<uint64_t>(be[1]) << 32);
  const auto *bytes = reinterpret_cast<const uint8_t *>(data);
  Request *request = by_nic_tag(host, ntag);
  const uint64_t line = line_at(module, dpa, request);
  if (request != nullptr && line == request->line && !is_read(request->kind)) {
    for (uint32_t i = 0; i < kLineBytes; ++i) {
      if (!((mask >> i) & 1) || (((request->mask >> i) & 1) && bytes[i] == request->data[i])) continue;
      raise_check(*request, "byte " + std::to_string(i) + " of line " + std::to_string(line) + " reached module " +
                                std::to_string(module) + " other than host " + std::to_string(host) + " sent it");
      break;
    }
    request->landed |= mask;
    request->bound = request->landed == request->mask;
    if (g_machine->lockstep == nullptr) {
      device_write(request, bytes, mask);
      return;
    }
  }
  uint8_t *target = line == kNever                   ? loose_[place_key(module, dpa)].data()
                    : g_machine->lockstep != nullptr ? g_machine->lockstep->cell(line).data()
                                                     : g_machine->device.data + (line << kLineShift);
  for (uint32_t i = 0; i < kLineBytes; ++i) {
    if ((mask >> i) & 1) target[i] = bytes[i];
  }
}

void RtlPort::probe(uint64_t now, int stage, int host, int tag, int aux) {
  if (stage == EMU_STAGE_VISIBLE) {
    transactions.visible(now, static_cast<uint32_t>(host), static_cast<uint32_t>(tag));
    return;
  }
  if (stage < 0 || stage >= static_cast<int>(kStages)) return;
  const bool by_host_tag =
      stage <= EMU_STAGE_NIC_TAG || stage == EMU_STAGE_HOST || (stage == EMU_STAGE_NIC_RSP && aux == 1);
  Request *request = by_host_tag ? by_tag(host, tag) : by_nic_tag(host, tag);
  if (request == nullptr) return;
  request->stamp[static_cast<size_t>(stage)] = now;
  if (stage == EMU_STAGE_MOD_RX) request->module = static_cast<uint32_t>(aux);
  if (stage == EMU_STAGE_NIC_TAG && aux >= 0 && aux < static_cast<int>(kNicTagsMax)) {
    auto &tags = hosts_[static_cast<size_t>(host)].by_nic_tag;
    if (static_cast<size_t>(aux) >= tags.size()) tags.resize(static_cast<size_t>(aux) + 1, nullptr);
    tags[static_cast<size_t>(aux)] = request;
    transactions.tagged(*request, static_cast<uint32_t>(aux));
  }
  if (stage == EMU_STAGE_NIC_RSP && !by_host_tag)
    hosts_[static_cast<size_t>(host)].by_nic_tag[static_cast<size_t>(tag)] = nullptr;
}

}  // namespace prismem
