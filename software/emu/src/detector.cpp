/**
 * @file detector.cpp
 * Stale reads and lost updates, found by versions and vector clocks and not by values: they are reported even where the
 * bytes happen to agree. Each 8-byte word has a shadow in every place where its bytes are: in the host copies, in
 * write-backs under way, in the device; `newest` is the youngest store by anyone.
 *
 * stale read   a load sees a version although a store that supersedes it happens before the load
 * lost update  a whole-line write-back overwrites, in the device, a word that is newer than the one the line was filled
 *              with: always for bytes that the host has not stored itself; for its own bytes when its store happens before
 *              the newer one, when a locked operation made them (it has read what is gone), and when both stores are plain
 *              ones that nothing orders. Atomic stores may race, and so may stores of whole lines, which owe nothing to what
 *              was there: the last one wins by design
 */
#include <algorithm>
#include <unordered_map>

#include "access.hpp"

namespace prismem {

PcCacheEntry g_pc_cache[kPcCacheEntries];

namespace {
std::vector<uint64_t> g_pcs;
std::unordered_map<uint64_t, uint32_t> g_pc_ids;
}  // namespace

uint32_t intern_pc(uint64_t pc) {
  const auto [it, fresh] = g_pc_ids.try_emplace(pc, static_cast<uint32_t>(g_pcs.size()));
  if (fresh) g_pcs.push_back(pc);
  g_pc_cache[(pc ^ (pc >> 12)) % kPcCacheEntries] = {pc, it->second};
  return it->second;
}

uint64_t pc_of(uint32_t id) {
  return id < g_pcs.size() ? g_pcs[id] : 0;
}

void detector_reset() {
  g_pcs.assign(1, 0);
  g_pc_ids.clear();
  g_pc_ids[0] = 0;
  std::fill(std::begin(g_pc_cache), std::end(g_pc_cache), PcCacheEntry{0, 0});
}

bool happens_before(const WordMeta &store, const Clock &clock) {
  const uint32_t actor = store.actor();
  if (actor == kNobody || store.version() == 0) return true;
  return actor < clock.size() && clock[actor] >= store.epoch;
}

void shadow_store(Thread &, Host &host, uint64_t offset, uint64_t bytes, uint64_t pc) {
  const uint64_t version = ++g_fast.version;
  const uint32_t id = pc_id(pc);
  const uint64_t first = offset >> 3, last = (offset + bytes - 1) >> 3;
  for (uint64_t line = offset >> kLineShift; line <= (offset + bytes - 1) >> kLineShift; ++line) {
    if (g_fast.sharers[line] & g_fast.others) {
      shadow_shared(line, std::max(first, line * kWordsPerLine), std::min(last, line * kWordsPerLine + 7));
    }
  }
  for (uint64_t word = first; word <= last; ++word) {
    uint64_t touched = 0xff;
    if (word == first) touched &= 0xffull << (offset & 7);
    if (word == last) touched &= 0xffull >> (7 - ((offset + bytes - 1) & 7));
    const WordMeta meta{(version << 24) | ((touched & 0xff) << 16) | g_fast.actor, g_fast.epoch, id};
    host.meta[word] = meta;
    g_fast.newest[word] = meta;
  }
}

void mark_atomic(Host &host, uint64_t offset, uint64_t bytes, bool locked) {
  if (!detecting()) return;
  for (uint64_t word = offset >> 3; word <= (offset + bytes - 1) >> 3; ++word) {
    host.meta[word].tag |= kMayRace;
    g_fast.newest[word].tag |= kMayRace;
    if (locked) host.locked[word / kWordsPerLine] |= static_cast<uint8_t>(1u << (word % kWordsPerLine));
  }
}

void mark_stale(uint64_t line, uint64_t first_word, uint64_t last_word, const Clock &clock, uint64_t hosts) {
  Machine &m = *g_machine;
  uint64_t holders = m.sharers[line] & hosts;
  while (holders != 0) {
    Host &other = m.hosts[static_cast<size_t>(__builtin_ctzll(holders))];
    holders &= holders - 1;
    other.state[line] |= kCheck;
    if (other.dirty[line] == 0) continue;
    for (uint64_t word = first_word; word <= last_word; ++word) {
      const uint64_t bytes = (other.dirty[line] >> ((word % kWordsPerLine) * 8)) & 0xff;
      if (bytes != 0 && happens_before(other.meta[word], clock)) {
        other.superseded[line] |= static_cast<uint8_t>(1u << (word % kWordsPerLine));
      }
    }
  }
}

void shadow_shared(uint64_t line, uint64_t first_word, uint64_t last_word) {
  mark_stale(line, first_word, last_word, g_machine->current->clock, g_fast.others);
}

void shadow_stream(Thread &thread, Pending &pending, uint64_t offset, uint64_t bytes) {
  if (!detecting()) return;
  Machine &m = *g_machine;
  const uint64_t version = ++g_fast.version;
  const uint64_t first = offset >> 3, last = (offset + bytes - 1) >> 3;
  mark_stale(pending.line, first, last, thread.clock, ~0ull);
  for (uint64_t word = first; word <= last; ++word) {
    m.newest[word] = WordMeta{(version << 24) | (0xffull << 16) | thread.actor, thread.clock[thread.actor], pending.pc};
  }
  pending.tag = (version << 24) | (0xffull << 16) | thread.actor;
  pending.epoch = thread.clock[thread.actor];
}

namespace {

/**
 * The newer store that this load of a clean word had to see, or nullptr. Stores of two hosts that race have no order until
 * they land in the device, so the number of a version alone proves nothing: what the device holds now has landed after
 * what was seen, and a newest store that has not landed will.
 */
const WordMeta *missed_store(const WordMeta &seen, uint64_t word, const Clock &clock) {
  const Machine &m = *g_machine;
  const WordMeta &device = m.device.meta[word];
  if (device.version() != seen.version() && happens_before(device, clock)) return &device;
  const WordMeta &newest = m.newest[word];
  if (newest.version() <= seen.version() || m.device.landed[word] >= newest.version()) return nullptr;
  return happens_before(newest, clock) ? &newest : nullptr;
}

void report_stale(uint64_t word, const WordMeta &missed, int host, int thread, uint32_t pc, const char *how) {
  Fault fault;
  fault.kind = "stale_read";
  fault.time_ns = now_ns();
  fault.offset = word * 8;
  fault.host = host;
  fault.thread = thread;
  fault.pc = pc;
  fault.other_host = actor_host(missed.actor());
  fault.other_thread = actor_thread(missed.actor());
  fault.other_pc = missed.pc;
  char where[64];
  snprintf(where, sizeof where, "pool+0x%llx (line %llu)", static_cast<unsigned long long>(word * 8),
           static_cast<unsigned long long>(word / kWordsPerLine));
  fault.message = "stale read: host " + std::to_string(host) + " reads " + where + how +
                  " at \1: its copy was taken before " + actor_text(missed.actor()) +
                  " wrote it at \2, which happens before this read";
  raise_fault(std::move(fault));
}

}  // namespace

void check_load(Thread &thread, Host &host, uint64_t offset, uint64_t bytes, uint64_t pc) {
  for (uint64_t word = offset >> 3; word <= (offset + bytes - 1) >> 3; ++word) {
    const uint64_t line = word / kWordsPerLine;
    const uint32_t index = static_cast<uint32_t>(word % kWordsPerLine);
    const WordMeta *missed = nullptr;
    if (((host.dirty[line] >> (index * 8)) & 0xff) == 0) {
      missed = missed_store(host.meta[word], word, thread.clock);
    } else if ((host.superseded[line] & (1u << index)) && happens_before(g_fast.newest[word], thread.clock)) {
      missed = &g_fast.newest[word];
    }
    if (missed == nullptr) continue;
    report_stale(word, *missed, static_cast<int>(host.id), thread.tid, pc_id(pc), "");
    return;
  }
}

void check_dma_read(const Host &host, const DmaTicket &ticket, uint64_t line, const WordMeta *seen) {
  if (!detecting()) return;
  for (uint32_t i = 0; i < kWordsPerLine; ++i) {
    const WordMeta *missed = missed_store(seen[i], line * kWordsPerLine + i, ticket.clock);
    if (missed == nullptr) continue;
    report_stale(line * kWordsPerLine + i, *missed, static_cast<int>(host.id), actor_thread(ticket.meta.actor()),
                 ticket.pc, " by DMA submitted");
    return;
  }
}

void shadow_fill(Host &host, const Request &request) {
  if (!detecting()) return;
  const uint64_t first = request.line * kWordsPerLine;
  bool stale = false;
  for (uint32_t i = 0; i < kWordsPerLine; ++i) {
    host.meta[first + i] = request.meta[i];
    host.base[first + i] = request.meta[i].version();
    stale |= g_machine->newest[first + i].version() != request.meta[i].version();
  }
  host.superseded[request.line] = host.locked[request.line] = 0;
  if (stale) host.state[request.line] |= kCheck;
}

namespace {

/** Why it is wrong that this word of a write-back goes over what the device has; nullptr if it is not. */
const char *why_lost(const Request &request, uint32_t index, const WordMeta &device) {
  if (device.version() == request.base[index] || device.version() == request.meta[index].version()) return nullptr;
  const uint32_t own_bytes = static_cast<uint32_t>(request.dirty >> (index * 8)) & 0xff;
  if ((device.bytes() & ~own_bytes) != 0) return "after the line was filled";
  if (request.superseded & (1u << index)) return "after that store, which happens before it";
  if (actor_thread(device.actor()) < 0) return nullptr;
  if (request.locked & (1u << index)) {
    return "meanwhile: locked operations are atomic within one host, never across hosts";
  }
  const WordMeta &own = request.meta[index];
  if (own.atomic() || device.atomic() || actor_thread(own.actor()) < 0) return nullptr;
  if (request.dirty == ~0ull) return nullptr;
  // What its thread does not know of by now it did not know of when it stored.
  const Thread &thread = *g_machine->threads[static_cast<size_t>(actor_thread(own.actor()))];
  return happens_before(device, thread.clock) ? nullptr : "without an order between the two stores (a data race)";
}

}  // namespace

void check_device_write(const Request &request) {
  if (!detecting() || request.kind != RequestKind::kWriteBack) return;
  const uint64_t first = request.line * kWordsPerLine;
  for (uint32_t i = 0; i < kWordsPerLine; ++i) {
    const WordMeta &device = g_machine->device.meta[first + i];
    const char *why = why_lost(request, i, device);
    if (why == nullptr) continue;
    const uint32_t own_bytes = static_cast<uint32_t>(request.dirty >> (i * 8)) & 0xff;
    // The store that made the line dirty is where the fault begins; take the host's youngest word.
    uint32_t culprit = i;
    if (own_bytes == 0) {
      for (uint32_t j = 0; j < kWordsPerLine; ++j) {
        if ((request.dirty >> (j * 8)) & 0xff) culprit = j;
      }
    }
    const WordMeta &own = request.meta[culprit];
    Fault fault;
    fault.kind = "lost_update";
    fault.time_ns = now_ns();
    fault.offset = (first + i) * 8;
    fault.host = static_cast<int>(request.host);
    fault.thread = actor_thread(own.actor());
    fault.pc = own.pc;
    fault.other_host = actor_host(device.actor());
    fault.other_thread = actor_thread(device.actor());
    fault.other_pc = device.pc;
    char where[64];
    snprintf(where, sizeof where, "pool+0x%llx (line %llu)", static_cast<unsigned long long>(fault.offset),
             static_cast<unsigned long long>(request.line));
    fault.message = "lost update: host " + std::to_string(request.host) + " writes back line " +
                    std::to_string(request.line) + ", dirty since \1, over " + where + ", which " +
                    actor_text(device.actor()) + " wrote at \2 " + why;
    raise_fault(std::move(fault));
    return;
  }
}

void shadow_device_write(const Request &request, uint64_t mask) {
  if (!detecting()) return;
  const uint64_t first = request.line * kWordsPerLine;
  for (uint32_t i = 0; i < kWordsPerLine; ++i) {
    if (((mask >> (i * 8)) & 0xff) == 0) continue;
    WordMeta meta = request.meta[i];
    const uint64_t dirty = (request.dirty >> (i * 8)) & 0xff;
    if (dirty != 0) meta.tag = (meta.tag & ~(0xffull << 16)) | (dirty << 16);
    g_machine->device.meta[first + i] = meta;
    g_machine->device.landed[first + i] = std::max(g_machine->device.landed[first + i], meta.version());
  }
}

void shadow_dma_submit(Thread &thread, DmaTicket &ticket) {
  ticket.clock = thread.clock;
  if (!detecting()) return;
  const uint32_t actor = thread.host;  // the engine of this host
  ticket.meta = {(++g_fast.version << 24) | (0xffull << 16) | (ticket.dir == 0 ? actor : thread.actor),
                 static_cast<uint32_t>(ticket.ordinal), ticket.pc};
  if (ticket.dir != 0) return;
  for (uint32_t i = 0; i < ticket.lines; ++i) {
    const uint64_t line = (ticket.offset >> kLineShift) + i;
    const uint64_t first = line * kWordsPerLine;
    mark_stale(line, first, first + kWordsPerLine - 1, thread.clock, ~0ull);
    for (uint32_t j = 0; j < kWordsPerLine; ++j) g_machine->newest[first + j] = ticket.meta;
  }
}

void shadow_loader_write(uint64_t offset, uint64_t bytes) {
  if (!detecting() || bytes == 0) return;
  Machine &m = *g_machine;
  const uint64_t version = ++g_fast.version;
  for (uint64_t word = offset >> 3; word <= (offset + bytes - 1) >> 3; ++word) {
    m.newest[word] = m.device.meta[word] = WordMeta{(version << 24) | (0xffull << 16) | kNobody, 0, 0};
    m.device.landed[word] = version;
    if (m.sharers[word / kWordsPerLine] != 0) mark_stale(word / kWordsPerLine, word, word, Clock{}, ~0ull);
  }
}

}  // namespace prismem
