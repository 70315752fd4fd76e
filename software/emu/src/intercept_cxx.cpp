/**
 * @file intercept_cxx.cpp
 * What C++ programs reach through their library instead of POSIX: std::thread, std::condition_variable, futexes (futures,
 * and atomic waits, semaphores, latches and barriers of C++20), guards of local statics, destructors of globals, clocks.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdarg>
#include <memory>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "intercept.hpp"
#include "program.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define START "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"
#define DEADLINE "EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"
#define FUTEX_WAIT_UNTIL "_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_until" DEADLINE
#define FUTEX_WAIT_STEADY "_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steady" DEADLINE
#define FUTEX_NOTIFY "_ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj"

/** A function of the C++ library by its linker name, and the one that stands in for it (PRISMEM_EXPORT, `--wrap`). */
#define LIBRARY(RESULT, NAME, SYMBOL, ...)         \
  extern "C" RESULT NAME(__VA_ARGS__) asm(SYMBOL); \
  PRISMEM_EXPORT RESULT wrap_##NAME(__VA_ARGS__) asm("__wrap_" SYMBOL);

using State = std::unique_ptr<std::thread::_State>;
using Lock = std::unique_lock<std::mutex>;
LIBRARY(void, thread_start, START, std::thread *thread, State *state, void (*depend)())
LIBRARY(void, thread_join, "_ZNSt6thread4joinEv", std::thread *thread)
LIBRARY(void, thread_detach, "_ZNSt6thread6detachEv", std::thread *thread)
LIBRARY(void, cond_wait, "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", pthread_cond_t *cond, Lock *lock)
LIBRARY(void, cond_one, "_ZNSt18condition_variable10notify_oneEv", pthread_cond_t *cond)
LIBRARY(void, cond_all, "_ZNSt18condition_variable10notify_allEv", pthread_cond_t *cond)
LIBRARY(bool, futex_until, FUTEX_WAIT_UNTIL, void *base, unsigned *word, unsigned value, bool timed, int64_t s,
        int64_t ns)
LIBRARY(bool, futex_steady, FUTEX_WAIT_STEADY, void *base, unsigned *word, unsigned value, bool timed, int64_t s,
        int64_t ns)
LIBRARY(void, futex_notify, FUTEX_NOTIFY, unsigned *word)
LIBRARY(int64_t, steady_now, "_ZNSt6chrono3_V212steady_clock3nowEv", void)
LIBRARY(int64_t, system_now, "_ZNSt6chrono3_V212system_clock3nowEv", void)
LIBRARY(int, guard_acquire, "__cxa_guard_acquire", uint8_t *guard)
LIBRARY(void, guard_release, "__cxa_guard_release", uint8_t *guard)
LIBRARY(void, guard_abort, "__cxa_guard_abort", uint8_t *guard)
LIBRARY(void, terminate, "_ZSt9terminatev", void)
LIBRARY(int, at_exit, "__cxa_atexit", void (*fn)(void *), void *arg, void *library)

extern "C" int __wrap_pthread_join(pthread_t handle, void **result);
extern "C" int __wrap_pthread_detach(pthread_t handle);
extern "C" int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
extern "C" int __wrap_pthread_cond_signal(pthread_cond_t *cond);
extern "C" int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);

