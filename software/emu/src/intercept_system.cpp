/**
 * @file intercept_system.cpp
 * The pool as a file: open of EMU_POOL_PATH gives a descriptor of the calling thread's host, mmap of it that host's view.
 * Also time, process identity and the calls that end a process. Anything else falls through to the C library.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "intercept.hpp"
#include "program.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

/** Devices that programs without a word about prismem map; only where programs of that kind run. */
constexpr const char *kDaxPath = "/dev/dax";

bool is_pool_path(const char *path) {
  if (!emulated() || path == nullptr) return false;
  const size_t n = strlen(EMU_POOL_PATH);
  if (strncmp(path, EMU_POOL_PATH, n) == 0 && (path[n] == 0 || path[n] == '/')) return true;
  if (programs_any() && strncmp(path, kDaxPath, strlen(kDaxPath)) == 0) return true;
  const auto &paths = g_machine->pool_paths;
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

int fail(int error) {
  errno = error;
  return -1;
}

int open_call(const char *path, int flags, mode_t mode) {
  return is_pool_path(path) ? pool_descriptor() : open(path, flags, mode);
}

int stat_pool(struct stat *st) {
  memset(st, 0, sizeof *st);
  st->st_mode = S_IFREG | 0600;
  st->st_nlink = 1;
  st->st_size = static_cast<off_t>(g_machine->cfg.pool_bytes);
  st->st_blksize = static_cast<blksize_t>(kPageBytes2M);
  st->st_ino = 1;
  return 0;
}

/** What a program asks of the pool that it is not, with what would make it right. Others get the error of the system. */
void refuse_program(const char *call, const std::string &why, uint64_t pc) {
  if (programs_any()) refuse_call(call, why, pc);
}

std::string too_small(uint64_t end) {
  return "byte " + std::to_string(end) + " is asked for, and the pool has " +
         std::to_string(g_machine->cfg.pool_bytes) + "; give it --pool-mib " +
         std::to_string((end + (1 << 20) - 1) >> 20);
}

void *mmap_call(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset, uint64_t pc) {
  if (!is_pool_descriptor(fd)) return mmap(hint, bytes, prot, flags, fd, offset);
  const uint64_t pool = g_machine->cfg.pool_bytes;
  const bool fits =
      offset >= 0 && static_cast<uint64_t>(offset) <= pool && bytes <= pool - static_cast<uint64_t>(offset);
  if (!fits) refuse_program("mmap", too_small(static_cast<uint64_t>(offset) + bytes), pc);
  if (flags & MAP_FIXED) {
    refuse_program("mmap",
                   "MAP_FIXED: the pool has its own address in each host; keep offsets, and map it where it comes", pc);
  }
  if ((flags & MAP_TYPE) == MAP_PRIVATE) {
    refuse_program("mmap", "MAP_PRIVATE: a private copy is not shared memory; use MAP_SHARED", pc);
  }
  g_machine->pool_mapped = true;
  if (bytes == 0 || !fits || offset % 4096 != 0 || (flags & MAP_FIXED) || (flags & MAP_TYPE) == MAP_PRIVATE) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  return g_machine->hosts[static_cast<size_t>(fd - kPoolDescriptor)].view + offset;
}

void to_timespec(uint64_t ns, struct timespec *ts) {
  ts->tv_sec = static_cast<time_t>(ns / 1000000000ull);
  ts->tv_nsec = static_cast<long>(ns % 1000000000ull);
}

}  // namespace

namespace prismem {

int pool_descriptor() {
  return kPoolDescriptor + static_cast<int>(g_machine->current->host);
}

void ended_by(const char *what, uint64_t pc) {
  Fault fault = fault_here("thread", kNever, pc);
  fault.message = std::string(what);
  if (programs_any()) fault.message += callers_of_program();
  raise_fault(std::move(fault));
  end_run(EMU_FAULT);
}

}  // namespace prismem

PRISMEM_EXPORT int __wrap_open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
  va_end(args);
  return open_call(path, flags, mode);
}

PRISMEM_EXPORT int __wrap_open64(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
  va_end(args);
  return open_call(path, flags, mode);
}

