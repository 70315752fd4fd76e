/**
 * @file external.cpp
 * Threads whose program is an operating-system thread of the caller, usually a Python one. A strict baton: the emulator
 * runs the posted function on a fiber of its own, answers, and stands still until the same thread posts again or exits,
 * so what the caller does in between takes no simulated time and cannot change the order of events.
 */
#include <dlfcn.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "access.hpp"

namespace prismem {

struct External {
  std::mutex mutex;
  std::condition_variable changed;
  enum { kIdle, kPosted, kAnswered, kExited, kCancelled } state = kIdle;
  void *fn = nullptr;
  int64_t args[8] = {};
  int64_t ret = 0;
  int64_t status = 0;
};

namespace {

/** Real time after which a caller that neither calls nor exits is taken for dead; only a hung caller ever meets it. */
constexpr auto kCallerPatience = std::chrono::seconds(120);

/** The caller's threads need the Python lock to make progress; the thread that waits for them may be holding it. */
class PythonLockRelease {
 public:
  PythonLockRelease() {
    using Check = int (*)();
    using Save = void *(*)();
    const auto check = reinterpret_cast<Check>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
    const auto save = reinterpret_cast<Save>(dlsym(RTLD_DEFAULT, "PyEval_SaveThread"));
    if (check != nullptr && save != nullptr && check() != 0) saved_ = save();
  }
  ~PythonLockRelease() {
    using Restore = void (*)(void *);
    if (saved_ == nullptr) return;
    reinterpret_cast<Restore>(dlsym(RTLD_DEFAULT, "PyEval_RestoreThread"))(saved_);
  }
  PythonLockRelease(const PythonLockRelease &) = delete;
  PythonLockRelease &operator=(const PythonLockRelease &) = delete;

 private:
  void *saved_ = nullptr;
};

/** Wait for the caller's next word. False: it never came. */
bool wait_for_caller(External &external) {
  {
    const std::lock_guard<std::mutex> lock(external.mutex);
    if (external.state == External::kPosted || external.state == External::kExited) return true;
  }
  const PythonLockRelease released;
  std::unique_lock<std::mutex> lock(external.mutex);
  return external.changed.wait_for(lock, kCallerPatience, [&] {
    return external.state == External::kPosted || external.state == External::kExited;
  });
}

void answer(External &external, int64_t value) {
  const std::lock_guard<std::mutex> lock(external.mutex);
  external.ret = value;
  external.state = External::kAnswered;
  external.changed.notify_all();
}

External *find_external(int tid) {
  if (g_machine == nullptr || tid < 0 || static_cast<size_t>(tid) >= g_machine->threads.size()) return nullptr;
  return g_machine->threads[static_cast<size_t>(tid)]->external;
}

}  // namespace

int64_t external_body(Thread &thread) {
  External &external = *thread.external;
  for (;;) {
    context_suspend();  // what the caller does meanwhile is no part of the machine
    const bool came = wait_for_caller(external);
    context_resume(thread);
    if (!came) {
      Fault fault = fault_here("thread", kNever, 0);
      fault.message =
          "external thread " + std::to_string(thread.tid) + " (" + thread.name +
          ") neither called nor exited: its program is gone, or waits for another host outside of simulated time";
      raise_fault(std::move(fault));
      end_run(EMU_FAULT);
    }
    if (external.state == External::kExited) return external.status;
    using Function = int64_t (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
    const int64_t *a = external.args;
    const int64_t value = reinterpret_cast<Function>(external.fn)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    answer(external, value);
  }
}

void externals_cancel() {
  for (auto &thread : g_machine->threads) {
    if (thread->external == nullptr) continue;
    const std::lock_guard<std::mutex> lock(thread->external->mutex);
    thread->external->state = External::kCancelled;
    thread->external->changed.notify_all();
  }
}

void external_destroy(External *external) {
  delete external;
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_spawn_external(uint32_t host, const char *name) {
  if (g_machine == nullptr || g_machine->started) {
    set_error("emu_spawn_external: %s", g_machine == nullptr ? "there is no machine" : "the run has started");
    return -EINVAL;
  }
  const int tid = emu_spawn(host, name, [](void *) -> int64_t { return 0; }, nullptr, 0);
  if (tid >= 0) g_machine->threads[static_cast<size_t>(tid)]->external = new External;
  return tid;
}

PRISMEM_EXPORT int emu_external_call(int tid, void *fn, const int64_t args[8], int64_t *ret) {
  External *external = find_external(tid);
  if (external == nullptr || fn == nullptr || args == nullptr) {
    set_error("tid: %d is not an external thread, or fn or args is NULL", tid);
    return -EINVAL;
  }
  std::unique_lock<std::mutex> lock(external->mutex);
  if (external->state == External::kCancelled) return -ECANCELED;
  if (external->state == External::kExited) return -EINVAL;
  external->fn = fn;
  for (int i = 0; i < 8; ++i) external->args[i] = args[i];
  external->state = External::kPosted;
  external->changed.notify_all();
  external->changed.wait(
      lock, [&] { return external->state == External::kAnswered || external->state == External::kCancelled; });
  if (external->state == External::kCancelled) return -ECANCELED;
  external->state = External::kIdle;
  if (ret != nullptr) *ret = external->ret;
  return 0;
}

PRISMEM_EXPORT int emu_external_exit(int tid, int64_t status) {
  External *external = find_external(tid);
  if (external == nullptr) {
    set_error("tid: %d is not an external thread", tid);
    return -EINVAL;
  }
  const std::lock_guard<std::mutex> lock(external->mutex);
  if (external->state == External::kCancelled) return -ECANCELED;
  external->status = status;
  external->state = External::kExited;
  external->changed.notify_all();
  return 0;
}
