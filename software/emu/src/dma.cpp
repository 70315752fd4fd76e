/**
 * @file dma.cpp
 * One DMA engine a host: moves whole lines between memory and the device without the host's cache, in any order. A write
 * counts as stored when it is submitted; a thread knows of it when it has seen the transfer complete.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"

namespace prismem {

namespace {

/** RTL port, random policy: the engine gets late to one in so many transfers, by up to so long. */
constexpr uint64_t kLateOdds = 8, kLateNs = 2000;

bool snoops() {
  return g_machine->cfg.dma_snoop != 0 || g_machine->cfg.coherent != 0;
}

DmaTicket *find_ticket(Host &host, int64_t id) {
  for (DmaTicket &ticket : host.tickets) {
    if (ticket.id == id) return &ticket;
  }
  return nullptr;
}

/** Take the line out of the own cache; for a transfer that snoops. False: its write-back is still under way. */
bool snoop_line(Host &host, uint64_t line, bool write) {
  drop_fills(host, line);
  write_back(host, line, nullptr);
  if (write) invalidate(host, line);
  if (!(host.state[line] & kWriteback)) return true;
  return g_machine->port->force(host.id, line);
}

void finish_ticket(Host &host, DmaTicket &ticket) {
  --host.dma_active;
  host.dma_finished.push_back(ticket.ordinal);
  for (bool moved = true; moved;) {
    moved = false;
    for (const uint64_t ordinal : host.dma_finished) {
      if (ordinal != host.dma_prefix + 1) continue;
      ++host.dma_prefix;
      moved = true;
    }
  }
  std::erase_if(host.dma_finished, [&](uint64_t ordinal) { return ordinal <= host.dma_prefix; });
}

void issue_line(Host &host, DmaTicket &ticket, uint32_t index) {
  const uint64_t line = (ticket.offset >> kLineShift) + index;
  Request *request = new_request(ticket.dir == 0 ? RequestKind::kDmaWrite : RequestKind::kDmaRead, host.id, line);
  request->owner = static_cast<uint32_t>(ticket.id);
  if (ticket.dir == 0) {
    memcpy(request->data.data(), ticket.memory + static_cast<size_t>(index) * kLineBytes, kLineBytes);
    request->mask = request->dirty = ~0ull;
    request->meta.fill(ticket.meta);
  }
  ++host.dma_in_flight;
  Machine &m = *g_machine;
  if (ticket.dir == 0 && snoops() && (m.quirks & EMU_QUIRK_DDIO) && m.rng.one_in(2)) {
    allocate_written(*request);
    complete_request(request);
  } else if (m.port->submit(request)) {
    complete_request(request);
  }
}

void take_line(Host &host, DmaTicket &ticket, size_t slot) {
  const uint32_t index = ticket.todo[slot];
  ticket.todo[slot] = ticket.todo.back();
  ticket.todo.pop_back();
  issue_line(host, ticket, index);
}

/** Issue one random line of one random transfer. False: nothing to issue now. */
bool issue_one(Host &host) {
  Machine &m = *g_machine;
  if (m.rtl && host.dma_in_flight >= kDmaLinesInFlight) return false;
  uint32_t candidates = 0;
  const auto may_issue = [&](const DmaTicket &ticket) {
    return !ticket.todo.empty() && (!m.rtl || ticket.start_ns <= m.now_ns);
  };
  for (const DmaTicket &ticket : host.tickets) candidates += may_issue(ticket);
  if (candidates == 0) return false;
  uint64_t pick = m.rng.below(candidates);
  for (DmaTicket &ticket : host.tickets) {
    if (!may_issue(ticket) || pick-- != 0) continue;
    const size_t slot = m.rng.below(ticket.todo.size());
    const uint32_t index = ticket.todo[slot];
    if (crash_dma_line(host)) return false;
    if (snoops() && !snoop_line(host, (ticket.offset >> kLineShift) + index, ticket.dir == 0)) return false;
    record(EMU_CHOICE_DMA, host.id, (ticket.offset >> kLineShift) + index);
    take_line(host, ticket, slot);
    return true;
  }
  return false;
}

}  // namespace

void dma_progress(Host &host, uint32_t lines) {
  for (uint32_t i = 0; i < lines && issue_one(host); ++i) {
  }
  crash_leave();
}

void dma_issue(Host &host) {
  while (issue_one(host)) {
  }
}

bool act_dma(Host &host, uint64_t line) {
  for (DmaTicket &ticket : host.tickets) {
    for (size_t slot = 0; slot < ticket.todo.size(); ++slot) {
      if ((ticket.offset >> kLineShift) + ticket.todo[slot] != line) continue;
      if (snoops() && !snoop_line(host, line, ticket.dir == 0)) return false;
      record(EMU_CHOICE_DMA, host.id, line);
      take_line(host, ticket, slot);
      return true;
    }
  }
  return false;
}

void dma_in_order(Host &host) {
  for (;;) {
    DmaTicket *first = nullptr;
    for (DmaTicket &ticket : host.tickets) {
      if (!ticket.todo.empty() && (first == nullptr || ticket.ordinal < first->ordinal)) first = &ticket;
    }
    if (first == nullptr) return;
    const size_t slot =
        static_cast<size_t>(std::min_element(first->todo.begin(), first->todo.end()) - first->todo.begin());
    const uint64_t line = (first->offset >> kLineShift) + first->todo[slot];
    if (snoops() && !snoop_line(host, line, first->dir == 0)) return;
    take_line(host, *first, slot);
  }
}