PRISMEM_EXPORT int __wrap_openat(int dir, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
  va_end(args);
  return is_pool_path(path) ? pool_descriptor() : openat(dir, path, flags, mode);
}

PRISMEM_EXPORT int __wrap_close(int fd) {
  return is_pool_descriptor(fd) ? 0 : close(fd);
}
PRISMEM_EXPORT int __wrap_fstat(int fd, struct stat *st) {
  return is_pool_descriptor(fd) ? stat_pool(st) : fstat(fd, st);
}
PRISMEM_EXPORT int __wrap_fstat64(int fd, struct stat *st) {
  return is_pool_descriptor(fd) ? stat_pool(st) : fstat(fd, st);
}
PRISMEM_EXPORT int __wrap_stat(const char *path, struct stat *st) {
  return is_pool_path(path) ? stat_pool(st) : stat(path, st);
}
PRISMEM_EXPORT int __wrap_flock(int fd, int operation) {
  return is_pool_descriptor(fd) ? 0 : flock(fd, operation);
}
PRISMEM_EXPORT int __wrap_dup(int fd) {
  return is_pool_descriptor(fd) ? fd : dup(fd);
}
PRISMEM_EXPORT int __wrap_access(const char *path, int mode) {
  return is_pool_path(path) ? 0 : access(path, mode);
}
/** Of a device one asks the size this way; there is no position in it that a later call would use. */
PRISMEM_EXPORT off_t __wrap_lseek(int fd, off_t offset, int whence) {
  if (!is_pool_descriptor(fd)) return lseek(fd, offset, whence);
  return whence == SEEK_END ? static_cast<off_t>(g_machine->cfg.pool_bytes) + offset : offset;
}
PRISMEM_EXPORT off64_t __wrap_lseek64(int fd, off64_t offset, int whence) {
  return __wrap_lseek(fd, offset, whence);
}
PRISMEM_EXPORT int __wrap_fcntl(int fd, int command, ...) {
  va_list args;
  va_start(args, command);
  void *argument = va_arg(args, void *);
  va_end(args);
  if (!is_pool_descriptor(fd)) return fcntl(fd, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return fd;
  return command == F_GETFL ? O_RDWR : 0;
}
PRISMEM_EXPORT int __wrap_fsync(int fd) {
  return is_pool_descriptor(fd) ? 0 : fsync(fd);
}

PRISMEM_EXPORT int __wrap_ftruncate(int fd, off_t bytes) {
  if (!is_pool_descriptor(fd)) return ftruncate(fd, bytes);
  if (bytes >= 0 && static_cast<uint64_t>(bytes) <= g_machine->cfg.pool_bytes) return 0;
  refuse_program("ftruncate", too_small(static_cast<uint64_t>(bytes)), CALLER);
  return fail(EFBIG);
}

PRISMEM_EXPORT int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes) {
  if (!is_pool_descriptor(fd)) return posix_fallocate(fd, offset, bytes);
  return offset < 0 || bytes < 0 ||
                 static_cast<uint64_t>(offset) + static_cast<uint64_t>(bytes) > g_machine->cfg.pool_bytes
             ? EFBIG
             : 0;
}

PRISMEM_EXPORT void *__wrap_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return mmap_call(hint, bytes, prot, flags, fd, offset, CALLER);
}
PRISMEM_EXPORT void *__wrap_mmap64(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return mmap_call(hint, bytes, prot, flags, fd, offset, CALLER);
}
PRISMEM_EXPORT int __wrap_munmap(void *p, size_t bytes) {
  return in_any_view(reinterpret_cast<uint64_t>(p)) ? 0 : munmap(p, bytes);
}
PRISMEM_EXPORT int __wrap_msync(void *p, size_t bytes, int flags) {
  return in_any_view(reinterpret_cast<uint64_t>(p)) ? 0 : msync(p, bytes, flags);
}
PRISMEM_EXPORT int __wrap_madvise(void *p, size_t bytes, int advice) {
  return in_any_view(reinterpret_cast<uint64_t>(p)) ? 0 : madvise(p, bytes, advice);
}
PRISMEM_EXPORT int __wrap_mprotect(void *p, size_t bytes, int prot) {
  return in_any_view(reinterpret_cast<uint64_t>(p)) ? 0 : mprotect(p, bytes, prot);
}
PRISMEM_EXPORT int __wrap_mlock(const void *p, size_t bytes) {
  return in_any_view(reinterpret_cast<uint64_t>(p)) ? 0 : mlock(p, bytes);
}

