/**
 * @file program.cpp
 * Programs with a main() as threads of hosts, and libraries whose functions are such threads: loading, and keeping and
 * restoring their globals. A crash of the program ends the run as a fault with the calls that led to it.
 */
#include "program.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "access.hpp"

namespace prismem {

namespace {

using Main = int (*)(int, char **, char **);

/** Processor time after which an execution that makes no step is taken for endless. */
constexpr time_t kSilentSeconds = 3;
constexpr size_t kSignalStackBytes = 64 * 1024;
constexpr ElfW(Sxword) kInitArray = 0x6000AB01, kInitArrayBytes = 0x6000AB02;
constexpr size_t kCallsReported = 12;
constexpr int kFramesMax = 64;

/** Writable memory of a loaded program. */
struct Segment {
  uint8_t *memory;
  size_t bytes;
  std::vector<uint8_t> kept;
};

struct Program {
  void *handle = nullptr;
  Main main = nullptr;           ///< none in a library
  Main *constructors = nullptr;  ///< of globals: the loader has left them to us (check/compiler.py)
  size_t constructors_count = 0;
  uint64_t base = 0;
  std::vector<std::string> arguments;
  std::vector<char *> argv;  ///< rebuilt for each execution: main() may change it
  std::vector<Segment> segments;
};

std::vector<std::unique_ptr<Program>> g_programs;

int64_t run_main(void *argument) {
  auto &program = *static_cast<Program *>(argument);
  program.argv.clear();
  for (std::string &text : program.arguments) program.argv.push_back(text.data());
  program.argv.push_back(nullptr);
  char *environment[] = {nullptr};
  const int count = static_cast<int>(program.arguments.size());
  for (size_t i = 0; i < program.constructors_count; ++i) {
    program.constructors[i](count, program.argv.data(), environment);
  }
  const int status = program.main(count, program.argv.data(), environment);
  exit_handlers_run();
  programs_end_host(g_machine->current->named_host);
  return status;
}

/** Writable segments without what the loader has made read-only again. */
int find_segments(struct dl_phdr_info *info, size_t, void *argument) {
  auto &program = *static_cast<Program *>(argument);
  if (info->dlpi_addr != program.base) return 0;
  uint64_t relro = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO) relro = info->dlpi_addr + header.p_vaddr + header.p_memsz;
  }
  relro = (relro + 4095) & ~4095ull;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
      program.segments.push_back({static_cast<uint8_t *>(info->dlpi_tls_data), header.p_memsz, {}});
    }
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_W)) continue;
    const uint64_t end = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    const uint64_t begin = std::max(info->dlpi_addr + header.p_vaddr, relro);
    if (begin < end) program.segments.push_back({reinterpret_cast<uint8_t *>(begin), end - begin, {}});
  }
  return 1;
}

/** Return addresses by frame pointers, for a program that has jumped to where no code is. */
std::vector<uint32_t> frames_from(uint64_t stack, uint64_t frame, const Fiber &fiber) {
  std::vector<uint32_t> pcs;
  if (fiber.holds(stack, 8)) pcs.push_back(pc_id(*reinterpret_cast<const uint64_t *>(stack)));
  while (pcs.size() < kCallsReported && fiber.holds(frame, 16) && frame % 8 == 0) {
    const auto *words = reinterpret_cast<const uint64_t *>(frame);
    if (words[1] == 0 || words[0] <= frame) break;
    if (!program_offset(words[1]).empty()) pcs.push_back(pc_id(words[1]));
    frame = words[0];
  }
  return pcs;
}

/** Return addresses in the program of the calls that are under way, innermost first; `at`: where it crashed, or 0. */
std::vector<uint32_t> frames_here(uint64_t at) {
  void *frames[kFramesMax];
  std::vector<uint32_t> pcs;
  const int count = backtrace(frames, kFramesMax);
  for (int i = 0; i < count && pcs.size() < kCallsReported; ++i) {
    const auto pc = reinterpret_cast<uint64_t>(frames[i]);
    if (!program_offset(pc).empty()) pcs.push_back(pc_id(pc == at ? pc + 1 : pc));  // as if it were a return address
  }
  return pcs;
}

