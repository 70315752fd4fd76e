/**
 * @file crash.cpp
 * A host, or only its program, dies right before one of its shared-memory events: a store, a flush, a fence, a line of
 * its DMA engine. Events are counted from the call that arms the crash, so a sweep can first count and then visit each.
 *
 *   host      threads, pending flushes, cache and DMA engine vanish; write-backs under way arrive or not, by choice
 *   process   threads vanish; what they had issued takes effect, and the cache writes back whenever it likes
 */
#include <algorithm>
#include <cerrno>

#include "access.hpp"
#include "port.hpp"

namespace prismem {

namespace {

bool belongs(const Thread &thread, const Host &host) {
  return thread.host == host.id && !(thread.flags & EMU_THREAD_AFTER_CRASH);
}

void end_threads(Host &host, bool with_pending) {
  Machine &m = *g_machine;
  for (auto &thread : m.threads) {
    if (!belongs(*thread, host) || thread->state == ThreadState::kDone) continue;
    if (with_pending) {
      thread->pending.clear();
      thread->streams = 0;
    }
    thread->state = ThreadState::kDone;
    m.sleep_known = false;
    std::erase(m.ready, thread->tid);
    m.live -= (thread->flags & EMU_THREAD_DAEMON) == 0;
  }
  for (auto &thread : m.threads) {
    if (thread->host != host.id || !(thread->flags & EMU_THREAD_AFTER_CRASH)) continue;
    thread->flags &= ~static_cast<uint32_t>(EMU_THREAD_AFTER_CRASH);
    m.live += (thread->flags & EMU_THREAD_DAEMON) == 0;
    wake(*thread);
  }
}

void lose_cache(Host &host) {
  for (const uint64_t line : host.lines) {
    host.state[line] &= static_cast<uint8_t>(~(kValid | kCheck));
    host.dirty[line] = 0;
    g_machine->sharers[line] &= ~(1ull << host.id);
  }
  host.lines.clear();
  for (DmaTicket &ticket : host.tickets) {
    ticket.todo.clear();
    ticket.id = 0;
  }
  host.dma_active = 0;
}

/** What the host stored and did not get out has never happened: nobody can miss it. */
void forget_stores(const Host &host) {
  Machine &m = *g_machine;
  if (!detecting()) return;
  for (const uint64_t line : m.touched_lines) {
    for (uint64_t word = line * kWordsPerLine; word < (line + 1) * kWordsPerLine; ++word) {
      const uint32_t actor = m.newest[word].actor();
      if (actor == kNobody || actor_host(actor) != static_cast<int>(host.id)) continue;
      if (m.newest[word].version() != m.device.meta[word].version()) m.newest[word] = m.device.meta[word];
    }
  }
}

void crash(Host &host) {
  Machine &m = *g_machine;
  const bool whole_host = host.crash_kind != EMU_CRASH_PROCESS;
  note(Decision::kCrash, host.id, host.crash_kind, host.events, nullptr);
  host.crash_at = 0;
  host.crashed = true;
  host.pins.clear();
  end_threads(host, whole_host);
  if (!whole_host) return;
  lose_cache(host);
  if (host.crash_kind == EMU_CRASH_HOST_DROP) m.port->drop_writes(host.id);
  forget_stores(host);
}

bool is_due(Host &host) {
  return ++host.events == host.crash_at;
}

int refuse(const char *why) {
  set_error("emu_crash_at: %s", why);
  return -EINVAL;
}

}  // namespace

void crash_step() {
  Host &host = g_machine->hosts[g_machine->current->host];
  if (!is_due(host)) return;
  crash(host);
  crash_leave();
}

bool crash_dma_line(Host &host) {
  if (host.crash_at == 0 || !is_due(host)) return false;
  crash(host);
  return true;
}

void crash_leave() {
  Machine &m = *g_machine;
  if (m.current == nullptr) return;
  if (m.live == 0) {
    fold_counters(*m.current);
    final_writebacks();
    end_run(EMU_DONE);
  }
  if (m.current->state != ThreadState::kDone) return;
  reschedule(Site::kBlock);
  __builtin_unreachable();
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_crash_at(uint32_t host, uint64_t event, uint32_t kind) {
  if (g_machine == nullptr || g_machine->rtl || g_machine->cfg.coherent) {
    return refuse("needs a machine of non-coherent hosts on the functional port");
  }
  Machine &m = *g_machine;
  if (host >= m.hosts.size()) return refuse("host: there is none of that number");
  if (kind > EMU_CRASH_PROCESS) return refuse("kind: is not one of enum emu_crash");
  for (const auto &thread : m.threads) {
    if (thread->host == host && thread->external != nullptr) return refuse("host: has a thread outside of the machine");
  }
  m.hosts[host].events = 0;
  m.hosts[host].crash_at = event == 0 ? kNever : event;
  m.hosts[host].crash_kind = kind;
  if (m.current != nullptr && m.current->host == host) {
    g_fast.crash_armed = 1;
    update_gate(*m.current);
  }
  return 0;
}

PRISMEM_EXPORT int emu_host_restart(int keep) {
  if (g_machine == nullptr || g_machine->current == nullptr || g_machine->cfg.coherent) {
    set_error("emu_host_restart: not called from a thread of non-coherent hosts");
    return -EINVAL;
  }
  Machine &m = *g_machine;
  Host &host = m.hosts[m.current->host];
  for (auto &thread : m.threads) {
    if (thread->host != host.id) continue;
    thread->pending.clear();
    thread->streams = thread->writes_in_flight = 0;
    thread->writes_ordered = false;
  }
  for (Request *request : host.in_flight) {
    request->waiters.clear();
    drop_fills(host, request->line);
  }
  for (Request *request : host.deferred) request->waiters.clear();
  host.pins.clear();
  lose_cache(host);
  if (!keep) m.port->drop_writes(host.id);
  forget_stores(host);
  g_fast.store_armed = 0;
  update_gate(*m.current);
  return 0;
}

PRISMEM_EXPORT void emu_crash_disarm(uint32_t host) {
  if (g_machine == nullptr || host >= g_machine->hosts.size()) return;
  g_machine->hosts[host].crash_at = 0;
  if (g_machine->current == nullptr || g_machine->current->host != host) return;
  g_fast.crash_armed = 0;
  update_gate(*g_machine->current);
}

PRISMEM_EXPORT int64_t emu_crash_events(uint32_t host) {
  if (g_machine == nullptr || host >= g_machine->hosts.size()) return refuse("host: there is none of that number");
  return static_cast<int64_t>(g_machine->hosts[host].events);
}

PRISMEM_EXPORT int emu_crashed(uint32_t host) {
  if (g_machine == nullptr || host >= g_machine->hosts.size()) return refuse("host: there is none of that number");
  return g_machine->hosts[host].crashed ? 1 : 0;
}