PRISMEM_EXPORT int __wrap_clock_gettime(clockid_t id, struct timespec *ts) {
  if (!emulated()) return clock_gettime(id, ts);
  refuse_copy("clock_gettime", ts, CALLER);
  count_step();
  to_timespec(now_ns(), ts);
  return 0;
}

PRISMEM_EXPORT int __wrap_gettimeofday(struct timeval *tv, void *zone) {
  if (!emulated()) return gettimeofday(tv, zone);
  refuse_copy("gettimeofday", tv, CALLER);
  count_step();
  const uint64_t ns = now_ns();
  tv->tv_sec = static_cast<time_t>(ns / 1000000000ull);
  tv->tv_usec = static_cast<suseconds_t>(ns % 1000000000ull / 1000);
  return 0;
}

PRISMEM_EXPORT time_t __wrap_time(time_t *out) {
  if (!emulated()) return time(out);
  refuse_copy("time", out, CALLER);
  const time_t seconds = static_cast<time_t>(now_ns() / 1000000000ull);
  if (out != nullptr) *out = seconds;
  return seconds;
}

PRISMEM_EXPORT int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left) {
  if (!emulated()) return nanosleep(wanted, left);
  emu_sleep_ns(to_ns(wanted));
  return 0;
}

PRISMEM_EXPORT int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted,
                                          struct timespec *left) {
  if (!emulated()) return clock_nanosleep(id, flags, wanted, left);
  const uint64_t ns = to_ns(wanted);
  if (!(flags & TIMER_ABSTIME)) {
    emu_sleep_ns(ns);
  } else if (ns > now_ns()) {
    emu_sleep_ns(ns - now_ns());
  }
  return 0;
}

PRISMEM_EXPORT int __wrap_usleep(useconds_t us) {
  if (!emulated()) return usleep(us);
  emu_sleep_ns(uint64_t{us} * 1000);
  return 0;
}

PRISMEM_EXPORT unsigned __wrap_sleep(unsigned seconds) {
  if (!emulated()) return sleep(seconds);
  emu_sleep_ns(uint64_t{seconds} * 1000000000ull);
  return 0;
}

PRISMEM_EXPORT int __wrap_sched_yield(void) {
  emu_yield();
  return 0;
}

PRISMEM_EXPORT pid_t __wrap_getpid(void) {
  return emulated() ? kFirstProcess + static_cast<pid_t>(g_machine->current->named_host) : getpid();
}

PRISMEM_EXPORT ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags) {
  if (!emulated()) return getrandom(buffer, bytes, flags);
  refuse_copy("getrandom", buffer, CALLER);
  Rng &rng = g_machine->exploring ? g_machine->program_rng : g_machine->rng;
  for (size_t i = 0; i < bytes; ++i) {
    static_cast<uint8_t *>(buffer)[i] = static_cast<uint8_t>(rng.below(256));
  }
  return static_cast<ssize_t>(bytes);
}

PRISMEM_EXPORT void __wrap_abort(void) {
  if (emulated()) ended_by("abort() called at \1", reinterpret_cast<uint64_t>(__builtin_return_address(0)));
  abort();
}

PRISMEM_EXPORT void __wrap___assert_fail(const char *expression, const char *file, unsigned line,
                                         const char *function) {
  if (emulated()) {
    ended_by(("assertion failed: " + std::string(expression) + " at " + file + ":" + std::to_string(line) + " (" +
              (function == nullptr ? "?" : function) + ")")
                 .c_str(),
             reinterpret_cast<uint64_t>(__builtin_return_address(0)));
  }
  fprintf(stderr, "%s:%u: %s: assertion failed: %s\n", file, line, function == nullptr ? "?" : function, expression);
  abort();
}
