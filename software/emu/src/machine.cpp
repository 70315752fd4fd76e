/**
 * @file machine.cpp
 * Creation of the machine from its checked configuration, and the part of the C interface that concerns it as a whole.
 */
#include "machine.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "access.hpp"
#include "lockstep.hpp"
#include "port.hpp"
#include "port_rtl.hpp"
#include "program.hpp"
#include "verbs.hpp"

namespace prismem {

Machine *g_machine = nullptr;

namespace {
char g_error[512];
constexpr uint64_t kPoolBytesMax = 1ull << 42;

void unmap_lazy(void *memory, size_t bytes) {
  if (memory != nullptr) munmap(memory, bytes);
}

int check_config(const emu_config *cfg) {
  if (cfg == nullptr || cfg->struct_bytes != sizeof(emu_config)) {
    set_error("struct_bytes: %u is not %zu; caller and emulator were built from different headers",
              cfg == nullptr ? 0 : cfg->struct_bytes, sizeof(emu_config));
    return -EINVAL;
  }
  const auto range = [](const char *field, uint64_t value, uint64_t low, uint64_t high) {
    if (value >= low && value <= high) return true;
    set_error("%s: %llu is outside %llu..%llu", field, static_cast<unsigned long long>(value),
              static_cast<unsigned long long>(low), static_cast<unsigned long long>(high));
    return false;
  };
  if (!range("hosts", cfg->hosts, 1, EMU_HOSTS_MAX)) return -EINVAL;
  if (!range("pool_bytes", cfg->pool_bytes, kPageBytes2M, kPoolBytesMax)) return -EINVAL;
  if (cfg->pool_bytes % kPageBytes2M != 0) {
    set_error("pool_bytes: %llu is not a multiple of 2 MiB", static_cast<unsigned long long>(cfg->pool_bytes));
    return -EINVAL;
  }
  if (!range("port", cfg->port, EMU_PORT_FUNCTIONAL, EMU_PORT_LOCKSTEP)) return -EINVAL;
  if (!range("policy", cfg->policy, EMU_POLICY_RANDOM, EMU_POLICY_WARM)) return -EINVAL;
  if (!range("coherent", cfg->coherent, 0, 1) || !range("clwb", cfg->clwb, EMU_CLWB_MAY, EMU_CLWB_DROP)) return -EINVAL;
  if (!range("dma_snoop", cfg->dma_snoop, 0, 1) || !range("detect", cfg->detect, 0, 1)) return -EINVAL;
  if (!range("completion_posted", cfg->completion_posted, 0, 1)) return -EINVAL;
  if (!range("faults_max", cfg->faults_max, 1, UINT32_MAX)) return -EINVAL;
  if (!range("step_limit", cfg->step_limit, 1, 1ull << 60)) return -EINVAL;
  if (cfg->port != EMU_PORT_FUNCTIONAL) {
    if (!range("outstanding_max", cfg->outstanding_max, 2, 4096)) return -EINVAL;
    if (cfg->hpa_base % kPageBytes2M != 0) {
      set_error("hpa_base: 0x%llx is not a multiple of 2 MiB", static_cast<unsigned long long>(cfg->hpa_base));
      return -EINVAL;
    }
    if (!range("hpa_base", cfg->hpa_base, 0, (1ull << 52) - cfg->pool_bytes)) return -EINVAL;
  }
  return 0;
}

}  // namespace

void set_error(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(g_error, sizeof g_error, fmt, args);
  va_end(args);
}

void *map_lazy(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

Machine::Machine(const emu_config &config)
    : cfg(config),
      lines(config.pool_bytes >> kLineShift),
      view_stride(config.pool_bytes + kGuardBytes),
      rng(config.seed),
      program_rng(config.seed),
      rtl(config.port == EMU_PORT_RTL) {
  hosts.resize(cfg.coherent ? 1 : cfg.hosts);
}

bool Machine::allocate() {
  const size_t words = lines * kWordsPerLine;
  auto *views = static_cast<uint8_t *>(map_lazy(view_stride * hosts.size()));
  bool ok = views != nullptr;
  const auto take = [&](auto *&pointer, size_t count) {
    pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(map_lazy(count * sizeof *pointer));
    ok = ok && pointer != nullptr;
  };
  for (Host &host : hosts) {
    host.id = static_cast<uint32_t>(&host - hosts.data());
    host.view = views == nullptr ? nullptr : views + view_stride * host.id;
    if (ok) mprotect(host.view + cfg.pool_bytes, kGuardBytes, PROT_NONE);
    take(host.state, lines);
    take(host.dirty, lines);
    take(host.slot, lines);
    if (cfg.detect) {
      take(host.superseded, lines);
      take(host.locked, lines);
      take(host.meta, words);
      take(host.base, words);
    }
  }
  take(device.data, cfg.pool_bytes);
  take(sharers, lines);
  take(touched, lines);
  if (cfg.detect) {
    take(device.meta, words);
    take(device.landed, words);
    take(newest, words);
  }
  return ok;
}

bool Machine::keep_initial() {
  const size_t words = lines * kWordsPerLine;
  initial.data = static_cast<uint8_t *>(map_lazy(cfg.pool_bytes));
  if (initial.data == nullptr) return false;
  for (const uint64_t line : loaded_lines) {
    memcpy(initial.data + (line << kLineShift), device.data + (line << kLineShift), kLineBytes);
  }
  if (!cfg.detect) return true;
  initial.meta = static_cast<WordMeta *>(map_lazy(words * sizeof *initial.meta));
  initial.landed = static_cast<uint64_t *>(map_lazy(words * sizeof *initial.landed));
  if (initial.meta == nullptr || initial.landed == nullptr) return false;
  for (const uint64_t line : loaded_lines) {
    const uint64_t word = line * kWordsPerLine;
    memcpy(initial.meta + word, device.meta + word, kWordsPerLine * sizeof(WordMeta));
    memcpy(initial.landed + word, device.landed + word, kWordsPerLine * sizeof(uint64_t));
  }
  return true;
}

Machine::~Machine() {
  const size_t words = lines * kWordsPerLine;
  for (auto &thread : threads) external_destroy(thread->external);
  if (!hosts.empty()) unmap_lazy(hosts[0].view, view_stride * hosts.size());
  for (Host &host : hosts) {
    unmap_lazy(host.state, lines * sizeof *host.state);
    unmap_lazy(host.dirty, lines * sizeof *host.dirty);
    unmap_lazy(host.slot, lines * sizeof *host.slot);
    unmap_lazy(host.superseded, lines * sizeof *host.superseded);
    unmap_lazy(host.locked, lines * sizeof *host.locked);
    unmap_lazy(host.meta, words * sizeof *host.meta);
    unmap_lazy(host.base, words * sizeof *host.base);
  }
  unmap_lazy(initial.data, cfg.pool_bytes);
  unmap_lazy(initial.meta, words * sizeof *initial.meta);
  unmap_lazy(initial.landed, words * sizeof *initial.landed);
  unmap_lazy(device.data, cfg.pool_bytes);
  unmap_lazy(device.meta, words * sizeof *device.meta);
  unmap_lazy(device.landed, words * sizeof *device.landed);
  unmap_lazy(sharers, lines * sizeof *sharers);
  unmap_lazy(touched, lines * sizeof *touched);
  unmap_lazy(newest, words * sizeof *newest);
  if (log != nullptr) fclose(log);
}

Request *new_request(RequestKind kind, uint32_t host, uint64_t line) {
  Machine &m = *g_machine;
  if (m.free_requests.empty()) {
    m.all_requests.push_back(std::make_unique<Request>());
    m.free_requests.push_back(m.all_requests.back().get());
  }
  Request *request = m.free_requests.back();
  m.free_requests.pop_back();
  request->kind = kind;
  request->dropped = request->bound = false;
  request->status = 0;
  request->host = host;
  request->owner = 0;
  request->line = line;
  request->mask = request->dirty = request->landed = 0;
  request->superseded = request->locked = 0;
  request->waiters.clear();
  if (m.rtl_port != nullptr) request->stamp.fill(kNever);
  return request;
}

void free_request(Request *request) {
  g_machine->free_requests.push_back(request);
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT const char *emu_error(void) {
  return g_error;
}

PRISMEM_EXPORT int emu_create(const emu_config *cfg) {
  if (g_machine != nullptr) {
    set_error("emu_create: there is a machine already; emu_destroy ends it");
    return -EEXIST;
  }
  const int error = check_config(cfg);
  if (error != 0) return error;
  auto machine = std::make_unique<Machine>(*cfg);
  if (!machine->allocate()) {
    set_error("pool_bytes: no address space for %u hosts of %llu bytes and their shadow", cfg->hosts,
              static_cast<unsigned long long>(cfg->pool_bytes));
    return -ENOMEM;
  }
  g_fast = Fast{};
  g_machine = machine.release();
  detector_reset();
  sync_reset();
  if (g_machine->rtl) {
    auto port = make_rtl_port();
    g_machine->rtl_port = port.get();
    g_machine->port = std::move(port);
  } else {
    g_machine->port = make_functional_port();
  }
  if (cfg->port == EMU_PORT_LOCKSTEP) {
    g_machine->hardware = make_rtl_port();
    g_machine->rtl_port = g_machine->hardware.get();
    g_machine->lockstep = std::make_unique<Lockstep>(*g_machine->hardware);
  }
  g_machine->chooser = make_seeded_chooser();
  return 0;
}

PRISMEM_EXPORT void emu_destroy(void) {
  if (g_machine == nullptr || g_machine->current != nullptr) return;
  externals_cancel();
  Machine *machine = g_machine;
  g_machine = nullptr;
  g_fast = Fast{};
  intercept_reset();
  programs_forget();
  locate_forget();
  delete machine;
}

PRISMEM_EXPORT int emu_spawn(uint32_t host, const char *name, emu_thread_fn fn, void *arg, uint32_t flags) {
  if (g_machine == nullptr) {
    set_error("emu_spawn: there is no machine");
    return -EINVAL;
  }
  if (host >= g_machine->cfg.hosts) {
    set_error("host: %u is outside 0..%u", host, g_machine->cfg.hosts - 1);
    return -EINVAL;
  }
  if (fn == nullptr || (flags & ~static_cast<uint32_t>(EMU_THREAD_DAEMON | EMU_THREAD_AFTER_CRASH)) != 0) {
    set_error("fn is NULL or flags 0x%x has unknown bits", flags);
    return -EINVAL;
  }
  if (g_machine->threads.size() >= EMU_THREADS_MAX) {
    set_error("threads: more than %u", EMU_THREADS_MAX);
    return -EAGAIN;
  }
  return thread_create(host, name, fn, arg, flags);
}

PRISMEM_EXPORT int emu_quirks_set(uint32_t quirks) {
  constexpr uint32_t all = EMU_QUIRK_FILL_SURVIVES | EMU_QUIRK_SPURIOUS | EMU_QUIRK_DDIO;
  if (g_machine == nullptr || g_machine->started || (quirks & ~all) != 0) {
    set_error("emu_quirks_set: there is no machine that has not started, or 0x%x has unknown bits", quirks);
    return -EINVAL;
  }
  g_machine->quirks = quirks;
  return 0;
}

PRISMEM_EXPORT int emu_run(void) {
  if (g_machine == nullptr || g_machine->rtl_port != nullptr || g_machine->started) {
    set_error("emu_run: %s", g_machine == nullptr             ? "there is no machine"
                             : g_machine->rtl_port != nullptr ? "the hardware drives an RTL machine"
                                                              : "the machine has run already");
    return -EINVAL;
  }
  return run_functional();
}

PRISMEM_EXPORT int emu_state(void) {
  return g_machine == nullptr ? -EINVAL : g_machine->state;
}

PRISMEM_EXPORT int emu_self(void) {
  return g_machine == nullptr || g_machine->current == nullptr ? -EINVAL : g_machine->current->tid;
}

PRISMEM_EXPORT uint32_t emu_self_host(void) {
  return g_machine == nullptr || g_machine->current == nullptr ? 0 : g_machine->current->named_host;
}

PRISMEM_EXPORT uint64_t emu_now_ns(void) {
  return g_machine == nullptr ? 0 : now_ns();
}

PRISMEM_EXPORT void emu_yield(void) {
  if (g_fast.view_bytes != 0) poll_once();
}

PRISMEM_EXPORT void emu_sleep_ns(uint64_t ns) {
  if (g_fast.view_bytes == 0) return;
  g_fast.store_armed = 0;
  count_step();
  ++g_machine->current->polls;
  if (g_machine->exploring) check_idle();
  sleep_until(now_ns() + ns);
}

PRISMEM_EXPORT int emu_device_read(uint64_t offset, void *dst, size_t bytes) {
  if (g_machine == nullptr || offset > g_machine->cfg.pool_bytes || bytes > g_machine->cfg.pool_bytes - offset) {
    set_error("pool_offset: %llu and %zu bytes are not inside the pool", static_cast<unsigned long long>(offset),
              bytes);
    return -EINVAL;
  }
  memcpy(dst, g_machine->device.data + offset, bytes);
  return 0;
}

PRISMEM_EXPORT int emu_device_write(uint64_t offset, const void *src, size_t bytes) {
  if (g_machine == nullptr || offset > g_machine->cfg.pool_bytes || bytes > g_machine->cfg.pool_bytes - offset) {
    set_error("pool_offset: %llu and %zu bytes are not inside the pool", static_cast<unsigned long long>(offset),
              bytes);
    return -EINVAL;
  }
  memcpy(g_machine->device.data + offset, src, bytes);
  if (!g_machine->exploring && bytes != 0) {
    for (uint64_t line = offset >> kLineShift; line <= (offset + bytes - 1) >> kLineShift; ++line) {
      g_machine->loaded_lines.insert(line);
    }
  }
  shadow_loader_write(offset, bytes);
  return 0;
}
