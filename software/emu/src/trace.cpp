/**
 * @file trace.cpp
 * The trace of one execution and its JSON. Hooks come before the access and know no value, so the value of a store is read
 * from the host's view when the next event comes.
 */
#include "trace.hpp"

#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "json.hpp"
#include "prismem_explore.h"

namespace prismem {

namespace {

/** Events kept; later ones are left out, and the last event says so. */
constexpr size_t kTraceEventsMax = 200000;
constexpr uint16_t kNoThread = 0xffff;

std::vector<TraceEvent> g_trace;
std::vector<size_t> g_open;  ///< accesses whose value is not known yet

bool has_value(Event event) {
  return event <= Event::kAtomicUpdate;
}

void close_values() {
  for (const size_t index : g_open) {
    TraceEvent &event = g_trace[index];
    const Host &host = g_machine->hosts[event.host];
    memcpy(&event.value, host.view + event.offset, std::min<uint64_t>(event.bytes, 8));
  }
  g_open.clear();
}

const char *name_of(Event event) {
  static const char *const names[] = {
      "load",   "store",   "atomic-load", "atomic-store", "atomic-update", "clflush",  "clflushopt", "clwb",
      "stream", "sfence",  "mfence",      "commit",       "fill",          "prefetch", "evict",      "write-back",
      "drop",   "acquire", "dma",         "end",          "invoke",        "respond"};
  return names[static_cast<size_t>(event)];
}

}  // namespace

void trace_clear() {
  g_trace.clear();
  g_open.clear();
}

void trace_add(Event event, uint32_t host, uint64_t offset, uint64_t bytes, uint64_t pc, uint64_t cause,
               uint64_t value) {
  const Machine &m = *g_machine;
  if (g_trace.size() >= kTraceEventsMax) return;
  const uint16_t thread = m.current == nullptr ? kNoThread : static_cast<uint16_t>(m.current->tid);
  close_values();
  const auto add = [&](uint64_t count) {
    g_trace.push_back(
        {event, thread, static_cast<uint16_t>(host), pc == 0 ? 0 : pc_id(pc), now_ns(), offset, count, value, cause});
    if (has_value(event)) g_open.push_back(g_trace.size() - 1);
  };
  while (has_value(event) && (offset % kLineBytes) + bytes > kLineBytes) {  // an event concerns one line
    const uint64_t piece = kLineBytes - offset % kLineBytes;
    add(piece);
    offset += piece;
    bytes -= piece;
  }
  add(bytes);
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT const char *emu_trace(void) {
  if (g_machine == nullptr) return "[]";
  Machine &m = *g_machine;
  close_values();
  std::vector<uint32_t> pcs;
  for (const TraceEvent &event : g_trace) pcs.push_back(event.pc);
  std::sort(pcs.begin(), pcs.end());
  pcs.erase(std::unique(pcs.begin(), pcs.end()), pcs.end());
  const std::vector<Location> places = locate(pcs);
  Json json;
  json.open('[');
  for (const TraceEvent &event : g_trace) {
    const auto at = static_cast<size_t>(std::lower_bound(pcs.begin(), pcs.end(), event.pc) - pcs.begin());
    const bool placed = event.offset != kNever;
    json.open('{').field("event", std::string(name_of(event.event))).field("t", event.time_ns);
    json.signed_field("thread", event.thread == kNoThread ? -1 : event.thread).field("host", uint64_t{event.host});
    json.signed_field("offset", placed ? static_cast<int64_t>(event.offset) : -1);
    json.signed_field("line", placed ? static_cast<int64_t>(event.offset >> kLineShift) : -1);
    json.field("bytes", event.bytes).field("value", event.value).field("cause", event.cause);
    json.field("function", places[at].function).field("source", event.pc == 0 ? std::string() : places[at].source);
    json.close('}');
  }
  m.trace_text = json.close(']').take();
  return m.trace_text.c_str();
}
