/**
 * @file dpi.cpp
 * DPI-C and latency functions: thin doors to the RTL port. Without a machine on that port they do nothing, so that a
 * bench may start its clock before its test has created one.
 */
#include <cstring>

#include "machine.hpp"
#include "port_rtl.hpp"
#include "prismem_emu_dpi.h"

using namespace prismem;

static RtlPort *port() {
  return g_machine == nullptr ? nullptr : g_machine->rtl_port;
}

PRISMEM_EXPORT int emu_tick(uint64_t now) {
  return port() == nullptr ? EMU_RUNNING : port()->tick(now);
}

PRISMEM_EXPORT int emu_port_pop(uint64_t now, int host, int channel, uint32_t *tag, uint64_t *hpa, uint32_t data[16],
                                uint32_t be[2]) {
  if (port() == nullptr) return EMU_DPI_NONE;
  port()->tick(now);
  return port()->pop(host, channel, tag, hpa, data, be);
}

PRISMEM_EXPORT void emu_port_done(uint64_t now, int host, int tag, int status, const uint32_t data[16]) {
  if (port() != nullptr) port()->done(now, host, tag, status, data);
}

PRISMEM_EXPORT uint64_t emu_next_wake(uint64_t now) {
  return port() == nullptr ? now + 1 : port()->next_wake(now);
}

PRISMEM_EXPORT void emu_store_read(int module, uint64_t dpa, int host, int ntag, uint32_t data[16]) {
  if (port() == nullptr) {
    memset(data, 0, kLineBytes);
  } else {
    port()->store_read(module, dpa, host, ntag, data);
  }
}

PRISMEM_EXPORT void emu_store_write(int module, uint64_t dpa, int host, int ntag, const uint32_t data[16],
                                    const uint32_t be[2]) {
  if (port() != nullptr) port()->store_write(module, dpa, host, ntag, data, be);
}

PRISMEM_EXPORT void emu_probe(uint64_t now, int stage, int host, int tag, int aux) {
  if (port() != nullptr) port()->probe(now, stage, host, tag, aux);
}

PRISMEM_EXPORT const char *emu_latency_report(void) {
  if (port() == nullptr) return "{}";
  g_machine->latency_text = port()->latency.report();
  return g_machine->latency_text.c_str();
}

PRISMEM_EXPORT void emu_latency_reset(void) {
  if (port() != nullptr) port()->latency.reset();
}

PRISMEM_EXPORT void emu_counters_begin(void) {
  if (g_machine != nullptr) g_machine->readings.emplace_back();
}

PRISMEM_EXPORT void emu_counter(const char *name, int a, int b, int64_t value) {
  if (g_machine == nullptr) return;
  if (g_machine->readings.empty()) g_machine->readings.emplace_back();
  g_machine->readings.back()[name].push_back({a, b, value});
}
