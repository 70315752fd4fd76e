/**
 * @file intercept_program.cpp
 * What a program with a main() sees of its surroundings: its environment, POSIX shared memory as the pool, the end of its
 * process. And system calls that would reach into the pool behind the caches: they end the run with their name.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "intercept.hpp"
#include "program.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

bool in_program() {
  return g_fast.view_bytes != 0 && programs_any();
}

void refuse_vector(const char *call, const struct iovec *pieces, size_t count, uint64_t pc) {
  for (size_t i = 0; emulated() && i < count; ++i) refuse_copy(call, pieces[i].iov_base, pc);
}

[[noreturn]] void end_process(const char *call, int status, uint64_t pc) {
  if (strcmp(call, "exit") == 0 && status == 0) exit_handlers_run();
  if (status != 0) ended_by((std::string(call) + "(" + std::to_string(status) + ") called at \1").c_str(), pc);
  programs_end_host(g_machine->current->named_host);
  thread_return(status);
}

}  // namespace

namespace prismem {

void refuse_pool(const char *call, const void *memory, uint64_t pc, const char *why) {
  if (!in_any_view(reinterpret_cast<uint64_t>(memory))) return;
  Fault fault = fault_here("unseen", reinterpret_cast<uint64_t>(memory) - g_fast.view, pc);
  if (!in_view(reinterpret_cast<uint64_t>(memory))) fault.offset = kNever;
  fault.message = std::string(call) + "() on pool memory at \1: " + why;
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

void refuse_copy(const char *call, const void *memory, uint64_t pc) {
  refuse_pool(call, memory, pc,
              "it reaches past the hooks, so what it reads or writes cannot be followed; copy through a local buffer");
}

void refuse_call(const char *call, const std::string &why, uint64_t pc) {
  Fault fault = fault_here("unseen", kNever, pc);
  fault.message = std::string(call) + "() at \1: " + why;
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

void refuse_descriptor(const char *call, uint64_t pc) {
  refuse_call(call, "the pool is memory; map it with mmap(), a file's calls would go past the caches", pc);
}

void programs_end_host(uint32_t host) {
  Machine &m = *g_machine;
  for (auto &thread : m.threads) {
    if (thread->named_host != host || thread.get() == m.current || thread->state == ThreadState::kDone) continue;
    std::erase(m.ready, thread->tid);
    thread->state = ThreadState::kDone;
    m.sleep_known = false;
    m.live -= (thread->flags & EMU_THREAD_DAEMON) == 0;
  }
}

}  // namespace prismem

PRISMEM_EXPORT char *__wrap_getenv(const char *name) {
  if (!in_program()) return getenv(name);
  const auto number = [](uint64_t value) {
    char *text = static_cast<char *>(heap_take(24, 0));
    if (text != nullptr) snprintf(text, 24, "%llu", static_cast<unsigned long long>(value));
    return text;
  };
  if (strcmp(name, "PRISMEM_HOST_ID") == 0) return number(g_machine->current->named_host);
  if (strcmp(name, "PRISMEM_HOSTS") == 0) return number(g_machine->cfg.hosts);
  return getenv(name);
}

PRISMEM_EXPORT int __wrap_shm_open(const char *name, int flags, mode_t mode) {
  return in_program() ? pool_descriptor() : shm_open(name, flags, mode);
}
PRISMEM_EXPORT int __wrap_shm_unlink(const char *name) {
  return in_program() ? 0 : shm_unlink(name);
}

#define ENDS(CALL)                                                         \
  PRISMEM_EXPORT void __wrap_##CALL(int status) {                          \
    if (in_program()) end_process(#CALL, status, CALLER);                  \
    if (g_fast.view_bytes != 0) ended_by(#CALL "() called at \1", CALLER); \
    CALL(status);                                                          \
  }
ENDS(exit)
ENDS(_exit)
ENDS(_Exit)
ENDS(quick_exit)

// Calls that would take or leave bytes behind the caches in pieces; guarded.def has those with one piece.
#define VECTORS(CALL, ARGUMENTS, ...)                                                      \
  PRISMEM_EXPORT ssize_t __wrap_##CALL(int fd, const struct iovec *v, int n __VA_ARGS__) { \
    if (emulated() && is_pool_descriptor(fd)) refuse_descriptor(#CALL, CALLER);            \
    refuse_vector(#CALL, v, static_cast<size_t>(n), CALLER);                               \
    return CALL ARGUMENTS;                                                                 \
  }
#define AND ,
VECTORS(readv, (fd, v, n))
VECTORS(writev, (fd, v, n))
VECTORS(preadv, (fd, v, n, at), AND off_t at)
VECTORS(pwritev, (fd, v, n, at), AND off_t at)

PRISMEM_EXPORT ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags) {
  refuse_vector("sendmsg", message->msg_iov, message->msg_iovlen, CALLER);
  return sendmsg(fd, message, flags);
}
PRISMEM_EXPORT ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags) {
  refuse_vector("recvmsg", message->msg_iov, message->msg_iovlen, CALLER);
  return recvmsg(fd, message, flags);
}

// One stream of numbers that look random, the same in every execution.
PRISMEM_EXPORT int __wrap_rand(void) {
  return in_program() ? static_cast<int>(g_machine->program_rng.below(uint64_t{RAND_MAX} + 1)) : rand();
}
PRISMEM_EXPORT void __wrap_srand(unsigned seed) {
  if (!in_program()) return srand(seed);
  g_machine->program_rng = Rng(seed);
}
PRISMEM_EXPORT long __wrap_random(void) {
  return in_program() ? static_cast<long>(g_machine->program_rng.below(uint64_t{RAND_MAX} + 1)) : random();
}
PRISMEM_EXPORT void __wrap_srandom(unsigned seed) {
  if (!in_program()) return srandom(seed);
  g_machine->program_rng = Rng(seed);
}

// Nobody sends signals, and those of a crash belong to the emulator.
PRISMEM_EXPORT sighandler_t __wrap_signal(int number, sighandler_t handler) {
  return in_program() ? SIG_DFL : signal(number, handler);
}
PRISMEM_EXPORT int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before) {
  if (!in_program()) return sigaction(number, action, before);
  if (before != nullptr) *before = {};
  return 0;
}
