/**
 * @file intercept_program.cpp
 * What a program with a main() sees of its surroundings: its environment, POSIX shared memory as the pool, the end of its
 * process. And system calls that would reach into the pool behind the caches: they end the run with their name.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "access.hpp"
#include "program.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

bool in_program() {
  return g_fast.view_bytes != 0 && programs_any();
}

void refuse_pool(const char *call, const void *memory, uint64_t pc) {
  if (!in_any_view(reinterpret_cast<uint64_t>(memory))) return;
  Fault fault = fault_here("unseen", reinterpret_cast<uint64_t>(memory) - g_fast.view, pc);
  if (!in_view(reinterpret_cast<uint64_t>(memory))) fault.offset = kNever;
  fault.message = std::string(call) +
                  "() on pool memory at \1: the kernel reaches past the caches, so what it reads or " +
                  "writes cannot be followed; copy through a local buffer";
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

[[noreturn]] void end_process(int status) {
  programs_end_host(g_machine->current->named_host);
  thread_return(status);
}

}  // namespace

namespace prismem {

void programs_end_host(uint32_t host) {
  Machine &m = *g_machine;
  for (auto &thread : m.threads) {
    if (thread->named_host != host || thread.get() == m.current || thread->state == ThreadState::kDone) continue;
    std::erase(m.ready, thread->tid);
    thread->state = ThreadState::kDone;
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

PRISMEM_EXPORT ssize_t __wrap_read(int fd, void *memory, size_t bytes) {
  refuse_pool("read", memory, CALLER);
  return read(fd, memory, bytes);
}
PRISMEM_EXPORT ssize_t __wrap_write(int fd, const void *memory, size_t bytes) {
  refuse_pool("write", memory, CALLER);
  return write(fd, memory, bytes);
}
PRISMEM_EXPORT ssize_t __wrap_pread(int fd, void *memory, size_t bytes, off_t offset) {
  refuse_pool("pread", memory, CALLER);
  return pread(fd, memory, bytes, offset);
}
PRISMEM_EXPORT ssize_t __wrap_pwrite(int fd, const void *memory, size_t bytes, off_t offset) {
  refuse_pool("pwrite", memory, CALLER);
  return pwrite(fd, memory, bytes, offset);
}
PRISMEM_EXPORT size_t __wrap_fread(void *memory, size_t bytes, size_t count, FILE *file) {
  refuse_pool("fread", memory, CALLER);
  return fread(memory, bytes, count, file);
}
PRISMEM_EXPORT size_t __wrap_fwrite(const void *memory, size_t bytes, size_t count, FILE *file) {
  refuse_pool("fwrite", memory, CALLER);
  return fwrite(memory, bytes, count, file);
}
PRISMEM_EXPORT ssize_t __wrap_send(int fd, const void *memory, size_t bytes, int flags) {
  refuse_pool("send", memory, CALLER);
  return send(fd, memory, bytes, flags);
}
PRISMEM_EXPORT ssize_t __wrap_recv(int fd, void *memory, size_t bytes, int flags) {
  refuse_pool("recv", memory, CALLER);
  return recv(fd, memory, bytes, flags);
}
