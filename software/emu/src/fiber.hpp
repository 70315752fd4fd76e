/**
 * @file fiber.hpp
 * User-level threads: a stack with a guard page and a switch of the callee-saved registers, without any system call.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace prismem {

inline constexpr size_t kFiberStackBytes = 8 << 20;  ///< what Linux gives a program; taken page by page

class Fiber {
 public:
  Fiber() = default;
  ~Fiber() { release(); }
  Fiber(Fiber &&other) noexcept { swap(other); }
  Fiber &operator=(Fiber &&other) noexcept {
    swap(other);
    return *this;
  }

  /** Prepare a fiber that runs `entry(arg)` when first entered; entry must never return. False: no memory. */
  bool create(void (*entry)(void *), void *arg);
  /** Prepare it once more; what ran on it is forgotten. */
  void restart(void (*entry)(void *), void *arg);
  bool created() const { return mapping_ != nullptr; }
  /** The bytes lie on its stack. */
  bool holds(uint64_t address, uint64_t bytes) const;
  void release();
  /** Save the running context in `from` and continue this one. */
  void enter(Fiber &from);

 private:
  void swap(Fiber &other) {
    std::swap(sp_, other.sp_);
    std::swap(mapping_, other.mapping_);
  }
  void *sp_ = nullptr;
  char *mapping_ = nullptr;
};

}  // namespace prismem
