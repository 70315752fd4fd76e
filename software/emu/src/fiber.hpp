/**
 * @file fiber.hpp
 * User-level threads: a stack with a guard page and a switch of the callee-saved registers, without any system call.
 */
#pragma once

#include <cstddef>

namespace prismem {

inline constexpr size_t kFiberStackBytes = 256 * 1024;

class Fiber {
 public:
  Fiber() = default;
  ~Fiber() { release(); }
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /** Prepare a fiber that runs `entry(arg)` when first entered; entry must never return. False: no memory. */
  bool create(void (*entry)(void *), void *arg);
  void release();
  /** Save the running context in `from` and continue this one. */
  void enter(Fiber &from);

 private:
  void *sp_ = nullptr;
  char *mapping_ = nullptr;
};

}  // namespace prismem
