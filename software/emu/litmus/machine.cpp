/**
 * @file machine.cpp
 * Layout of a state; rules of threads and of their store buffers.
 */
#include "machine.hpp"

#include <algorithm>

namespace litmus {

Machine::Machine(const Program &program, const Setting &setting) : program_(program), setting_(setting) {
  const bool coherent = setting.mode == Mode::kCoherent;
  const auto place = [&](int host) { return coherent && host != kNobody ? 0 : host; };
  hosts_ = coherent ? 1 : program.hosts();
  posted_ = program.options.completion == Completion::kPosted;
  flights_kept_ = posted_ || program.options.write_unit < 64;
  snoop_host_ = place(program.options.dma_snoop);
  ddio_host_ = place(program.options.ddio);
  cares_for_time_.assign(program.threads.size(), 0);
  for (const Node &node : program.bad.nodes) {
    if (node.kind == Node::Kind::kRegister && !program.crashes.empty()) cares_for_time_[node.thread] = 1;
  }
  lay_out();
  find_reductions();
}

unsigned Machine::buffer_room(const Thread &thread) const {
  unsigned issues = 0;
  for (size_t i = 0; i < thread.code.size(); ++i) {
    const Instruction &instruction = thread.code[i];
    issues += is_issue(instruction.op);
    if ((is_branch(instruction.op) || instruction.op == Op::kJmp) && instruction.target <= i) return kBufferEntries;
  }
  return std::min(issues, kBufferEntries);
}

void Machine::lay_out() {
  size_t next = 0;
  const auto take = [&next](size_t count) {
    const size_t here = next;
    next += count;
    return here;
  };
  for (const Thread &thread : program_.threads) {
    ThreadLayout layout{};
    layout.base = take(3);
    layout.registers = take(thread.registers.size());
    layout.entries = buffer_room(thread);
    layout.buffer = take(layout.entries * kEntryBytes);
    layout.host = setting_.mode == Mode::kCoherent ? 0 : thread.host;
    has_daemon_ = has_daemon_ || thread.daemon;
    threads_.push_back(layout);
  }
  for (unsigned host = 0; host < hosts_; ++host) {
    for (unsigned line = 0; line < program_.lines.size(); ++line) {
      copies_.push_back(take(1u + line_of(line).count));
      flights_.push_back(take(flights_kept_ ? kInFlightMax * slot_bytes(line) : 0));
      fills_.push_back(take(program_.options.fill_survives_flush ? 1u + line_of(line).count : 0));
    }
  }
  device_ = take(program_.words.size());
  channels_ = take(program_.channels.size());
  crashed_ = take(1);
  events_ = take(1);
  bytes_ = (next + 7) / 8 * 8;
}

void Machine::initial(uint8_t *s, std::vector<TraceLine> *trace) const {
  memset(s, 0, bytes_);
  for (size_t i = 0; i < program_.words.size(); ++i) s[device_ + i] = program_.words[i].init;
  for (unsigned host = 0; program_.options.warm && host < hosts_; ++host) {
    for (unsigned line = 0; line < program_.lines.size(); ++line) ensure(s, host, line);
  }
  for (size_t t = 0; t < threads_.size(); ++t) {
    if (program_.threads[t].after_crash) continue;
    s[threads_[t].base] = kRunning;
    set_pc(s, t, 0);
  }
  for (size_t t = 0; t < threads_.size(); ++t) run_local(s, t, trace);
}

void Machine::set_pc(uint8_t *s, size_t thread, size_t pc_new) const {
  pc(s, thread) = static_cast<uint8_t>(pc_new);
  if (pc_new == program_.threads[thread].code.size()) {
    s[threads_[thread].base] = static_cast<uint8_t>((s[threads_[thread].base] & kInside) | kFinished);
  }
}

Machine::Entry Machine::entry(const uint8_t *s, size_t thread, unsigned index) const {
  const uint8_t *at = s + threads_[thread].buffer + index * kEntryBytes;
  return Entry{static_cast<Op>(at[0] & ~kStarted), (at[0] & kStarted) != 0, at[1], at[2]};
}

void Machine::remove_entry(uint8_t *s, size_t thread, unsigned index) const {
  const unsigned count = entries(s, thread);
  uint8_t *at = s + threads_[thread].buffer + index * kEntryBytes;
  memmove(at, at + kEntryBytes, (count - index - 1) * kEntryBytes);
  memset(s + threads_[thread].buffer + (count - 1) * kEntryBytes, 0, kEntryBytes);
  entries(s, thread) = static_cast<uint8_t>(count - 1);
}

bool Machine::ordered(const Entry &older, const Entry &younger) const {
  const auto store = [](Op op) { return op == Op::kStore || op == Op::kUncachedStore; };
  const auto non_temporal = [](Op op) { return op == Op::kNonTemporal || op == Op::kMovdir64b; };
  const bool same_line = program_.words[older.word].dense_line == program_.words[younger.word].dense_line;
  if (older.op == Op::kSfence || younger.op == Op::kSfence) return true;
  if (non_temporal(older.op) || non_temporal(younger.op)) return same_line;
  if (store(older.op)) return store(younger.op) || younger.op == Op::kClflush || same_line;
  if (store(younger.op)) return older.op == Op::kClflush;
  return (older.op == Op::kClflush && younger.op == Op::kClflush) || same_line;
}

bool Machine::buffers_line(const uint8_t *s, size_t thread, unsigned line) const {
  for (unsigned i = 0; i < entries(s, thread); ++i) {
    const Entry here = entry(s, thread, i);
    if (here.op != Op::kStore && here.op <= Op::kUncachedStore && program_.words[here.word].dense_line == line)
      return true;
  }
  return false;
}

bool Machine::is_local(const uint8_t *s, size_t thread) const {
  const Op op = program_.threads[thread].code[pc(s, thread)].op;
  if (op == Op::kMov || op == Op::kAdd) return !cares_for_time_[thread];
  return is_issue(op) || op == Op::kMfence || op == Op::kLfence || is_branch(op) || op == Op::kJmp ||
         op == Op::kCsEnter || op == Op::kStop;
}

bool Machine::can_step(const uint8_t *s, size_t thread) const {
  if (status(s, thread) != kRunning) return false;
  const Instruction &instruction = program_.threads[thread].code[pc(s, thread)];
  const unsigned host = threads_[thread].host;
  if (is_issue(instruction.op)) return entries(s, thread) < threads_[thread].entries;
  switch (instruction.op) {
    case Op::kMfence:
      return entries(s, thread) == 0;
    case Op::kCas:
      return entries(s, thread) == 0 && readable(s, host, instruction.line);
    case Op::kLoad: {
      if (buffers_line(s, thread, instruction.line)) return false;
      for (unsigned i = 0; i < entries(s, thread); ++i) {
        const Entry here = entry(s, thread, i);
        if (here.op == Op::kStore && here.word == instruction.word) return true;
      }
      return readable(s, host, instruction.line);
    }
    case Op::kUncachedLoad:
      return !buffers_line(s, thread, instruction.line) && in_flight(s, host, instruction.line) == 0;
    case Op::kDmaStore:
    case Op::kDmaLoad:
      return can_dma(s, host, instruction);
    case Op::kSend:
      return s[channels_ + instruction.channel] < kMessagesMax;
    case Op::kRecv:
      return s[channels_ + instruction.channel] != 0;
    default:
      return true;
  }
}

void Machine::issue(uint8_t *s, size_t thread, const Instruction &instruction) const {
  uint8_t *at = s + threads_[thread].buffer + entries(s, thread) * kEntryBytes;
  at[0] = static_cast<uint8_t>(instruction.op);
  at[1] = instruction.word;
  at[2] = instruction.op == Op::kMovdir64b ? pc(s, thread) : operand(s, thread, instruction.a);
  ++entries(s, thread);
}

void Machine::step(uint8_t *s, size_t thread, uint8_t choice, std::vector<TraceLine> *trace) const {
  const size_t here = pc(s, thread);
  const Instruction &instruction = program_.threads[thread].code[here];
  const std::vector<uint8_t> before(trace != nullptr ? s : nullptr, trace != nullptr ? s + bytes_ : nullptr);
  const unsigned host = threads_[thread].host;
  uint8_t *reg = s + threads_[thread].registers + instruction.reg;
  size_t next = here + 1;
  const auto own_word = [&]() -> uint8_t * {
    ensure(s, host, instruction.line);
    return s + copy(host, instruction.line) + 1 + instruction.word - line_of(instruction.line).first;
  };
  const auto left = [&] { return value(operand(s, thread, instruction.a)); };
  const auto right = [&] { return value(operand(s, thread, instruction.b)); };
  switch (instruction.op) {
    case Op::kLoad: {
      int youngest = static_cast<int>(entries(s, thread)) - 1;
      const auto matches = [&](const Entry &e) { return e.op == Op::kStore && e.word == instruction.word; };
      while (youngest >= 0 && !matches(entry(s, thread, static_cast<unsigned>(youngest)))) --youngest;
      *reg = youngest >= 0 ? entry(s, thread, static_cast<unsigned>(youngest)).value : *own_word();
      break;
    }
    case Op::kUncachedLoad:
      *reg = s[device_ + instruction.word];
      break;
    case Op::kDmaStore:
    case Op::kDmaLoad:
      dma(s, thread, instruction, choice);
      break;
    case Op::kCas: {  // a failing one writes the old value back: the line is dirty either way
      uint8_t *word = own_word();
      const bool success = *word == operand(s, thread, instruction.a);
      if (success) *word = operand(s, thread, instruction.b);
      own(s, host, instruction.line);
      *reg = program_.values.id(success);
      break;
    }
    case Op::kMov:
      *reg = instruction.a.index;
      break;
    case Op::kAdd:
      *reg = program_.values.id(left() + right());
      break;
    case Op::kBeq:
      if (left() == right()) next = instruction.target;
      break;
    case Op::kBne:
      if (left() != right()) next = instruction.target;
      break;
    case Op::kBlt:
      if (left() < right()) next = instruction.target;
      break;
    case Op::kBle:
      if (left() <= right()) next = instruction.target;
      break;
    case Op::kJmp:
      next = instruction.target;
      break;
    case Op::kCsEnter:
      s[threads_[thread].base] |= kInside;
      break;
    case Op::kCsLeave:
      s[threads_[thread].base] = static_cast<uint8_t>(s[threads_[thread].base] & ~kInside);
      break;
    case Op::kSend:
      ++s[channels_ + instruction.channel];
      break;
    case Op::kRecv:
      --s[channels_ + instruction.channel];
      break;
    case Op::kStop:
      next = program_.threads[thread].code.size();
      break;
    case Op::kMfence:
    case Op::kLfence:
      break;
    default:
      issue(s, thread, instruction);
      break;
  }
  set_pc(s, thread, next);
  if (trace != nullptr) {
    trace->push_back(TraceLine{thread_text(thread), instruction.text, step_effect(before.data(), s, thread),
                               instruction.source_line});
  }
}

void Machine::run_local(uint8_t *s, size_t thread, std::vector<TraceLine> *trace) const {
  if (!setting_.reductions.local) return;
  for (unsigned steps = 0; steps < kEagerMax; ++steps) {
    if (entries(s, thread) != 0 && entry(s, thread, 0).op == Op::kSfence) {
      commit(s, thread, 0, 0, trace);
    } else if (status(s, thread) == kRunning && is_local(s, thread) && can_step(s, thread)) {
      step(s, thread, 0, trace);
    } else {
      return;
    }
  }
}

bool Machine::can_commit(const uint8_t *s, size_t thread, unsigned index) const {
  const Entry younger = entry(s, thread, index);
  for (unsigned i = 0; i < index; ++i) {
    if (ordered(entry(s, thread, i), younger)) return false;
  }
  if (younger.op == Op::kSfence) return true;
  const unsigned host = threads_[thread].host, line = program_.words[younger.word].dense_line;
  if (younger.op == Op::kStore) return readable(s, host, line);
  const unsigned flying = in_flight(s, host, line);
  if (!posted_) return flying == 0;
  const bool dirty = s[copy(host, line)] == kDirty && younger.op != Op::kUncachedStore;
  const unsigned needed = dirty + (is_flush(younger.op) ? 0u : 1u);
  return flying + needed <= kInFlightMax;
}

void Machine::commit(uint8_t *s, size_t thread, unsigned index, uint8_t choice, std::vector<TraceLine> *trace) const {
  const Entry here = entry(s, thread, index);
  const unsigned host = threads_[thread].host;
  const unsigned line = program_.words[here.word].dense_line;
  const Line &where = line_of(line);
  const unsigned within = here.word - where.first;
  const std::vector<uint8_t> before(trace != nullptr ? s : nullptr, trace != nullptr ? s + bytes_ : nullptr);
  uint8_t *own_copy = s + copy(host, line);
  const bool drop_first = here.op == Op::kNonTemporal || here.op == Op::kMovdir64b;
  if (here.op == Op::kStore) {
    own(s, host, line);
    own_copy[1 + within] = here.value;
  } else if (here.op != Op::kSfence && !here.started) {
    if (*own_copy == kDirty && (is_flush(here.op) || drop_first)) write_back(s, host, line);
    if (drop_first || (is_flush(here.op) && choice == 0)) invalidate(s, host, line);
    if (drop_first) drop_fill(s, host, line);
    uint8_t values[kWordsPerLine] = {};
    uint8_t mask = 0;
    if (here.op == Op::kMovdir64b) {
      const std::vector<uint8_t> &given = program_.threads[thread].code[here.value].values;
      for (unsigned i = 0; i < where.count; ++i) {
        const unsigned word = program_.words[where.first + i].index;
        values[i] = word < given.size() ? given[word] : 0;
      }
      mask = static_cast<uint8_t>((1u << where.count) - 1);
    } else if (!is_flush(here.op)) {
      values[within] = here.value;
      mask = static_cast<uint8_t>(1u << within);
    }
    if (mask != 0) device_write(s, host, line, mask, values);
  }
  const bool under_way = here.op != Op::kStore && here.op != Op::kSfence && !posted_ && in_flight(s, host, line) != 0;
  if (under_way) {
    s[threads_[thread].buffer + index * kEntryBytes] |= kStarted;
  } else {
    remove_entry(s, thread, index);
  }
  if (trace != nullptr)
    trace->push_back(TraceLine{thread_text(thread), "", commit_effect(before.data(), s, thread, here), 0});
}

void Machine::moves(const uint8_t *s, std::vector<Move> &out) const {
  out.clear();
  for (size_t t = 0; t < threads_.size(); ++t) {
    const auto actor = static_cast<uint8_t>(t);
    if (can_step(s, t)) {
      out.push_back(Move{Move::Kind::kStep, actor, 0, 0});
      const Instruction &next = program_.threads[t].code[pc(s, t)];
      if (next.op == Op::kDmaStore && static_cast<int>(threads_[t].host) == ddio_host_)
        out.push_back(Move{Move::Kind::kStep, actor, 0, 1});
    }
    for (unsigned i = 0; i < entries(s, t); ++i) {
      if (!can_commit(s, t, i)) continue;
      const Entry here = entry(s, t, i);
      const auto index = static_cast<uint8_t>(i);
      const bool valid = s[copy(threads_[t].host, program_.words[here.word].dense_line)] != kInvalid;
      const bool chooses = here.op == Op::kClwb && valid && !here.started;
      const Clwb clwb = program_.options.clwb;
      if (!chooses || clwb != Clwb::kKeep) out.push_back(Move{Move::Kind::kCommit, actor, index, 0});
      if (chooses && clwb != Clwb::kDrop) out.push_back(Move{Move::Kind::kCommit, actor, index, 1});
    }
  }
  cache_moves(s, out, done(s));
  for (unsigned i = 0; i < program_.crashes.size(); ++i) {
    if ((s[crashed_] >> i & 1) == 0)
      out.push_back(Move{Move::Kind::kCrash, static_cast<uint8_t>(program_.crashes[i]), static_cast<uint8_t>(i), 0});
  }
}

void Machine::apply(uint8_t *s, Move move, std::vector<TraceLine> *trace) const {
  switch (move.kind) {
    case Move::Kind::kStep:
      step(s, move.actor, move.choice, trace);
      break;
    case Move::Kind::kCommit:
      commit(s, move.actor, move.index, move.choice, trace);
      break;
    case Move::Kind::kCrash:
      crash(s, move.index);
      if (trace != nullptr) trace->push_back(TraceLine{host_text(move.actor), "crash", "copies and buffers vanish", 0});
      break;
    default:
      cache_event(s, move, trace);
      break;
  }
  for (size_t t = 0; t < threads_.size(); ++t) run_local(s, t, trace);
}

}  // namespace litmus