bool dma_any() {
  for (const Host &host : g_machine->hosts) {
    if (host.dma_active != 0) return true;
  }
  return false;
}

uint64_t dma_next_start() {
  uint64_t next = kNever;
  for (const Host &host : g_machine->hosts) {
    if (host.dma_active == 0) continue;
    for (const DmaTicket &ticket : host.tickets) {
      if (!ticket.todo.empty() && ticket.start_ns > g_machine->now_ns) next = std::min(next, ticket.start_ns);
    }
  }
  return next;
}

void dma_line_done(Request *request) {
  Host &host = g_machine->hosts[request->host];
  DmaTicket *ticket = find_ticket(host, request->owner);
  --host.dma_in_flight;
  if (ticket == nullptr) return;
  if (ticket->dir == 1) {
    const uint64_t index = request->line - (ticket->offset >> kLineShift);
    memcpy(ticket->memory + index * kLineBytes, request->data.data(), kLineBytes);
    check_dma_read(host, *ticket, request->line, request->meta.data());
    ++host.count.dma_lines_out;
  } else {
    ++host.count.dma_lines_in;
  }
  if (++ticket->done == ticket->lines) finish_ticket(host, *ticket);
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int64_t emu_dma_submit(int dir, void *pool_addr, void *mem, size_t bytes) {
  if (g_machine == nullptr || g_machine->current == nullptr) {
    set_error("emu_dma_submit: called outside of an emulated thread");
    return -EINVAL;
  }
  Machine &m = *g_machine;
  Thread &thread = *m.current;
  const uint64_t address = reinterpret_cast<uint64_t>(pool_addr);
  const uint64_t memory = reinterpret_cast<uint64_t>(mem);
  const uint64_t pc = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  if (in_any_view(address) && !in_view(address)) foreign_access(address, pc);
  if (!in_view(address) || bytes > m.cfg.pool_bytes - (address - g_fast.view)) {
    set_error("pool_addr: %p and %zu bytes are not inside the pool", pool_addr, bytes);
    return -EINVAL;
  }
  if (dir < 0 || dir > 1 || bytes == 0 || bytes % kLineBytes != 0 || (address - g_fast.view) % kLineBytes != 0) {
    set_error("dir %d, offset %llu, bytes %zu: dir is 0 or 1, offset and size are multiples of 64", dir,
              static_cast<unsigned long long>(address - g_fast.view), bytes);
    return -EINVAL;
  }
  if (in_any_view(memory)) {
    set_error("mem: %p is in the pool; the DMA engine moves lines between the pool and ordinary memory", mem);
    return -EINVAL;
  }
  Host &host = m.hosts[thread.host];
  count_step();
  DmaTicket *ticket = find_ticket(host, 0);
  if (ticket == nullptr) {
    if (host.tickets.size() >= kDmaTicketsMax) return -EAGAIN;
    ticket = &host.tickets.emplace_back();
  }
  ticket->id = host.dma_next_id++;
  ticket->dir = dir;
  ticket->offset = address - g_fast.view;
  ticket->memory = static_cast<uint8_t *>(mem);
  ticket->lines = static_cast<uint32_t>(bytes / kLineBytes);
  ticket->done = 0;
  ticket->start_ns = kNever;
  ticket->ordinal = ++host.dma_ordinal;
  ticket->pc = pc_id(pc);
  ticket->todo.resize(ticket->lines);
  for (uint32_t i = 0; i < ticket->lines; ++i) {
    ticket->todo[i] = i;
    note_use(host, (ticket->offset >> kLineShift) + i);
  }
  ++host.dma_active;
  const int64_t id = ticket->id;
  shadow_dma_submit(thread, *ticket);
  if (m.rtl) {
    realise_debt(0);
    const bool late = m.cfg.policy == EMU_POLICY_RANDOM && m.cfg.event_every != 0 && m.rng.one_in(kLateOdds);
    find_ticket(host, id)->start_ns = late ? m.now_ns + m.rng.below(kLateNs) : 0;
    dma_issue(host);
  }
  return id;
}

PRISMEM_EXPORT int emu_dma_poll(int64_t id) {
  if (g_machine == nullptr || g_machine->current == nullptr || id <= 0) return -EINVAL;
  Machine &m = *g_machine;
  Thread &thread = *m.current;
  Host &host = m.hosts[thread.host];
  count_step();
  DmaTicket *ticket = find_ticket(host, id);
  if (ticket == nullptr) return -EINVAL;
  if (!m.rtl && ticket->done != ticket->lines) {
    const AtSite at(Site::kPoll);
    m.chooser->at_dma_poll(host);
    ticket = find_ticket(host, id);
  }
  if (ticket->done != ticket->lines) {
    if (m.rtl) realise_debt(m.cfg.pause_ns == 0 ? 1 : m.cfg.pause_ns);
    return 0;
  }
  if (detecting()) {
    Clock engine(host.id + 1, 0);
    engine[host.id] = static_cast<uint32_t>(host.dma_prefix);
    clock_join(thread.clock, engine);
    clock_join(thread.clock, ticket->clock);
  }
  ticket->id = 0;
  return 1;
}