/** Where the program was, and who called it; frames of the emulator and of libraries are left out. */
std::string calls_text(const std::vector<uint32_t> &pcs) {
  std::string text;
  for (const Location &where : locate(pcs)) {
    if (where.source.empty()) continue;
    text += text.empty() ? "" : ", called from ";
    text += where.function.empty() ? where.source : where.function + " at " + where.source;
  }
  return text;
}

volatile uint64_t g_last_steps = 0;
volatile time_t g_silent = 0;
volatile bool g_unwinding = false;

void crash(int number, siginfo_t *info, void *context) {
  Machine *m = g_machine;
  if (m == nullptr || m->current == nullptr) {  // not the program's doing
    if (number == SIGVTALRM) return;
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  const auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  const auto at = static_cast<uint64_t>(registers[REG_RIP]);
  const bool inside = !program_offset(at).empty();
  if (number == SIGVTALRM) {
    const uint64_t steps = m->switches + steps_now();
    g_silent = steps == g_last_steps ? g_silent + 1 : 0;
    g_last_steps = steps;
    if (g_silent < kSilentSeconds || !inside) return;
  }
  Dl_info module;
  std::vector<uint32_t> pcs;
  if (dladdr(reinterpret_cast<void *>(at), &module) != 0 && !g_unwinding) {
    g_unwinding = true;  // a stack that has been written over may crash whoever reads it
    pcs = frames_here(at);
  } else {
    pcs = frames_from(static_cast<uint64_t>(registers[REG_RSP]), static_cast<uint64_t>(registers[REG_RBP]),
                      m->current->fiber);
  }
  g_unwinding = false;
  Fault fault = fault_here("crash", kNever, 0);
  fault.pc = pcs.empty() ? 0 : pcs.front();
  fault.message = "host " + std::to_string(m->current->named_host) + ": ";
  if (number == SIGVTALRM) {
    fault.kind = "endless";
    fault.message += std::to_string(kSilentSeconds) + " s of processor time without an access to the pool";
  } else {
    char where[40] = "";
    if (number == SIGSEGV || number == SIGBUS) snprintf(where, sizeof where, " at address %p", info->si_addr);
    fault.message += std::string("the program crashed: ") + strsignal(number) + where;
  }
  const std::string calls = calls_text(pcs);
  fault.message += calls.empty() ? ", and its stack tells nothing" : " in " + calls;
  m->faults.push_back(std::move(fault));
  end_run(EMU_FAULT);
}

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
struct sigaction g_before[std::size(kCrashes)];
uint8_t g_signal_stack[kSignalStackBytes];

}  // namespace

std::string callers_of_program() {
  std::vector<uint32_t> pcs = frames_here(0);
  if (pcs.size() < 2) return "";
  pcs.erase(pcs.begin());
  return ", called from " + calls_text(pcs);
}

bool programs_any() {
  return !g_programs.empty();
}

void programs_keep() {
  for (auto &program : g_programs) {
    for (Segment &segment : program->segments) segment.kept.assign(segment.memory, segment.memory + segment.bytes);
  }
}

namespace {

/** Globals as they were kept; a library that somebody else has loaded too outlives the machine. */
void programs_return() {
  for (auto &program : g_programs) {
    for (Segment &segment : program->segments) {
      if (!segment.kept.empty()) memcpy(segment.memory, segment.kept.data(), segment.bytes);
    }
  }
}

}  // namespace

void programs_restore() {
  programs_return();
  heap_reset();
}

void programs_forget() {
  if (g_programs.empty()) return;
  programs_return();
  const struct itimerval off{};
  setitimer(ITIMER_VIRTUAL, &off, nullptr);
  for (size_t i = 0; i < std::size(kCrashes); ++i) sigaction(kCrashes[i], &g_before[i], nullptr);
  for (auto &program : g_programs) dlclose(program->handle);
  g_programs.clear();
}

std::string program_offset(uint64_t pc) {
  for (const auto &program : g_programs) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(pc), &info) == 0) return "";
    if (reinterpret_cast<uint64_t>(info.dli_fbase) != program->base) continue;
    char text[32];
    snprintf(text, sizeof text, "program+0x%llx", static_cast<unsigned long long>(pc - program->base));
    return text;
  }
  return g_programs.empty() ? module_offset(pc) : "";
}

