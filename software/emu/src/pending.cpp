/**
 * @file pending.cpp
 * Flushes, store fences and streaming stores that a thread has issued and that have not taken effect yet.
 *
 *   CLFLUSH             no later than the thread's next store, CLFLUSH, fence or locked operation
 *   CLFLUSHOPT, CLWB    any time up to the next fence or locked operation, in any order, after those of the same line
 *   SFENCE              waits here too: it holds back later stores, never later loads
 *   streaming stores    in a write-combining buffer, any time up to the next fence or own access of that line
 * Ordinary stores act at once in the host's view, so "after older stores to its own line" holds by itself.
 */
#include <cstring>

#include "access.hpp"
#include "chooser.hpp"
#include "port.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace prismem {

namespace {

bool ordered(const Pending &older, const Pending &younger) {
  if (older.kind == PendingKind::kStoreFence || younger.kind == PendingKind::kStoreFence) return true;
  if (older.kind == PendingKind::kFlush && younger.kind == PendingKind::kFlush) return true;
  return older.line == younger.line;
}

/** The thread's fences have to wait for a write-back of this line that is already under way. */
void wait_for_writeback(Thread &thread, Host &host, uint64_t line) {
  if (!(host.state[line] & kWriteback) || g_machine->port->posted()) return;
  Request *last = nullptr;
  for (Request *request : host.in_flight) {
    if (request->line == line && !is_read(request->kind)) last = request;
  }
  if (last == nullptr) return;
  for (Request *request : host.deferred) {
    if (request->line == line) last = request;
  }
  last->waiters.push_back(static_cast<uint16_t>(thread.tid));
  ++thread.writes_in_flight;
}

void commit_stream(Thread &thread, Host &host, Pending &entry) {
  drop_fills(host, entry.line);
  write_back(host, entry.line, &thread);
  invalidate(host, entry.line);
  Request *request = new_request(RequestKind::kStream, host.id, entry.line);
  request->data = entry.data;
  request->mask = entry.mask;
  request->dirty = entry.mask;
  for (uint32_t i = 0; i < kWordsPerLine; ++i) request->meta[i] = WordMeta{entry.tag, entry.epoch, entry.pc};
  --thread.streams;
  submit_write(request, &thread);
}

void commit(Thread &thread, Pending &entry) {
  if (entry.kind == PendingKind::kStoreFence) {
    thread.writes_ordered = thread.writes_in_flight != 0;
    return;
  }
  Host &host = g_machine->hosts[thread.host];
  const uint64_t line = entry.line;
  note(entry.kind == PendingKind::kStream ? Decision::kStream : Decision::kRetire, static_cast<uint64_t>(thread.tid),
       static_cast<uint64_t>(entry.kind), line, nullptr);
  if (UNLIKELY(g_machine->tracing)) {
    trace(Event::kCommit, host.id, line << kLineShift, 0, pc_of(entry.pc), static_cast<uint64_t>(entry.kind));
  }
  if (entry.kind == PendingKind::kStream) {
    commit_stream(thread, host, entry);
    return;
  }
  if (!(g_machine->quirks & EMU_QUIRK_FILL_SURVIVES)) drop_fills(host, line);
  const bool dirty = host.dirty[line] != 0;
  if (dirty) {
    write_back(host, line, &thread);
  } else {
    wait_for_writeback(thread, host, line);
  }
  bool keep = false;
  if (entry.kind == PendingKind::kWriteBack) {
    const uint32_t choice = g_machine->cfg.clwb;
    keep = choice == EMU_CLWB_KEEP || (choice == EMU_CLWB_MAY && g_machine->chooser->clwb_keeps(line));
    if (!keep && choice == EMU_CLWB_MAY) record(EMU_CHOICE_CLWB, 0, line);
  }
  if (!keep) invalidate(host, line);
  if (entry.kind == PendingKind::kFlush && thread.writes_in_flight != 0) thread.writes_ordered = true;
  g_machine->chooser->at_commit(host, line);
}

void push(Thread &thread, const Pending &entry) {
  while (thread.pending.size() >= kPendingMax) commit_at(thread, 0);
  thread.pending.push_back(entry);
  update_gate(thread);
}

void wait_for_writes(Thread &thread) {
  while (thread.writes_in_flight != 0) {
    thread.wait_line = kNever;
    block_current(ThreadState::kMemory, "its write-backs");
  }
}

Thread &current() {
  return *g_machine->current;
}

}  // namespace

bool may_commit(const Thread &thread, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (ordered(thread.pending[i], thread.pending[index])) return false;
  }
  return true;
}

void commit_at(Thread &thread, size_t index) {
  Pending entry = thread.pending[index];
  thread.pending.erase(index);
  const AtSite at(Site::kCommit);
  commit(thread, entry);
  update_gate(thread);
}

void update_gate(Thread &thread) {
  if (g_machine->current != &thread) return;
  g_fast.store_gate =
      thread.streams != 0 || thread.writes_ordered || g_fast.crash_armed != 0 || thread.pending.holds_stores();
}

