/**
 * @file engine.cpp
 * What the bench's traffic engines ask for by DPI: their descriptors, and the lines that they have written.
 */
#include "engine.hpp"

#include <bit>
#include <cerrno>
#include <cstring>

#include "machine.hpp"
#include "prismem_emu_dpi.h"
#include "rng.hpp"

namespace prismem {

namespace {

constexpr uint32_t kHostsMax = 16, kModulesMax = 16, kOutstandingMax = 2048, kLinesLog2Max = 46;
constexpr uint32_t kPhasesMax = 1024;
constexpr uint32_t kRequestBytesMin = 32, kRequestBytesMax = 1024;
constexpr uint64_t kTimeMax = 1ull << 48;

/** What is wrong with a descriptor, or nullptr. */
const char *problem(const emu_engine &e) {
  const uint32_t lines = e.request_bytes <= kLineBytes ? 1 : e.request_bytes / kLineBytes;
  if (e.host >= g_machine->hosts.size() || e.host >= kHostsMax) return "host: there is none of that number";
  if (e.phase >= kPhasesMax) return "phase: outside 0..1023";
  if (e.pattern > 2) return "pattern: outside 0..2";
  if (!std::has_single_bit(e.request_bytes) || e.request_bytes < kRequestBytesMin || e.request_bytes > kRequestBytesMax)
    return "request_bytes: not a power of two in 32..1024";
  if (e.read_permille > 1000 || e.hot_permille > 1000) return "read_permille, hot_permille: outside 0..1000";
  const uint32_t together = e.outstanding + e.hot_outstanding;
  if (e.outstanding < lines || e.outstanding > kOutstandingMax || e.hot_outstanding > kOutstandingMax - e.outstanding)
    return "outstanding: outside the lines of a request .. 2048, hot_outstanding included";
  if (e.hot_module >= kModulesMax) return "hot_module: outside 0..15";
  if (e.lines_log2 > kLinesLog2Max || (1ull << e.lines_log2) < 2 * std::bit_ceil(together))
    return "lines_log2: a footprint holds at least twice the lines in flight, and at most 2^46";
  if (e.stride_log2 > e.lines_log2 - static_cast<uint32_t>(std::countr_zero(lines)))
    return "stride_log2: more than the footprint";
  if (e.poisson > 1) return "poisson: neither 0 nor 1";
  if (e.count_ns >= kTimeMax || e.stop_ns >= kTimeMax || e.interval_q16 >= kTimeMax)
    return "count_ns, stop_ns, interval_q16: 2^48 or more";
  return nullptr;
}

uint64_t key_of(int module, uint64_t line) {
  return (static_cast<uint64_t>(module) << 48) | line;
}

}  // namespace

size_t LineStore::slot_of(uint64_t key) const {
  uint64_t state = key;
  size_t slot = splitmix64(state) & (keys_.size() - 1);
  while (keys_[slot] != kNone && keys_[slot] != key) slot = (slot + 1) & (keys_.size() - 1);
  return slot;
}

const LineStore::Line *LineStore::find(uint64_t key) const {
  const size_t slot = slot_of(key);
  return keys_[slot] == key ? &lines_[slot] : nullptr;
}

LineStore::Line &LineStore::at(uint64_t key) {
  size_t slot = slot_of(key);
  if (keys_[slot] == kNone) {
    if (++used_ * 2 > keys_.size()) {
      grow();
      slot = slot_of(key);
    }
    keys_[slot] = key;
  }
  return lines_[slot];
}

void LineStore::grow() {
  std::vector<uint64_t> keys(keys_.size() * 2, kNone);
  std::vector<Line> lines(keys.size());
  keys.swap(keys_);
  lines.swap(lines_);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == kNone) continue;
    const size_t slot = slot_of(keys[i]);
    keys_[slot] = keys[i];
    lines_[slot] = lines[i];
  }
}

int Engines::phases() const {
  return by_phase_and_host.empty() ? 0 : by_phase_and_host.rbegin()->first.first + 1;
}

bool Engines::drives(int host) const {
  for (const auto &[place, engine] : by_phase_and_host) {
    if (place.second == host) return true;
  }
  return false;
}

const emu_engine *Engines::find(int phase, int host) const {
  const auto found = by_phase_and_host.find({phase, host});
  return found == by_phase_and_host.end() ? nullptr : &found->second;
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_engine_add(const emu_engine *engine) {
  if (g_machine == nullptr || g_machine->rtl_port == nullptr) {
    set_error("emu_engine_add: needs a machine on the RTL port");
    return -EINVAL;
  }
  if (engine == nullptr || engine->struct_bytes != sizeof(emu_engine)) {
    set_error("struct_bytes: %u is not %zu", engine == nullptr ? 0 : engine->struct_bytes, sizeof(emu_engine));
    return -EINVAL;
  }
  if (const char *wrong = problem(*engine)) {
    set_error("%s", wrong);
    return -EINVAL;
  }
  g_machine->engines.by_phase_and_host[{static_cast<int>(engine->phase), static_cast<int>(engine->host)}] = *engine;
  return 0;
}

PRISMEM_EXPORT int emu_engine_phases(void) {
  return g_machine == nullptr ? 0 : g_machine->engines.phases();
}

PRISMEM_EXPORT int emu_engine_host(int host) {
  return g_machine != nullptr && g_machine->engines.drives(host) ? 1 : 0;
}

PRISMEM_EXPORT int emu_engine_has(int phase, int host) {
  return g_machine != nullptr && g_machine->engines.find(phase, host) != nullptr ? 1 : 0;
}

PRISMEM_EXPORT uint64_t emu_engine_field(int phase, int host, int field) {
  const emu_engine *e = g_machine == nullptr ? nullptr : g_machine->engines.find(phase, host);
  if (e == nullptr) return 0;
  const uint64_t fields[] = {e->pattern,         e->request_bytes, e->read_permille, e->outstanding,
                             e->poisson,         e->stride_log2,   e->hot_permille,  e->hot_module,
                             e->hot_outstanding, e->lines_log2,    e->interval_q16,  e->first_line,
                             e->hot_line,        e->start,         e->requests,      e->warmup,
                             e->count_ns,        e->stop_ns,       e->seed};
  return field >= 0 && static_cast<size_t>(field) < std::size(fields) ? fields[field] : 0;
}

PRISMEM_EXPORT int emu_line_read(int module, uint64_t line, uint32_t data[16]) {
  if (g_machine == nullptr) return 0;
  const LineStore::Line *found = g_machine->engines.store.find(key_of(module, line));
  if (found != nullptr) memcpy(data, found->data(), sizeof *found);
  return found != nullptr ? 1 : 0;
}

PRISMEM_EXPORT void emu_line_write(int module, uint64_t line, const uint32_t data[16]) {
  if (g_machine != nullptr) memcpy(g_machine->engines.store.at(key_of(module, line)).data(), data, kLineBytes);
}
