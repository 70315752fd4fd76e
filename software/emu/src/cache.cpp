/**
 * @file cache.cpp
 * The private write-back cache of a host: fills, write-backs, evictions. Its data is the host's own view of the pool, so
 * a line that is invalid here still has bytes there; only the state says whether a load may see them.
 */
#include <cstring>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"
#include "trace.hpp"

namespace prismem {

namespace {

void add_line(Host &host, uint64_t line) {
  host.slot[line] = static_cast<uint32_t>(host.lines.size());
  host.lines.push_back(line);
  g_machine->sharers[line] |= 1ull << host.id;
}

void remove_line(Host &host, uint64_t line) {
  const uint64_t last = host.lines.back();
  host.lines[host.slot[line]] = last;
  host.slot[last] = host.slot[line];
  host.lines.pop_back();
  g_machine->sharers[line] &= ~(1ull << host.id);
}

bool pinned(const Host &host, uint64_t line) {
  for (const Pin &pin : host.pins) {
    if (pin.first <= line && line <= pin.last) return true;
  }
  return false;
}

/** Hand the request to the port; remember it while it is on its way. */
void submit(Host &host, Request *request) {
  if (g_machine->port->submit(request)) {
    complete_request(request);
  } else {
    host.in_flight.push_back(request);
  }
}

void make_room(Host &host) {
  while (host.lines.size() >= kCacheLinesMax) {
    const uint64_t line = host.lines[g_machine->chooser->pick(host.lines.size())];
    if (!pinned(host, line)) evict(host, line);
  }
}

void install(Request &request) {
  Host &host = g_machine->hosts[request.host];
  const uint64_t line = request.line;
  make_room(host);
  memcpy(host.view + (line << kLineShift), request.data.data(), kLineBytes);
  host.state[line] = kValid;
  host.dirty[line] = 0;
  add_line(host, line);
  shadow_fill(host, request);
  trace(request.kind == RequestKind::kFill ? Event::kFill : Event::kPrefetch, host.id, line << kLineShift, kLineBytes);
}

void wake_waiting(uint32_t host, uint64_t line) {
  for (auto &thread : g_machine->threads) {
    if (thread->state == ThreadState::kMemory && thread->host == host && thread->wait_line == line) {
      thread->wait_line = kNever;
      wake(*thread);
    }
  }
}

}  // namespace

void note_use(Host &host, uint64_t line) {
  Machine &m = *g_machine;
  if (m.touched[line] == 0) m.touched_lines.push_back(line);
  m.touched[line] |= 1ull << host.id;
  const uint32_t newest = (m.recent_count - 1) % kRecentLines;
  if (m.recent_count != 0 && m.recent[newest] == line) return;
  m.recent[m.recent_count++ % kRecentLines] = line;
}

bool fill_line(Thread &thread, Host &host, uint64_t line) {
  Machine &m = *g_machine;
  bool away = false;
  bool paid = false;
  note_use(host, line);
  while (!(host.state[line] & kValid)) {
    if (thread.streams != 0) commit_streams(thread, line);
    if (m.rtl && !paid) {
      paid = true;
      if (realise_debt(m.cfg.jitter_ns == 0 ? 0 : m.rng.below(m.cfg.jitter_ns + 1ull))) {
        away = true;
        continue;
      }
    }
    if (host.state[line] & kWriteback) {
      if (m.port->force(host.id, line)) continue;
    } else if (!(host.state[line] & kFilling)) {
      ++host.count.fills;
      Request *request = new_request(RequestKind::kFill, host.id, line);
      host.state[line] |= kFilling;
      submit(host, request);
      if (host.state[line] & kValid) continue;
    }
    thread.wait_line = line;
    block_current(ThreadState::kMemory, "a line");
    away = true;
  }
  return away;
}

void prefetch_line(Host &host, uint64_t line) {
  if (host.state[line] != 0) return;
  ++host.count.prefetches;
  Request *request = new_request(RequestKind::kPrefetch, host.id, line);
  host.state[line] |= kFilling;
  submit(host, request);
}

void drop_fills(Host &host, uint64_t line) {
  if (!(host.state[line] & kFilling)) return;
  for (Request *request : host.in_flight) {
    if (request->line == line && is_read(request->kind)) request->dropped = true;
  }
  host.state[line] &= static_cast<uint8_t>(~kFilling);
}

void submit_write(Request *request, Thread *thread) {
  Machine &m = *g_machine;
  Host &host = m.hosts[request->host];
  if (thread != nullptr && !m.port->posted()) {
    request->waiters.push_back(static_cast<uint16_t>(thread->tid));
    ++thread->writes_in_flight;
  }
  if (host.state[request->line] & kWriteback) {
    host.deferred.push_back(request);
    return;
  }
  host.state[request->line] |= kWriteback;
  submit(host, request);
}

void write_back(Host &host, uint64_t line, Thread *thread) {
  if (host.dirty[line] == 0) return;
  ++host.count.writebacks;
  Request *request = new_request(RequestKind::kWriteBack, host.id, line);
  memcpy(request->data.data(), host.view + (line << kLineShift), kLineBytes);
  request->mask = ~0ull;
  request->dirty = host.dirty[line];
  if (detecting()) {
    request->superseded = host.superseded[line];
    request->locked = host.locked[line];
    host.superseded[line] = host.locked[line] = 0;
    for (uint32_t i = 0; i < kWordsPerLine; ++i) {
      const uint64_t word = line * kWordsPerLine + i;
      request->meta[i] = host.meta[word];
      request->base[i] = host.base[word];
      host.base[word] = host.meta[word].version();
    }
  }
  if (LIKELY(!pinned(host, line))) host.dirty[line] = 0;
  submit_write(request, thread);
}

void invalidate(Host &host, uint64_t line) {
  if (!(host.state[line] & kValid) || pinned(host, line)) return;
  host.state[line] &= static_cast<uint8_t>(~(kValid | kCheck));
  host.dirty[line] = 0;
  remove_line(host, line);
  trace(Event::kDrop, host.id, line << kLineShift);
}

void evict(Host &host, uint64_t line) {
  if (!(host.state[line] & kValid) || pinned(host, line)) return;
  ++host.count.evictions;
  Machine &m = *g_machine;
  if ((m.quirks & EMU_QUIRK_SPURIOUS) && host.dirty[line] == 0 && m.rng.one_in(2)) host.dirty[line] = ~0ull;
  trace(Event::kEvict, host.id, line << kLineShift, 0, 0, host.dirty[line]);
  write_back(host, line, nullptr);
  invalidate(host, line);
}

void allocate_written(Request &request) {
  Host &host = g_machine->hosts[request.host];
  install(request);
  host.dirty[request.line] = ~0ull;
}

void first_store(Host &host, uint64_t line) {
  note_use(host, line);
  const AtSite at(Site::kStore);
  g_machine->chooser->at_first_store(host, line);
}

void complete_request(Request *request) {
  Machine &m = *g_machine;
  Host &host = m.hosts[request->host];
  const uint64_t line = request->line;
  if (request->kind < RequestKind::kDmaRead) std::erase(host.in_flight, request);
  switch (request->kind) {
    case RequestKind::kFill:
    case RequestKind::kPrefetch:
      if (!request->dropped) {
        host.state[line] &= static_cast<uint8_t>(~kFilling);
        install(*request);
      }
      wake_waiting(host.id, line);
      break;
    case RequestKind::kWriteBack:
    case RequestKind::kStream: {
      host.state[line] &= static_cast<uint8_t>(~kWriteback);
      for (const uint16_t tid : request->waiters) {
        Thread &thread = *m.threads[tid];
        if (--thread.writes_in_flight != 0) continue;
        thread.writes_ordered = false;
        if (thread.state == ThreadState::kMemory && thread.wait_line == kNever) wake(thread);
      }
      for (auto it = host.deferred.begin(); it != host.deferred.end(); ++it) {
        if ((*it)->line != line) continue;
        Request *next = *it;
        host.deferred.erase(it);
        submit_write(next, nullptr);
        break;
      }
      wake_waiting(host.id, line);
      break;
    }
    case RequestKind::kDmaRead:
    case RequestKind::kDmaWrite:
      dma_line_done(request);
      break;
    case RequestKind::kTrafficRead:
    case RequestKind::kTrafficWrite:
      break;
  }
  free_request(request);
}

}  // namespace prismem