void issue_flush(PendingKind kind, uint64_t address, uint64_t pc) {
  if (!in_view(address)) {
    if (in_any_view(address)) foreign_access(address, pc);
    return;
  }
  const uint64_t line = (address - g_fast.view) >> kLineShift;
  Thread &thread = current();
  Host &host = g_machine->hosts[thread.host];
  if (!verb_acts(static_cast<VerbKind>(kind), pc, host.state[line] == 0)) return;
  g_fast.store_armed = 0;
  crash_point();
  thread.next_line = line;
  count_step();
  ++host.count.flushes;
  note_use(host, line);
  static constexpr Event events[] = {Event::kFlush, Event::kFlushOpt, Event::kClwb};
  trace(events[static_cast<size_t>(kind)], host.id, address - g_fast.view, 0, pc);
  if (kind == PendingKind::kFlush) {  // ordered after older CLFLUSH and SFENCE: they need not wait any longer
    drain_for_store(thread);
  }
  Pending entry{};
  entry.kind = kind;
  entry.line = line;
  entry.pc = pc_id(pc);
  push(thread, entry);
}

void issue_store_fence(uint64_t pc) {
  if (g_machine == nullptr || g_machine->current == nullptr) return;
  if (!verb_acts(VerbKind::kStoreFence, pc, current().pending.empty())) return;
  g_fast.store_armed = 0;
  crash_point();
  Thread &thread = current();
  thread.next_line = kNever;
  count_step();
  ++g_machine->hosts[thread.host].count.fences;
  trace(Event::kStoreFence, thread.host, kNever, 0, pc);
  if (thread.pending.empty()) return;
  if (thread.pending.back().kind == PendingKind::kStoreFence) return;
  Pending entry{};
  entry.kind = PendingKind::kStoreFence;
  push(thread, entry);
}

void issue_stream(uint64_t address, const void *data, uint32_t bytes, uint64_t pc) {
  g_fast.store_armed = 0;
  crash_point();
  Thread &thread = current();
  Host &host = g_machine->hosts[thread.host];
  thread.next_line = (address - g_fast.view) >> kLineShift;
  count_step();
  ++g_fast.stores;
  const uint64_t offset = address - g_fast.view;
  const uint64_t line = offset >> kLineShift;
  const uint64_t begin = offset & (kLineBytes - 1);
  note_use(host, line);
  Pending *buffer = nullptr;
  for (Pending &entry : thread.pending) {
    if (entry.line == line && entry.kind != PendingKind::kStoreFence)
      buffer = entry.kind == PendingKind::kStream ? &entry : nullptr;
  }
  if (buffer == nullptr) {
    while (thread.streams >= kStreamBuffersMax) {
      size_t oldest = 0;
      while (thread.pending[oldest].kind != PendingKind::kStream) ++oldest;
      commit_streams(thread, thread.pending[oldest].line);
    }
    evict(host, line);
    Pending entry{};
    entry.kind = PendingKind::kStream;
    entry.line = line;
    entry.pc = pc_id(pc);
    ++thread.streams;
    push(thread, entry);
    buffer = &thread.pending.back();
  }
  trace(Event::kStream, host.id, offset, bytes, pc);
  memcpy(buffer->data.data() + begin, data, bytes);
  buffer->mask |= (bytes == kLineBytes ? ~0ull : ((1ull << bytes) - 1)) << begin;
  shadow_stream(thread, *buffer, offset, bytes);
}

void drain_for_store(Thread &thread) {
  size_t held = 0;  // entries up to the last SFENCE or CLFLUSH that have to go
  for (size_t i = 0; i < thread.pending.size(); ++i) {
    if (thread.pending[i].kind == PendingKind::kStoreFence) held = i + 1;
  }
  while (held-- != 0) commit_at(thread, 0);
  for (size_t i = 0; i < thread.pending.size();) {
    if (thread.pending[i].kind != PendingKind::kFlush) {
      ++i;
      continue;
    }
    const uint64_t line = thread.pending[i].line;
    for (size_t j = 0; j < i;) {
      if (thread.pending[j].line == line) {
        commit_at(thread, j);
        --i;
      } else {
        ++j;
      }
    }
    commit_at(thread, i);
  }
  if (thread.writes_ordered) wait_for_writes(thread);
}

void commit_all_pending(Thread &thread) {
  while (!thread.pending.empty()) commit_at(thread, 0);
}

void drain_all(Thread &thread) {
  commit_all_pending(thread);
  wait_for_writes(thread);
}

void commit_streams(Thread &thread, uint64_t line) {
  for (size_t i = 0; i < thread.pending.size(); ++i) {
    if (thread.pending[i].line != line || thread.pending[i].kind != PendingKind::kStream) continue;
    for (size_t before = i; before != 0; --before) commit_at(thread, 0);
    commit_at(thread, 0);
    return;
  }
}

}  // namespace prismem
