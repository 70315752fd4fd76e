/**
 * @file choices.cpp
 * What a chooser can do to the machine, each with its entry in the log of choices.
 */
#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"

namespace prismem {

AtSite::AtSite(Site site) : before_(g_machine->site) {
  g_machine->site = site;
}

AtSite::~AtSite() {
  g_machine->site = before_;
}

void record(emu_choice_kind kind, uint32_t target, uint64_t value) {
  Machine &m = *g_machine;
  if (!m.recording) return;
  emu_choice choice{};
  choice.thread = EMU_CHOICE_NO_THREAD;
  if (m.current != nullptr && m.site != Site::kEnd) {
    choice.thread = static_cast<uint16_t>(m.current->tid);
    choice.step = static_cast<uint32_t>(thread_steps(*m.current));
  }
  choice.site = static_cast<uint8_t>(m.site);
  choice.kind = static_cast<uint8_t>(kind);
  choice.target = target;
  choice.value = value;
  m.choices.push_back(choice);
}

uint64_t thread_steps(const Thread &thread) {
  const bool running = g_machine->current == &thread && g_fast.view_bytes != 0;
  return thread.steps + (running ? steps_now() - thread.step_mark : 0);
}

size_t plain_ready() {
  const Machine &m = *g_machine;
  const int self = m.current == nullptr ? -1 : m.current->tid;
  size_t best = 0;
  const auto turn = [&](int tid) { return tid > self ? tid : tid + static_cast<int>(EMU_THREADS_MAX); };
  for (size_t i = 1; i < m.ready.size(); ++i) {
    if (turn(m.ready[i]) < turn(m.ready[best])) best = i;
  }
  return best;
}

void act_fill(Host &host, uint64_t line, uint64_t cause) {
  note(Decision::kPrefetch, host.id, line, g_machine->exploring ? 0 : cause, nullptr);
  record(EMU_CHOICE_FILL, host.id, line);
  prefetch_line(host, line);
}

void act_evict(Host &host, uint64_t line) {
  note(Decision::kEvict, host.id, line, host.dirty[line], nullptr);
  record(EMU_CHOICE_EVICT, host.id, line);
  evict(host, line);
}

bool act_retire(Thread &thread, size_t index) {
  if (!may_commit(thread, index)) return false;
  const Pending &entry = thread.pending[index];
  const uint64_t line = entry.kind == PendingKind::kStoreFence ? kNever : entry.line;
  record(EMU_CHOICE_RETIRE, static_cast<uint32_t>(thread.tid), line);
  commit_at(thread, index);
  return true;
}

void retire_by_time(bool dma) {
  Machine &m = *g_machine;
  for (const auto &thread : m.threads) {
    if (thread->pending.empty()) continue;
    commit_at(*thread, 0);
    break;
  }
  if (m.port->waiting() != 0) m.port->land(0);
  for (Host &host : m.hosts) {
    if (dma) dma_in_order(host);
  }
}

bool act_land(uint32_t host, uint64_t line) {
  Machine &m = *g_machine;
  for (size_t i = 0; i < m.port->waiting(); ++i) {
    const Request *request = m.port->waiting_at(i);
    if (request->host != host || request->line != line) continue;
    record(EMU_CHOICE_LAND, host, line);
    m.port->land(i);
    return true;
  }
  return false;
}

}  // namespace prismem

PRISMEM_EXPORT int emu_cache_event(int event, const void *addr) {
  using namespace prismem;
  const auto address = reinterpret_cast<uint64_t>(addr);
  if (g_machine == nullptr || g_machine->current == nullptr || !in_view(address)) return 0;
  Thread &thread = *g_machine->current;
  Host &host = g_machine->hosts[thread.host];
  const uint64_t line = (address - g_fast.view) >> kLineShift;
  if (event == EMU_CACHE_FILL && host.state[line] == 0) {
    note_use(host, line);
    act_fill(host, line, 5);
    return 1;
  }
  if (event == EMU_CACHE_EVICT && (host.state[line] & kValid)) {
    act_evict(host, line);
    return 1;
  }
  for (size_t i = thread.pending.size(); event == EMU_CACHE_RETIRE && i-- != 0;) {
    if (thread.pending[i].kind != PendingKind::kStoreFence && thread.pending[i].line == line) {
      return act_retire(thread, i) ? 1 : 0;
    }
  }
  return 0;
}
