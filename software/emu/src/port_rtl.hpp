/**
 * @file port_rtl.hpp
 * The memory port whose other side is Verilated hardware: requests wait in a queue a host and channel until the host
 * port of the bench fetches them, and completions are acted upon in the next clock.
 */
#pragma once

#include <deque>
#include <unordered_map>

#include "latency.hpp"
#include "port.hpp"
#include "traffic.hpp"
#include "transactions.hpp"

namespace prismem {

class RtlPort final : public MemoryPort {
 public:
  RtlPort();
  bool submit(Request *request) override;
  bool force(uint32_t, uint64_t) override { return false; }
  bool idle() const override { return on_their_way_ == 0; }

  int tick(uint64_t now);
  int pop(int host, int channel, uint32_t *tag, uint64_t *hpa, uint32_t *data, uint32_t *be);
  void done(uint64_t now, int host, int tag, int status, const uint32_t *data);
  uint64_t next_wake(uint64_t now) const;
  void store_read(int module, uint64_t dpa, int host, int ntag, uint32_t *data);
  void store_write(int module, uint64_t dpa, int host, int ntag, const uint32_t *data, const uint32_t *be);
  void probe(uint64_t now, int stage, int host, int tag, int aux);
  /** A request of any host waits to be fetched; one of this host and channel does. */
  bool queued() const { return queued_ != 0; }
  bool queued(size_t host, size_t channel) const { return !hosts_[host].queue[channel].empty(); }
  /** The request in flight under this tag of a host; nullptr without one. */
  Request *by_tag(int host, int tag) const;
  /** Next time at which hosts act by themselves or on a completion, whatever waits for a tag; kNever when none. */
  uint64_t own_wake(uint64_t now) const;

  Latency latency;
  Traffic traffic;
  Transactions transactions;

 private:
  struct HostPort {
    std::deque<Request *> queue[2];  ///< reads, writes
    std::deque<uint32_t>
        free_tags[2];  ///< oldest first; each channel has its own half, so that fetch order cannot matter
    std::vector<Request *> by_tag;
    std::vector<Request *> by_nic_tag;
  };
  struct Done {
    uint64_t cycle, taken_at;
    uint32_t host, tag;
    uint8_t status;
    std::array<uint8_t, kLineBytes> data;
  };

  Request *by_nic_tag(int host, int tag) const;
  void deliver(uint64_t now);
  void finish(const Done &done);
  void report_status(const Request &request, uint8_t status);
  /** The pool line at this place of a module, or kNever; learns it from a request whose transaction it is. */
  uint64_t line_at(int module, uint64_t dpa, const Request *request);
  void settle_end();

  std::vector<HostPort> hosts_;
  std::vector<Done> done_;
  std::vector<Done> ready_;  ///< of them, what is delivered now
  std::unordered_map<uint64_t, uint64_t> line_of_place_;
  std::unordered_map<uint64_t, uint64_t> place_of_line_;
  /** Lines that something other than a host's request has written, by place. */
  std::unordered_map<uint64_t, std::array<uint8_t, kLineBytes>> loose_;
  uint64_t on_their_way_ = 0, queued_ = 0;
  uint64_t last_tick_ = 0;
  bool ticked_ = false;
  uint64_t next_due_ = 0;
};

}  // namespace prismem
