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

/** System calls, and functions of the C library that no hook sees. */
void refuse_copy(const char *call, const void *memory, uint64_t pc) {
  refuse_pool(call, memory, pc,
              "it reaches past the hooks, so what it reads or writes cannot be followed; copy through a local buffer");
}

void refuse_vector(const char *call, const struct iovec *pieces, size_t count, uint64_t pc) {
  for (size_t i = 0; emulated() && i < count; ++i) refuse_copy(call, pieces[i].iov_base, pc);
}

[[noreturn]] void end_process(int status) {
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

PRISMEM_EXPORT void __wrap_exit(int status) {
  if (in_program()) end_process(status);
  if (g_fast.view_bytes != 0) ended_by("exit() called at \1", CALLER);
  exit(status);
}
PRISMEM_EXPORT void __wrap__exit(int status) {
  if (in_program()) end_process(status);
  if (g_fast.view_bytes != 0) ended_by("_exit() called at \1", CALLER);
  _exit(status);
}

// Calls that would take or leave bytes behind the caches, and those with the same in pieces.
#define COPIES(RESULT, CALL, MEMORY, ARGUMENTS, ...)    \
  PRISMEM_EXPORT RESULT __wrap_##CALL(__VA_ARGS__) {    \
    if (emulated()) refuse_copy(#CALL, MEMORY, CALLER); \
    return CALL ARGUMENTS;                              \
  }
#define VECTORS(CALL, ARGUMENTS, ...)                                                      \
  PRISMEM_EXPORT ssize_t __wrap_##CALL(int fd, const struct iovec *v, int n __VA_ARGS__) { \
    refuse_vector(#CALL, v, static_cast<size_t>(n), CALLER);                               \
    return CALL ARGUMENTS;                                                                 \
  }
#define AND ,
COPIES(ssize_t, read, memory, (fd, memory, bytes), int fd, void *memory, size_t bytes)
COPIES(ssize_t, write, memory, (fd, memory, bytes), int fd, const void *memory, size_t bytes)
COPIES(ssize_t, pread, memory, (fd, memory, bytes, at), int fd, void *memory, size_t bytes, off_t at)
COPIES(ssize_t, pwrite, memory, (fd, memory, bytes, at), int fd, const void *memory, size_t bytes, off_t at)
COPIES(size_t, fread, memory, (memory, bytes, count, file), void *memory, size_t bytes, size_t count, FILE *file)
COPIES(size_t, fwrite, memory, (memory, bytes, count, file), const void *memory, size_t bytes, size_t count, FILE *file)
COPIES(char *, fgets, text, (text, bytes, file), char *text, int bytes, FILE *file)
COPIES(int, fputs, text, (text, file), const char *text, FILE *file)
COPIES(int, puts, text, (text), const char *text)
COPIES(ssize_t, send, memory, (fd, memory, bytes, flags), int fd, const void *memory, size_t bytes, int flags)
COPIES(ssize_t, recv, memory, (fd, memory, bytes, flags), int fd, void *memory, size_t bytes, int flags)
COPIES(ssize_t, sendto, memory, (fd, memory, bytes, flags, to, length), int fd, const void *memory, size_t bytes,
       int flags, const struct sockaddr *to, socklen_t length)
COPIES(ssize_t, recvfrom, memory, (fd, memory, bytes, flags, from, length), int fd, void *memory, size_t bytes,
       int flags, struct sockaddr *from, socklen_t *length)
COPIES(char *, strcat, to, (to, from), char *to, const char *from)
COPIES(char *, strncat, to, (to, from, max), char *to, const char *from, size_t max)
COPIES(int, vsnprintf, to, (to, max, format, args), char *to, size_t max, const char *format, va_list args)
COPIES(void, qsort, first, (first, count, bytes, order), void *first, size_t count, size_t bytes,
       int (*order)(const void *, const void *))
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

PRISMEM_EXPORT int __wrap_snprintf(char *to, size_t max, const char *format, ...) {
  if (emulated()) refuse_copy("snprintf", to, CALLER);
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(to, max, format, args);
  va_end(args);
  return length;
}
PRISMEM_EXPORT int __wrap_sprintf(char *to, const char *format, ...) {
  if (emulated()) refuse_copy("sprintf", to, CALLER);
  va_list args;
  va_start(args, format);
  const int length = vsprintf(to, format, args);
  va_end(args);
  return length;
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
