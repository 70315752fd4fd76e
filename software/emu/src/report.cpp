/**
 * @file report.cpp
 * Faults, and the report of a run: what went wrong where, who waits for which line, who holds it, counters.
 */
#include <cstdarg>

#include "access.hpp"
#include "json.hpp"
#include "port_rtl.hpp"

namespace prismem {

const char *state_name(int state) {
  static const char *const names[] = {"running", "done", "fault", "stuck", "deadlock", "failed"};
  return state >= 0 && state <= EMU_FAILED ? names[state] : "unknown";
}

int actor_host(uint32_t actor) {
  const Machine &m = *g_machine;
  if (actor == kNobody) return -1;
  if (actor < m.hosts.size()) return static_cast<int>(actor);
  return static_cast<int>(m.threads[actor - m.hosts.size()]->host);
}

int actor_thread(uint32_t actor) {
  const Machine &m = *g_machine;
  return actor == kNobody || actor < m.hosts.size() ? -1 : static_cast<int>(actor - m.hosts.size());
}

std::string actor_text(uint32_t actor) {
  if (actor == kNobody) return "the loader";
  const std::string host = "host " + std::to_string(actor_host(actor));
  return actor_thread(actor) < 0 ? "the DMA engine of " + host : host;
}

Fault fault_here(const char *kind, uint64_t offset, uint64_t pc) {
  const Machine &m = *g_machine;
  Fault fault;
  fault.kind = kind;
  fault.time_ns = now_ns();
  fault.offset = offset;
  fault.pc = pc == 0 ? 0 : pc_id(pc);
  if (m.current != nullptr) {
    fault.host = static_cast<int>(m.current->host);
    fault.thread = m.current->tid;
  }
  return fault;
}

void raise_fault(Fault fault) {
  Machine &m = *g_machine;
  for (const Fault &known : m.faults) {
    if (known.kind == fault.kind && known.pc == fault.pc && known.other_pc == fault.other_pc &&
        known.offset == fault.offset)
      return;
  }
  note(Decision::kFault, fault.offset, static_cast<uint64_t>(fault.host), static_cast<uint64_t>(fault.other_host),
       nullptr);
  if (m.log != nullptr) {
    fprintf(m.log, "# fault %s pool+0x%llx host %d at %s, host %d at %s\n", fault.kind.c_str(),
            static_cast<unsigned long long>(fault.offset), fault.host, module_offset(pc_of(fault.pc)).c_str(),
            fault.other_host, module_offset(pc_of(fault.other_pc)).c_str());
  }
  m.faults.push_back(std::move(fault));
  if (m.faults.size() >= m.cfg.faults_max) end_run(EMU_FAULT);
}

namespace {

std::string place(const Location &where) {
  if (where.source.empty()) return "an unknown place";
  return where.function.empty() ? where.source : where.source + " (" + where.function + ")";
}

std::string place_of_pc(uint64_t pc) {
  return place(locate({pc_id(pc)})[0]);
}

/** Replace the marks of the message by the two places. */
std::string finished_message(const Fault &fault, const Location &own, const Location &other) {
  std::string text;
  for (const char c : fault.message) {
    if (c == '\1') {
      text += place(own);
    } else if (c == '\2') {
      text += place(other);
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string line_report(uint64_t offset) {
  const Machine &m = *g_machine;
  const uint64_t line = offset >> kLineShift;
  std::string text = "line " + std::to_string(line) + " (pool+0x";
  char digits[24];
  snprintf(digits, sizeof digits, "%llx", static_cast<unsigned long long>(offset));
  text += std::string(digits) + "): ";
  bool held = false;
  for (const Host &host : m.hosts) {
    if (!(host.state[line] & kValid)) continue;
    text += (held ? ", host " : "host ") + std::to_string(host.id) +
            (host.dirty[line] != 0 ? " holds it dirty" : " holds a clean copy");
    if (host.state[line] & kCheck) text += " (stale)";
    held = true;
  }
  if (!held) text += "in no cache";
  if (m.newest != nullptr) {
    const WordMeta &newest = m.newest[offset >> 3];
    if (newest.version() != 0) {
      text += "; last store by " + actor_text(newest.actor()) + " at " + place(locate({newest.pc})[0]);
      if (m.device.meta[offset >> 3].version() != newest.version()) text += ", not in the device";
    }
  }
  return text;
}

namespace {

/** Last pool access of a thread: its offset, or kNever. */
uint64_t last_access(const Thread &thread, uint64_t *pc) {
  const bool running = g_machine->current == &thread;
  *pc = running ? g_fast.last_pc : thread.last_pc;
  return running ? g_fast.last_offset : thread.last_offset;
}

}  // namespace

std::string waiting_report() {
  const Machine &m = *g_machine;
  std::string text;
  for (const auto &thread : m.threads) {
    if (thread->state == ThreadState::kDone) continue;
    text +=
        "  thread " + std::to_string(thread->tid) + " (" + thread->name + ") of host " + std::to_string(thread->host);
    switch (thread->state) {
      case ThreadState::kReady:
        text += " runs or polls";
        break;
      case ThreadState::kSleeping:
        text += " sleeps until " + std::to_string(thread->wake_ns) + " ns";
        break;
      case ThreadState::kMemory:
      case ThreadState::kBlocked:
        text += std::string(" waits for ") + thread->wait_for;
        break;
      case ThreadState::kDone:
        break;
    }
    uint64_t pc;
    const uint64_t offset = last_access(*thread, &pc);
    if (offset != kNever) text += "; last access at " + place_of_pc(pc) + " to " + line_report(offset);
    if (!thread->pending.empty()) text += "; " + std::to_string(thread->pending.size()) + " flushes or fences pending";
    text += "\n";
  }
  return text;
}

namespace {

void blame_access(Fault &fault, const Thread &thread) {
  const Machine &m = *g_machine;
  uint64_t pc;
  const uint64_t offset = last_access(thread, &pc);
  if (offset == kNever) return;
  fault.offset = offset;
  fault.host = static_cast<int>(thread.host);
  fault.thread = thread.tid;
  fault.pc = pc_id(pc);
  if (m.newest == nullptr || m.newest[offset >> 3].version() == 0) return;
  const WordMeta &newest = m.newest[offset >> 3];
  fault.other_host = actor_host(newest.actor());
  fault.other_thread = actor_thread(newest.actor());
  fault.other_pc = newest.pc;
}

}  // namespace

void blame_waiting(Fault &fault) {
  const Machine &m = *g_machine;
  const Thread *first = nullptr;
  for (const auto &thread : m.threads) {
    uint64_t pc;
    const uint64_t offset = thread->state == ThreadState::kDone ? kNever : last_access(*thread, &pc);
    if (offset == kNever || m.newest == nullptr) continue;
    if (first == nullptr) first = thread.get();
    const bool stale = (m.hosts[thread->host].state[offset >> kLineShift] & kCheck) != 0;
    const bool kept_back = m.device.meta[offset >> 3].version() != m.newest[offset >> 3].version();
    if (!stale && !kept_back) continue;
    blame_access(fault, *thread);
    return;
  }
  if (first != nullptr) blame_access(fault, *first);
}

void blame_failed(Fault &fault, const Thread &thread) {
  uint64_t pc;
  const uint64_t offset = last_access(thread, &pc);
  if (offset == kNever) return;
  blame_access(fault, thread);
  fault.message += "; its last access to the pool was at \1 to " + line_report(offset);
}

static void write_reading(Json &json, const Reading &reading) {
  json.open('{');
  for (const auto &[name, rows] : reading) {
    json.key(name.c_str()).open('[');
    for (const auto &row : rows) {
      json.open('[').signed_value(row[0]).signed_value(row[1]).signed_value(row[2]).close(']');
    }
    json.close(']');
  }
  json.close('}');
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT void emu_fail(const void *addr, const char *fmt, ...) {
  if (g_machine == nullptr) return;
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  const uint64_t address = reinterpret_cast<uint64_t>(addr);
  const bool pool = addr != nullptr && in_view(address);
  Fault fault = fault_here("check", pool ? address - g_fast.view : kNever,
                           reinterpret_cast<uint64_t>(__builtin_return_address(0)));
  for (char &c : text) {
    if (c == '\1' || c == '\2') c = '?';
  }
  fault.message = std::string(text) + " at \1";
  if (pool) {
    const uint64_t offset = address - g_fast.view;
    fault.message += "; " + line_report(offset);
    if (g_machine->newest != nullptr && g_machine->newest[offset >> 3].version() != 0) {
      const WordMeta &newest = g_machine->newest[offset >> 3];
      fault.other_host = actor_host(newest.actor());
      fault.other_thread = actor_thread(newest.actor());
      fault.other_pc = newest.pc;
    }
  }
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

PRISMEM_EXPORT const char *emu_report(void) {
  if (g_machine == nullptr) return "{}";
  Machine &m = *g_machine;
  std::vector<uint32_t> pcs;
  for (const Fault &fault : m.faults) {
    pcs.push_back(fault.pc);
    pcs.push_back(fault.other_pc);
  }
  const std::vector<Location> places = locate(pcs);
  char digest[24];
  snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(m.digest));
  static const char *const policies[] = {"random", "lazy", "eager", "warm"};
  Json json;
  json.open('{').field("state", static_cast<uint64_t>(m.state)).field("state_name", std::string(state_name(m.state)));
  json.field("now_ns", now_ns()).field("steps", steps_now()).field("switches", m.switches);
  json.field("digest", std::string(digest))
      .field("seed", m.cfg.seed)
      .field("policy", std::string(policies[m.cfg.policy]));
  json.key("faults").open('[');
  for (size_t i = 0; i < m.faults.size(); ++i) {
    const Fault &fault = m.faults[i];
    const bool placed = fault.offset != kNever;
    json.open('{').field("kind", fault.kind).field("time_ns", fault.time_ns);
    json.field("message", finished_message(fault, places[2 * i], places[2 * i + 1]));
    json.signed_field("pool_offset", placed ? static_cast<int64_t>(fault.offset) : -1);
    json.signed_field("line", placed ? static_cast<int64_t>(fault.offset >> kLineShift) : -1);
    json.signed_field("host", fault.host).signed_field("thread", fault.thread);
    json.field("function", places[2 * i].function).field("source", places[2 * i].source);
    json.signed_field("other_host", fault.other_host).signed_field("other_thread", fault.other_thread);
    json.field("other_function", places[2 * i + 1].function).field("other_source", places[2 * i + 1].source).close('}');
  }
  json.close(']').key("hosts").open('[');
  for (const Host &host : m.hosts) {
    const HostCounters &c = host.count;
    json.open('{')
        .field("host", uint64_t{host.id})
        .field("loads", c.loads)
        .field("stores", c.stores)
        .field("fills", c.fills);
    json.field("prefetches", c.prefetches).field("writebacks", c.writebacks).field("evictions", c.evictions);
    json.field("flushes", c.flushes).field("fences", c.fences).field("dma_lines_in", c.dma_lines_in);
    json.field("dma_lines_out", c.dma_lines_out).close('}');
  }
  json.close(']').key("threads").open('[');
  static const char *const states[] = {"ready", "sleeping", "memory", "blocked", "done"};
  for (const auto &thread : m.threads) {
    json.open('{')
        .signed_field("tid", thread->tid)
        .field("host", uint64_t{thread->named_host})
        .field("name", thread->name);
    json.field("state", std::string(states[static_cast<size_t>(thread->state)]))
        .signed_field("status", thread->status)
        .close('}');
  }
  json.close(']').key("traffic");
  if (m.rtl_port != nullptr) {
    m.rtl_port->traffic.write(json);
  } else {
    json.open('[').close(']');
  }
  json.key("counters");
  write_reading(json, m.readings.empty() ? Reading{} : m.readings.back());
  json.key("readings").open('[');
  for (const Reading &reading : m.readings) write_reading(json, reading);
  json.close(']').close('}');
  m.report_text = json.take();
  return m.report_text.c_str();
}
