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

namespace {

/** Descriptors of the pool: far above any that the system gives out; the low bits name the host. */
constexpr int kPoolDescriptor = 0x50000000;

bool is_pool_descriptor(int fd) {
  return fd >= kPoolDescriptor && fd < kPoolDescriptor + static_cast<int>(EMU_HOSTS_MAX);
}

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

void *mmap_call(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset) {
  if (!is_pool_descriptor(fd)) return mmap(hint, bytes, prot, flags, fd, offset);
  const uint64_t pool = g_machine->cfg.pool_bytes;
  const bool fits =
      offset >= 0 && static_cast<uint64_t>(offset) <= pool && bytes <= pool - static_cast<uint64_t>(offset);
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
PRISMEM_EXPORT int __wrap_fsync(int fd) {
  return is_pool_descriptor(fd) ? 0 : fsync(fd);
}

PRISMEM_EXPORT int __wrap_ftruncate(int fd, off_t bytes) {
  if (!is_pool_descriptor(fd)) return ftruncate(fd, bytes);
  return bytes < 0 || static_cast<uint64_t>(bytes) > g_machine->cfg.pool_bytes ? fail(EFBIG) : 0;
}

PRISMEM_EXPORT int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes) {
  if (!is_pool_descriptor(fd)) return posix_fallocate(fd, offset, bytes);
  return offset < 0 || bytes < 0 ||
                 static_cast<uint64_t>(offset) + static_cast<uint64_t>(bytes) > g_machine->cfg.pool_bytes
             ? EFBIG
             : 0;
}

PRISMEM_EXPORT void *__wrap_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return mmap_call(hint, bytes, prot, flags, fd, offset);
}
PRISMEM_EXPORT void *__wrap_mmap64(void *hint, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return mmap_call(hint, bytes, prot, flags, fd, offset);
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
PRISMEM_EXPORT int __wrap_mlock(const void *p, size_t bytes) {
  return in_any_view(reinterpret_cast<uint64_t>(p)) ? 0 : mlock(p, bytes);
}

PRISMEM_EXPORT int __wrap_clock_gettime(clockid_t id, struct timespec *ts) {
  if (!emulated()) return clock_gettime(id, ts);
  count_step();
  to_timespec(now_ns(), ts);
  return 0;
}

PRISMEM_EXPORT int __wrap_gettimeofday(struct timeval *tv, void *zone) {
  if (!emulated()) return gettimeofday(tv, zone);
  count_step();
  const uint64_t ns = now_ns();
  tv->tv_sec = static_cast<time_t>(ns / 1000000000ull);
  tv->tv_usec = static_cast<suseconds_t>(ns % 1000000000ull / 1000);
  return 0;
}

PRISMEM_EXPORT time_t __wrap_time(time_t *out) {
  if (!emulated()) return time(out);
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
  Rng &rng = g_machine->exploring ? g_machine->program_rng : g_machine->rng;
  for (size_t i = 0; i < bytes; ++i) {
    const auto value = static_cast<uint8_t>(rng.below(256));
    if (in_view(reinterpret_cast<uint64_t>(buffer) + i)) return fail(EFAULT);
    static_cast<uint8_t *>(buffer)[i] = value;
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