namespace {

struct Guard {
  bool running = false;
  Waiters waiters;
  Clock clock;
};

std::unordered_map<const void *, Waiters> g_futexes;
std::unordered_map<const void *, Guard> g_guards;

/** The only member of a std::thread. */
pthread_t &handle_in(std::thread *thread) {
  static_assert(sizeof(std::thread) == sizeof(pthread_t));
  return *reinterpret_cast<pthread_t *>(thread);
}

void *run_state(void *argument) {
  const std::unique_ptr<std::thread::_State> state(static_cast<std::thread::_State *>(argument));
  state->_M_run();
  return nullptr;
}

/** 0, or the error of the system call. */
int futex_wait(const unsigned *word, unsigned value, uint64_t deadline_ns) {
  self().next_line = kLocalStep;
  count_step();
  if (*word != value) return EAGAIN;
  return wait_in(g_futexes[word], "a futex", deadline_ns) ? 0 : ETIMEDOUT;
}

int futex_wake(const unsigned *word, uint64_t count) {
  self().next_line = kLocalStep;
  count_step();
  Waiters &waiters = g_futexes[word];
  const uint64_t woken = std::min<uint64_t>(count, waiters.size());
  for (uint64_t i = 0; i < woken; ++i) wake_first(waiters);
  return static_cast<int>(woken);
}

uint64_t deadline_of(int64_t s, int64_t ns) {
  return s < 0 ? 0 : static_cast<uint64_t>(s) * 1000000000ull + static_cast<uint64_t>(ns);
}

long futex_call(const long *argument, uint64_t pc) {
  const auto *word = reinterpret_cast<const unsigned *>(argument[0]);
  refuse_shared("futex", word, pc);
  const auto *time = reinterpret_cast<const struct timespec *>(argument[3]);
  const long operation = argument[1] & FUTEX_CMD_MASK;
  if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) {
    return futex_wake(word, static_cast<uint64_t>(argument[2]));
  }
  if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) return -ENOSYS;
  const uint64_t from = operation == FUTEX_WAIT ? now_ns() : 0;  // with a bit set the time is absolute
  return -futex_wait(word, static_cast<unsigned>(argument[2]), time == nullptr ? kNever : from + to_ns(time));
}

}  // namespace

namespace {

/** What a program wants to have called when it ends: destructors of its globals, functions of atexit(). */
struct ExitHandler {
  void (*fn)(void *);
  void *arg;
};
constexpr size_t kExitHandlersMax = 4096;
std::vector<ExitHandler> g_exit_handlers[EMU_HOSTS_MAX];

int add_exit_handler(void (*fn)(void *), void *arg) {
  auto &handlers = g_exit_handlers[g_machine->current->named_host];
  if (handlers.size() >= kExitHandlersMax) return -1;
  handlers.push_back({fn, arg});
  return 0;
}

}  // namespace

namespace prismem {

void cxx_reset() {
  g_futexes.clear();
  g_guards.clear();
  for (auto &handlers : g_exit_handlers) handlers.clear();
}

void exit_handlers_run() {
  auto &handlers = g_exit_handlers[g_machine->current->named_host];
  while (!handlers.empty()) {  // a handler may register further ones
    const ExitHandler last = handlers.back();
    handlers.pop_back();
    last.fn(last.arg);
  }
}

}  // namespace prismem

void wrap_thread_start(std::thread *thread, State *state, void (*depend)()) {
  if (!emulated()) return thread_start(thread, state, depend);
  const int tid = start_thread(run_state, state->get());
  if (tid < 0) std::__throw_system_error(-tid);
  state->release();
  handle_in(thread) = static_cast<pthread_t>(tid) + 1;
}

void wrap_thread_join(std::thread *thread) {
  if (!emulated()) return thread_join(thread);
  const int error = handle_in(thread) == 0 ? EINVAL : __wrap_pthread_join(handle_in(thread), nullptr);
  if (error != 0) std::__throw_system_error(error);
  handle_in(thread) = 0;
}

void wrap_thread_detach(std::thread *thread) {
  if (!emulated()) return thread_detach(thread);
  const int error = handle_in(thread) == 0 ? EINVAL : __wrap_pthread_detach(handle_in(thread));
  if (error != 0) std::__throw_system_error(error);
  handle_in(thread) = 0;
}

