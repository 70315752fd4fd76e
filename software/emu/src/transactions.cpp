/**
 * @file transactions.cpp
 * A write that is completed early (posted) becomes visible when its request is long gone: the module's word goes by host
 * and tag of the NIC, from there to the line, and writes of one line by one host become visible in their order.
 */
#include "transactions.hpp"

#include <algorithm>
#include <cerrno>

#include "machine.hpp"
#include "port_rtl.hpp"

namespace prismem {

void Transactions::keep(const Request &request) {
  if (kept_.size() >= max_) {
    ++left_out_;
    return;
  }
  emu_transaction entry{};
  entry.line = request.line;
  std::copy(request.stamp.begin(), request.stamp.end(), entry.stage_ns);
  entry.visible_ns = kNever;
  entry.host = request.host;
  entry.module = request.module;
  entry.tag = request.tag;
  entry.kind = static_cast<uint32_t>(request.kind);
  if (!is_read(request.kind)) {
    if (g_machine->cfg.completion_posted == 0) {
      entry.visible_ns = request.stamp[EMU_STAGE_MEDIA_DONE];
    } else if (auto &early = early_[key(request.host, request.line)]; !early.empty()) {
      entry.visible_ns = early.front();
      early.pop_front();
    } else {
      open_[key(request.host, request.line)].push_back(kept_.size());
    }
  }
  kept_.push_back(entry);
}

void Transactions::visible(uint64_t now_ns, uint32_t host, uint32_t nic_tag) {
  if (max_ == 0) return;
  const auto found = lines_.find(key(host, nic_tag));
  if (found == lines_.end()) return;
  const uint64_t place = key(host, found->second);
  auto &open = open_[place];
  if (open.empty()) {
    early_[place].push_back(now_ns);
  } else {
    kept_[open.front()].visible_ns = now_ns;
    open.pop_front();
  }
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_transactions_record(uint64_t max) {
  if (g_machine == nullptr || g_machine->rtl_port == nullptr || g_machine->started) {
    set_error("emu_transactions_record: needs a machine on the RTL port that has not run");
    return -EINVAL;
  }
  if (max == 0 || max > EMU_TRANSACTIONS_MAX) {
    set_error("max: %llu is outside 1..%u", static_cast<unsigned long long>(max), EMU_TRANSACTIONS_MAX);
    return -EINVAL;
  }
  g_machine->rtl_port->transactions.record(max);
  return 0;
}

PRISMEM_EXPORT uint64_t emu_transactions(const emu_transaction **list, uint64_t *left_out) {
  if (g_machine == nullptr || g_machine->rtl_port == nullptr) return 0;
  const Transactions &from = g_machine->rtl_port->transactions;
  *list = from.kept().data();
  if (left_out != nullptr) *left_out = from.left_out();
  return from.kept().size();
}
