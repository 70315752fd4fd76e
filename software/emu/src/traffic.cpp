/**
 * @file traffic.cpp
 * The bytes of a generated line follow from its number, so that any generator can check what any other has written: a
 * read that was issued after a write completed must return them; before that it may also see the initial zeros.
 */
#include "traffic.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "json.hpp"
#include "modules.hpp"
#include "port_rtl.hpp"
#include "prismem_emu_dpi.h"

namespace prismem {

namespace {

constexpr uint32_t kGeneratorsMax = 1024;

std::array<uint8_t, kLineBytes> line_bytes(uint64_t line) {
  std::array<uint8_t, kLineBytes> bytes;
  uint64_t state = line ^ 0x7072697a6d656d21ull;
  for (uint32_t i = 0; i < kWordsPerLine; ++i) {
    const uint64_t word = splitmix64(state);
    memcpy(bytes.data() + i * 8, &word, 8);
  }
  return bytes;
}

}  // namespace

int Traffic::add(const emu_traffic &config) {
  Generator generator;
  generator.config = config;
  generator.slots.assign(config.outstanding, 0);
  written_.resize(g_machine->lines, false);
  generators_.push_back(std::move(generator));
  return static_cast<int>(generators_.size()) - 1;
}

bool Traffic::finished(const Generator &generator) const {
  if (generator.config.requests == 0) return stopping_;
  return stopping_ ? true : generator.issued == generator.config.requests;
}

void Traffic::issue_one(Generator &generator, uint32_t id) {
  Machine &m = *g_machine;
  const emu_traffic &config = generator.config;
  const uint64_t step = config.random ? m.rng.below(config.lines) : generator.issued % config.lines;
  const uint64_t line = config.first_line + step;
  const bool read = m.rng.below(1000) < config.read_permille;
  Request *request = new_request(read ? RequestKind::kTrafficRead : RequestKind::kTrafficWrite, config.host, line);
  request->owner = id;
  request->base[0] = written_[line];
  if (!read) {
    request->data = line_bytes(line);
    request->mask = request->dirty = ~0ull;
    request->meta.fill(WordMeta{0, 0, 0});
    if (detecting()) {
      request->meta.fill(WordMeta{(++g_fast.version << 24) | (0xffull << 16) | kNobody, 0, 0});
      for (uint32_t i = 0; i < kWordsPerLine; ++i) m.newest[line * kWordsPerLine + i] = request->meta[i];
    }
  }
  ++generator.issued;
  m.port->submit(request);
}

void Traffic::issue(uint64_t now, bool stopping) {
  stopping_ = stopping;
  for (uint32_t id = 0; id < generators_.size(); ++id) {
    Generator &generator = generators_[id];
    for (size_t i = 0; i < generator.slots.size() && !finished(generator);) {
      if (generator.slots[i] > now) {
        ++i;
        continue;
      }
      generator.slots[i] = generator.slots.back();
      generator.slots.pop_back();
      issue_one(generator, id);
    }
  }
}

void Traffic::complete(Request &request, uint64_t now) {
  Generator &generator = generators_[request.owner];
  ++generator.completed;
  generator.slots.push_back(now + generator.config.gap_ns);
  if (request.status != EMU_DPI_OK) {
    ++(request.status == EMU_DPI_POISON ? generator.poisoned : generator.failed);
    generator.refused_ns_max = std::max(generator.refused_ns_max, now - request.popped_at);
    generator.refused_first_ns = std::min(generator.refused_first_ns, now);
    return;
  }
  if (request.kind == RequestKind::kTrafficWrite) {
    written_[request.line] = true;
    return;
  }
  const auto expected = line_bytes(request.line);
  if (request.data == expected) return;
  const bool blank = std::all_of(request.data.begin(), request.data.end(), [](uint8_t byte) { return byte == 0; });
  if (blank && request.base[0] == 0) return;
  Fault fault = fault_here("check", request.line << kLineShift, 0);
  fault.host = static_cast<int>(request.host);
  const auto wrong = std::mismatch(request.data.begin(), request.data.end(), expected.begin());
  char text[96];
  snprintf(text, sizeof text, "byte %d is 0x%02x, expected 0x%02x",
           static_cast<int>(wrong.first - request.data.begin()), *wrong.first, *wrong.second);
  fault.message = "traffic: host " + std::to_string(request.host) + " read wrong data from line " +
                  std::to_string(request.line) + ": " + text;
  raise_fault(std::move(fault));
}

void Traffic::write(Json &json) const {
  json.open('[');
  for (const Generator &g : generators_) {
    json.open('{').field("host", uint64_t{g.config.host}).field("first_line", g.config.first_line);
    json.field("issued", g.issued).field("completed", g.completed);
    json.field("poisoned", g.poisoned).field("failed", g.failed).field("refused_ns_max", g.refused_ns_max);
    json.signed_field("refused_first_ns", g.refused_first_ns == kNever ? -1 : static_cast<int64_t>(g.refused_first_ns));
    json.close('}');
  }
  json.close(']');
}

bool Traffic::bounded_ended() const {
  return std::all_of(generators_.begin(), generators_.end(), [](const Generator &generator) {
    return generator.config.requests == 0 || generator.completed == generator.config.requests;
  });
}

bool Traffic::ended() const {
  return bounded_ended() && std::all_of(generators_.begin(), generators_.end(), [](const Generator &generator) {
           return generator.issued == generator.completed;
         });
}

uint64_t Traffic::next_due() const {
  uint64_t due = kNever;
  for (const Generator &generator : generators_) {
    if (finished(generator)) continue;
    for (const uint64_t slot : generator.slots) due = std::min(due, slot);
  }
  return due;
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_traffic_add(const emu_traffic *t) {
  if (g_machine == nullptr || g_machine->rtl_port == nullptr) {
    set_error("emu_traffic_add: needs a machine on the RTL port");
    return -EINVAL;
  }
  if (t == nullptr || t->struct_bytes != sizeof(emu_traffic)) {
    set_error("struct_bytes: %u is not %zu", t == nullptr ? 0 : t->struct_bytes, sizeof(emu_traffic));
    return -EINVAL;
  }
  const Machine &m = *g_machine;
  if (t->host >= m.hosts.size()) {
    set_error("host: %u is outside 0..%zu", t->host, m.hosts.size() - 1);
    return -EINVAL;
  }
  if (t->outstanding == 0 || t->outstanding > m.cfg.outstanding_max) {
    set_error("outstanding: %u is outside 1..%u (outstanding_max)", t->outstanding, m.cfg.outstanding_max);
    return -EINVAL;
  }
  if (t->read_permille > 1000 || t->random > 1 || t->tolerate > 1) {
    set_error("read_permille: %u is outside 0..1000, or random: %u, tolerate: %u is not 0 or 1", t->read_permille,
              t->random, t->tolerate);
    return -EINVAL;
  }
  if (t->lines == 0 || t->first_line >= m.lines || t->lines > m.lines - t->first_line) {
    set_error("first_line, lines: %llu, %llu are not inside the pool of %llu lines",
              static_cast<unsigned long long>(t->first_line), static_cast<unsigned long long>(t->lines),
              static_cast<unsigned long long>(m.lines));
    return -EINVAL;
  }
  return g_machine->rtl_port->traffic.add(*t);
}