uint64_t program_place(uint64_t pc) {
  const std::string text = pc == 0 ? std::string() : program_offset(pc);
  uint64_t hash = 1469598103934665603ull;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  return hash;
}

namespace {

using ProgramAudit = int (*)(const void *pool, size_t bytes, int dropped);

int audit_program(void *audit, const void *pool, uint64_t bytes, int dropped) {
  return reinterpret_cast<ProgramAudit>(audit)(pool, static_cast<size_t>(bytes), dropped);
}

/** The first host's copy of the program audits for all. */
void ask_for_audit(const Program &program) {
  void *audit = g_programs.empty() ? dlsym(program.handle, "prismem_audit") : nullptr;
  if (audit == nullptr) return;
  g_machine->audit = audit_program;
  g_machine->audit_arg = audit;
  g_machine->audit_place = static_cast<const char *>(audit) + 1;  // as if it were a return address
}

void watch_crashes() {
  stack_t stack{};
  stack.ss_sp = g_signal_stack;
  stack.ss_size = sizeof g_signal_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (size_t i = 0; i < std::size(kCrashes); ++i) sigaction(kCrashes[i], &action, &g_before[i]);
  const struct itimerval every_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_VIRTUAL, &every_second, nullptr);
}

/** The constructors by the tags under which the loader does not find them. */
void find_constructors(Program &program, const ElfW(Dyn) * entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == kInitArray) program.constructors = reinterpret_cast<Main *>(program.base + entry->d_un.d_ptr);
    if (entry->d_tag == kInitArrayBytes) program.constructors_count = entry->d_un.d_val / sizeof(Main);
  }
}

/** A loaded library with its writable segments; NULL with an error set. */
std::unique_ptr<Program> load(const char *call, const char *library) {
  if (g_machine == nullptr || g_machine->rtl || g_machine->started || library == nullptr) {
    set_error("%s: there is no machine on the functional port, its run has started, or an argument is wrong", call);
    return nullptr;
  }
  auto program = std::make_unique<Program>();
  program->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  struct link_map *map = nullptr;
  if (program->handle == nullptr || dlinfo(program->handle, RTLD_DI_LINKMAP, &map) != 0) {
    set_error("library: %s", dlerror());
    return nullptr;
  }
  program->base = map->l_addr;
  for (const auto &other : g_programs) {
    if (other->base != program->base) continue;
    set_error("library: %s is loaded already; each host needs a copy of its own", library);
    dlclose(program->handle);
    return nullptr;
  }
  dl_iterate_phdr(find_segments, program.get());
  find_constructors(*program, map->l_ld);
  return program;
}

void keep_loaded(std::unique_ptr<Program> program) {
  if (g_programs.empty()) watch_crashes();
  g_programs.push_back(std::move(program));
}

}  // namespace

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_program_add(uint32_t host, const char *library, int argc, const char *const *argv) {
  auto program = load("emu_program_add", argc < 1 ? nullptr : library);
  if (program == nullptr) return -EINVAL;
  program->main = reinterpret_cast<Main>(dlsym(program->handle, "main"));
  if (program->main == nullptr) {
    set_error("library: %s has no main()", library);
    dlclose(program->handle);
    return -ENOENT;
  }
  for (int i = 0; i < argc; ++i) program->arguments.emplace_back(argv[i]);
  const int tid = emu_spawn(host, "main", run_main, program.get(), 0);
  if (tid < 0) {
    dlclose(program->handle);
    return tid;
  }
  ask_for_audit(*program);
  keep_loaded(std::move(program));
  return tid;
}

PRISMEM_EXPORT int emu_library_add(const char *library) {
  auto program = load("emu_library_add", library);
  if (program == nullptr) return -EINVAL;
  keep_loaded(std::move(program));
  return 0;
}

PRISMEM_EXPORT int emu_pool_path_add(const char *path) {
  if (g_machine == nullptr || g_machine->started || path == nullptr || *path == 0) {
    set_error("emu_pool_path_add: there is no machine, or its run has started, or path is empty");
    return -EINVAL;
  }
  g_machine->pool_paths.emplace_back(path);
  return 0;
}