void wrap_cond_wait(pthread_cond_t *cond, Lock *lock) {
  if (!emulated()) return cond_wait(cond, lock);
  refuse_shared("std::condition_variable::wait", cond, CALLER);
  __wrap_pthread_cond_wait(cond, lock->mutex()->native_handle());
}
void wrap_cond_one(pthread_cond_t *cond) {
  if (!emulated()) return cond_one(cond);
  refuse_shared("std::condition_variable::notify_one", cond, CALLER);
  __wrap_pthread_cond_signal(cond);
}
void wrap_cond_all(pthread_cond_t *cond) {
  if (!emulated()) return cond_all(cond);
  refuse_shared("std::condition_variable::notify_all", cond, CALLER);
  __wrap_pthread_cond_broadcast(cond);
}

bool wrap_futex_until(void *base, unsigned *word, unsigned value, bool timed, int64_t s, int64_t ns) {
  if (!emulated()) return futex_until(base, word, value, timed, s, ns);
  refuse_shared("std::future::wait", word, CALLER);
  return futex_wait(word, value, timed ? deadline_of(s, ns) : kNever) != ETIMEDOUT;
}
bool wrap_futex_steady(void *base, unsigned *word, unsigned value, bool timed, int64_t s, int64_t ns) {
  if (!emulated()) return futex_steady(base, word, value, timed, s, ns);
  refuse_shared("std::future::wait", word, CALLER);
  return futex_wait(word, value, timed ? deadline_of(s, ns) : kNever) != ETIMEDOUT;
}
void wrap_futex_notify(unsigned *word) {
  if (!emulated()) return futex_notify(word);
  futex_wake(word, kNever);
}

int64_t wrap_steady_now(void) {
  if (!emulated()) return steady_now();
  count_step();
  return static_cast<int64_t>(now_ns());
}
int64_t wrap_system_now(void) {
  if (!emulated()) return system_now();
  count_step();
  return static_cast<int64_t>(now_ns());
}

/** 1: the caller initializes. The first byte of a guard says that it is done; compiled code looks at it too. */
int wrap_guard_acquire(uint8_t *guard) {
  if (!emulated()) return guard_acquire(guard);
  Guard &known = g_guards[guard];
  while (*guard == 0 && known.running) wait_in(known.waiters, "the initialization of a local static");
  clock_acquire(known.clock);
  if (*guard != 0) return 0;
  known.running = true;
  return 1;
}
void wrap_guard_release(uint8_t *guard) {
  if (!emulated()) return guard_release(guard);
  Guard &known = g_guards[guard];
  sync_release(self(), reinterpret_cast<uint64_t>(guard), false, 0);
  clock_release(known.clock);
  *guard = 1;
  known.running = false;
  wake_all(known.waiters);
}
void wrap_guard_abort(uint8_t *guard) {
  if (!emulated()) return guard_abort(guard);
  Guard &known = g_guards[guard];
  known.running = false;
  wake_all(known.waiters);
}

/** Programs come here by atomic waits of C++20; any other system call is one that nobody can follow. */
PRISMEM_EXPORT long __wrap_syscall(long number, ...) {
  long argument[6];
  va_list args;
  va_start(args, number);
  for (long &one : argument) one = va_arg(args, long);
  va_end(args);
  if (!emulated()) return syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
  if (number == SYS_gettid) return kFirstProcess + self().tid;
  if (number != SYS_futex) {
    Fault fault = fault_here("unseen", kNever, CALLER);
    fault.message = "syscall(" + std::to_string(number) + ") at \1: use the function of the C library for it";
    raise_fault(std::move(fault));
    end_run(EMU_FAULT);
  }
  const long result = futex_call(argument, CALLER);
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

void wrap_terminate() {
  if (emulated()) ended_by("std::terminate() called at \1", CALLER);
  terminate();
}

int wrap_at_exit(void (*fn)(void *), void *arg, void *library) {
  return emulated() && programs_any() ? add_exit_handler(fn, arg) : at_exit(fn, arg, library);
}
PRISMEM_EXPORT int __wrap_atexit(void (*fn)()) {
  return emulated() && programs_any() ? add_exit_handler(reinterpret_cast<void (*)(void *)>(fn), nullptr) : atexit(fn);
}
