/**
 * @file port_functional.cpp
 * The device as a plain memory: a request is served the moment it is submitted. With posted completions a write-back is
 * held back and reported complete at once; it reaches the device at some later event, in order for each line.
 */
#include <algorithm>
#include <cstring>

#include "lockstep.hpp"
#include "modules.hpp"
#include "port.hpp"
#include "trace.hpp"

namespace prismem {

void device_read(Request *request) {
  const Machine &m = *g_machine;
  memcpy(request->data.data(), m.device.data + (request->line << kLineShift), kLineBytes);
  if (m.device.meta != nullptr) {
    memcpy(request->meta.data(), m.device.meta + request->line * kWordsPerLine, sizeof request->meta);
  }
}

void device_write(Request *request, const uint8_t *data, uint64_t mask) {
  Machine &m = *g_machine;
  ++m.progress;
  trace(request->kind == RequestKind::kDmaWrite ? Event::kDma : Event::kWriteBack, request->host,
        request->line << kLineShift, kLineBytes, 0, request->dirty);
  check_device_write(*request);
  uint8_t *line = m.device.data + (request->line << kLineShift);
  if (mask == ~0ull) {
    memcpy(line, data, kLineBytes);
  } else {
    for (uint32_t i = 0; i < kLineBytes; ++i) {
      if ((mask >> i) & 1) line[i] = data[i];
    }
  }
  shadow_device_write(*request, mask);
}

namespace {

Decision decision_of(RequestKind kind) {
  switch (kind) {
    case RequestKind::kFill:
      return Decision::kFill;
    case RequestKind::kPrefetch:
      return Decision::kPrefetch;
    case RequestKind::kWriteBack:
      return Decision::kWriteBack;
    case RequestKind::kStream:
      return Decision::kStream;
    case RequestKind::kDmaRead:
      return Decision::kDmaRead;
    case RequestKind::kDmaWrite:
      return Decision::kDmaWrite;
    case RequestKind::kTrafficRead:
      return Decision::kTrafficRead;
    case RequestKind::kTrafficWrite:
      return Decision::kTrafficWrite;
  }
  return Decision::kFill;
}

class FunctionalPort final : public MemoryPort {
 public:
  bool submit(Request *request) override {
    const bool write = request->kind == RequestKind::kWriteBack || request->kind == RequestKind::kStream;
    if (write && posted() && !g_machine->finished) {
      delayed_.push_back(request);
      return false;
    }
    serve(request);
    return true;
  }

  bool posted() const override { return g_machine->cfg.completion_posted != 0; }

  bool force(uint32_t host, uint64_t line) override {
    for (auto it = delayed_.begin(); it != delayed_.end(); ++it) {
      if ((*it)->host == host && (*it)->line == line) {
        finish(it);
        return true;
      }
    }
    return false;
  }

  void drop_writes(uint32_t host_id) override {
    Host &host = g_machine->hosts[host_id];
    const auto drop = [&](Request *request) {
      if (request->host != host_id) return false;
      host.state[request->line] &= static_cast<uint8_t>(~kWriteback);
      std::erase(host.in_flight, request);
      free_request(request);
      return true;
    };
    std::erase_if(delayed_, drop);
    std::erase_if(host.deferred, drop);
  }

  void forget() override { delayed_.clear(); }
  size_t waiting() const override { return delayed_.size(); }
  const Request *waiting_at(size_t index) const override { return delayed_[index]; }
  void land(size_t index) override { finish(delayed_.begin() + static_cast<ptrdiff_t>(index)); }

  bool idle() const override { return delayed_.empty(); }

 private:
  void serve(Request *request) {
    if (g_machine->lockstep != nullptr) g_machine->lockstep->transact(request);
    if (is_read(request->kind)) {
      const auto answer = request->data;
      device_read(request);
      if (g_machine->lockstep != nullptr && answer != request->data) differs(*request, answer);
    } else {
      device_write(request, request->data.data(), request->mask);
    }
    note(decision_of(request->kind), request->host, request->line, request->mask, request->data.data());
  }

  /** Lockstep: the hardware's memory and the plain one hold different bytes. */
  static void differs(const Request &request, const std::array<uint8_t, kLineBytes> &answer) {
    const auto wrong = std::mismatch(answer.begin(), answer.end(), request.data.begin());
    Fault fault = fault_here("check", request.line << kLineShift, 0);
    fault.host = static_cast<int>(request.host);
    fault.message = "the hardware answered a read of line " + std::to_string(request.line) + " by host " +
                    std::to_string(request.host) + " with other bytes than were written: byte " +
                    std::to_string(wrong.first - answer.begin()) + " is " + std::to_string(*wrong.first) + ", not " +
                    std::to_string(*wrong.second);
    raise_fault(std::move(fault));
  }

  void finish(std::vector<Request *>::iterator it) {
    Request *request = *it;
    delayed_.erase(it);
    serve(request);
    complete_request(request);
  }

  std::vector<Request *> delayed_;  ///< at most one a host and line; later ones wait in the host's `deferred`
};

}  // namespace

std::unique_ptr<MemoryPort> make_functional_port() {
  return std::make_unique<FunctionalPort>();
}

}  // namespace prismem
