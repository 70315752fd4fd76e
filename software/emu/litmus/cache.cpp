/**
 * @file cache.cpp
 * Rules of the lines: copies of a host, write-backs on their way, DMA, what happens by itself, crashes.
 *
 * A write reaches the device at once if completions come from the device and it fits into one write unit. Otherwise it
 * waits in flight, first in first out for each line of a host, and lands one unit at a time.
 */
#include "machine.hpp"

namespace litmus {

uint8_t Machine::units(unsigned line, uint8_t mask) const {
  uint8_t result = 0;
  const Line &where = line_of(line);
  for (unsigned i = 0; i < where.count; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const unsigned word = program_.words[where.first + i].index;
    result = static_cast<uint8_t>(result | 1u << (word * 8 / program_.options.write_unit));
  }
  return result;
}

unsigned Machine::in_flight(const uint8_t *s, unsigned host, unsigned line) const {
  if (!flights_kept_) return 0;
  unsigned count = 0;
  while (count < kInFlightMax && s[flight(host, line) + count * slot_bytes(line)] != 0) ++count;
  return count;
}

void Machine::ensure(uint8_t *s, unsigned host, unsigned line) const {
  uint8_t *own_copy = s + copy(host, line);
  if (*own_copy != kInvalid) return;
  *own_copy = kClean;
  memcpy(own_copy + 1, s + device_ + line_of(line).first, line_of(line).count);
}

void Machine::own(uint8_t *s, unsigned host, unsigned line) const {
  ensure(s, host, line);
  s[copy(host, line)] = kDirty;
  drop_fill(s, host, line);
}

void Machine::drop_fill(uint8_t *s, unsigned host, unsigned line) const {
  if (program_.options.fill_survives_flush) memset(s + pending_fill(host, line), 0, 1u + line_of(line).count);
}

void Machine::invalidate(uint8_t *s, unsigned host, unsigned line) const {
  memset(s + copy(host, line), 0, 1u + line_of(line).count);
}

bool Machine::immediate(const uint8_t *s, unsigned host, unsigned line, uint8_t mask) const {
  if (posted_) return false;
  const uint8_t touched = units(line, mask);
  return (touched & (touched - 1)) == 0 && in_flight(s, host, line) == 0;
}

void Machine::device_write(uint8_t *s, unsigned host, unsigned line, uint8_t mask, const uint8_t *values) const {
  const Line &where = line_of(line);
  if (immediate(s, host, line, mask)) {
    for (unsigned i = 0; i < where.count; ++i) {
      if (mask >> i & 1) s[device_ + where.first + i] = values[i];
    }
    return;
  }
  uint8_t *slot = s + flight(host, line) + in_flight(s, host, line) * slot_bytes(line);
  slot[0] = units(line, mask);
  slot[1] = mask;
  for (unsigned i = 0; i < where.count; ++i) slot[2 + i] = mask >> i & 1 ? values[i] : 0;
}

void Machine::write_back(uint8_t *s, unsigned host, unsigned line) const {
  const uint8_t *own_copy = s + copy(host, line);
  uint8_t values[kWordsPerLine];
  memcpy(values, own_copy + 1, line_of(line).count);
  device_write(s, host, line, static_cast<uint8_t>((1u << line_of(line).count) - 1), values);
  s[copy(host, line)] = kClean;
}

void Machine::land(uint8_t *s, unsigned host, unsigned line, uint8_t unit) const {
  const Line &where = line_of(line);
  const size_t size = slot_bytes(line);
  uint8_t *slot = s + flight(host, line);
  for (unsigned i = 0; i < where.count; ++i) {
    const bool here = program_.words[where.first + i].index * 8 / program_.options.write_unit == unit;
    if (!here || (slot[1] >> i & 1) == 0) continue;
    s[device_ + where.first + i] = slot[2 + i];
    slot[1] = static_cast<uint8_t>(slot[1] & ~(1u << i));
    slot[2 + i] = 0;
  }
  slot[0] = static_cast<uint8_t>(slot[0] & ~(1u << unit));
  if (slot[0] != 0) return;
  memmove(slot, slot + size, (kInFlightMax - 1) * size);
  memset(slot + (kInFlightMax - 1) * size, 0, size);
}

bool Machine::can_dma(const uint8_t *s, unsigned host, const Instruction &instruction) const {
  if (instruction.op != Op::kDmaStore) return true;
  const bool beside_cache = static_cast<int>(host) != snoop_host_ && static_cast<int>(host) != ddio_host_;
  return beside_cache || in_flight(s, host, instruction.line) == 0;
}

/** With snooping, a read takes the own copy if there is one, and a write takes it out, its dirty words included; with
 *  DDIO a write may stay in the cache, dirty. */
void Machine::dma(uint8_t *s, size_t thread, const Instruction &instruction, uint8_t choice) const {
  const unsigned host = threads_[thread].host, line = instruction.line;
  const size_t within = 1u + instruction.word - line_of(line).first;
  const bool snoops = static_cast<int>(host) == snoop_host_;
  uint8_t *device = s + device_ + instruction.word;
  uint8_t *own_copy = s + copy(host, line);
  if (instruction.op == Op::kDmaLoad) {
    s[threads_[thread].registers + instruction.reg] = snoops && *own_copy != kInvalid ? own_copy[within] : *device;
    return;
  }
  if (choice != 0) {
    own(s, host, line);
    own_copy[within] = instruction.a.index;
    return;
  }
  if (snoops) {
    if (*own_copy == kDirty) memcpy(s + device_ + line_of(line).first, own_copy + 1, line_of(line).count);
    invalidate(s, host, line);
  }
  *device = instruction.a.index;
}

void Machine::cache_moves(const uint8_t *s, std::vector<Move> &out, bool finished) const {
  const Options &options = program_.options;
  const bool last_evictions = finished && program_.bad.reads_memory;
  const bool events = !setting_.lazy && (setting_.cache_events_max < 0 || s[events_] < setting_.cache_events_max);
  for (unsigned host = 0; host < hosts_; ++host) {
    for (unsigned line = 0; line < program_.lines.size(); ++line) {
      const auto add = [&](Move::Kind kind, unsigned choice = 0) {
        out.push_back(Move{kind, static_cast<uint8_t>(host), static_cast<uint8_t>(line), static_cast<uint8_t>(choice)});
      };
      const uint8_t state = s[copy(host, line)];
      const unsigned flying = in_flight(s, host, line);
      if (flying != 0) {
        const uint8_t left = s[flight(host, line)];
        for (unsigned unit = 0; unit < kWordsPerLine; ++unit) {
          if (left >> unit & 1) add(Move::Kind::kLand, unit);
        }
      }
      const size_t index = host * program_.lines.size() + line;
      const bool room = flying < kInFlightMax;
      if (state == kInvalid) {
        if (events && options.prefetch && fill_matters_[index] && flying == 0) add(Move::Kind::kFill);
      } else if (state == kDirty) {
        if (room && (last_evictions || (events && options.evict && evict_matters_[index]))) add(Move::Kind::kEvict);
      } else if (events && evict_matters_[index]) {
        if (options.evict) add(Move::Kind::kEvict);
        if (options.spurious_dirty && room) add(Move::Kind::kSpurious);
      }
      if (!options.fill_survives_flush) continue;
      if (s[pending_fill(host, line)] != 0) {
        add(Move::Kind::kFillEnd);
      } else if (events && options.prefetch && fill_matters_[index] && state == kInvalid && flying == 0) {
        add(Move::Kind::kFillStart);
      }
    }
  }
}

void Machine::cache_event(uint8_t *s, Move move, std::vector<TraceLine> *trace) const {
  const unsigned host = move.actor, line = move.index;
  const Line &where = line_of(line);
  uint8_t *own_copy = s + copy(host, line);
  const std::vector<uint8_t> before(trace != nullptr ? s : nullptr, trace != nullptr ? s + bytes_ : nullptr);
  if (setting_.cache_events_max >= 0 && move.kind != Move::Kind::kLand && move.kind != Move::Kind::kFillEnd) {
    if (s[events_] < setting_.cache_events_max) ++s[events_];
  }
  std::string what, effect;
  switch (move.kind) {
    case Move::Kind::kFill:
      ensure(s, host, line);
      what = "fill " + line_text(line);
      break;
    case Move::Kind::kEvict:
      if (*own_copy == kDirty) write_back(s, host, line);
      invalidate(s, host, line);
      what = "evict " + line_text(line);
      break;
    case Move::Kind::kSpurious:
      write_back(s, host, line);
      what = "clean copy written back, " + line_text(line);
      break;
    case Move::Kind::kLand:
      land(s, host, line, move.choice);
      what = "write-back lands, " + line_text(line);
      break;
    case Move::Kind::kFillStart:
      s[pending_fill(host, line)] = 1;
      memcpy(s + pending_fill(host, line) + 1, s + device_ + where.first, where.count);
      what = "fill starts, " + line_text(line);
      break;
    default: {  // the fill that was started arrives
      uint8_t *fill = s + pending_fill(host, line);
      if (*own_copy == kInvalid) {
        *own_copy = kClean;
        memcpy(own_copy + 1, fill + 1, where.count);
      }
      drop_fill(s, host, line);
      what = "fill arrives, " + line_text(line);
      break;
    }
  }
  if (trace == nullptr) return;
  if (*own_copy != kInvalid && before[copy(host, line)] == kInvalid) effect = "copy: " + words_text(line, own_copy + 1);
  const std::string written = write_back_text(before.data(), s, host, line);
  trace->push_back(TraceLine{host_text(host), what, written.empty() ? effect : written, 0});
}

/** Copies and buffers of the host vanish; write-backs on their way arrive or vanish; recovery starts, or starts again. */
void Machine::crash(uint8_t *s, unsigned index) const {
  const unsigned host = setting_.mode == Mode::kCoherent ? 0 : program_.crashes[index];
  s[crashed_] = static_cast<uint8_t>(s[crashed_] | 1u << index);
  for (unsigned line = 0; line < program_.lines.size(); ++line) {
    invalidate(s, host, line);
    drop_fill(s, host, line);
    while (in_flight(s, host, line) != 0) {
      uint8_t *slot = s + flight(host, line);
      if (!program_.options.crash_in_flight_kept) slot[1] = 0;
      const uint8_t left = slot[0];
      land(s, host, line, static_cast<uint8_t>(__builtin_ctz(left)));
    }
  }
  for (size_t t = 0; t < threads_.size(); ++t) {
    const ThreadLayout &layout = threads_[t];
    const bool recovers = program_.threads[t].after_crash;
    const bool waited = status(s, t) == kWaiting;
    if (layout.host != host && !(recovers && waited)) continue;
    if (!recovers && status(s, t) != kRunning && entries(s, t) == 0) continue;
    memset(s + layout.buffer, 0, layout.entries * kEntryBytes);
    entries(s, t) = 0;
    if (recovers) {
      memset(s + layout.registers, 0, program_.threads[t].registers.size());
      s[layout.base] = kRunning;
      set_pc(s, t, 0);
    } else if (status(s, t) == kRunning) {
      s[layout.base] = kDead;
    }
  }
}

void Machine::find_reductions() {
  const size_t lines = program_.lines.size();
  fill_matters_.assign(hosts_ * lines, 0);
  evict_matters_.assign(hosts_ * lines, 0);
  for (unsigned host = 0; host < hosts_; ++host) {
    for (unsigned line = 0; line < lines; ++line) {
      bool uses = false, written = false, accessed = false;
      for (size_t t = 0; t < threads_.size(); ++t) {
        const bool beside = threads_[t].host != host || program_.threads[t].after_crash;
        for (const Instruction &instruction : program_.threads[t].code) {
          const Op op = instruction.op;
          const bool names_line = op <= Op::kClwb || (op >= Op::kLoad && op <= Op::kCas);
          if (!names_line || instruction.line != line) continue;
          const bool around =
              op == Op::kUncachedStore || op == Op::kUncachedLoad || op == Op::kDmaStore || op == Op::kDmaLoad;
          const bool reads = op == Op::kLoad || op == Op::kUncachedLoad || op == Op::kDmaLoad || op == Op::kCas;
          const bool writes = op <= Op::kUncachedStore || op == Op::kDmaStore || op == Op::kCas;
          uses = uses || (threads_[t].host == host && (reads || writes));
          if (beside || around) {
            written = written || writes;
            accessed = accessed || reads || writes;
          }
        }
      }
      fill_matters_[host * lines + line] = !setting_.reductions.fill || (uses && written);
      evict_matters_[host * lines + line] = !setting_.reductions.evict || accessed;
    }
  }
}

}  // namespace litmus
