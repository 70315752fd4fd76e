/**
 * @file fiber.cpp
 * Context switch for x86-64 System V: rbx, rbp, r12 to r15, MXCSR and the x87 control word. swapcontext would do as well,
 * but saves the signal mask by a system call at every switch.
 */
#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#if !defined(__x86_64__)
#error "the host emulator needs x86-64: the fiber switch is written for it"
#endif

extern "C" void prismem_fiber_switch(void **save_sp, void *load_sp);
extern "C" void prismem_fiber_start();

asm(R"(
.text
.hidden prismem_fiber_switch
.globl prismem_fiber_switch
.type prismem_fiber_switch, @function
prismem_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size prismem_fiber_switch, .-prismem_fiber_switch
.hidden prismem_fiber_start
.globl prismem_fiber_start
.type prismem_fiber_start, @function
prismem_fiber_start:
  movq %r12, %rdi
  call *%r13
  ud2
.size prismem_fiber_start, .-prismem_fiber_start
)");

namespace prismem {

namespace {
constexpr size_t kStackGuardBytes = 4096;
}

bool Fiber::create(void (*entry)(void *), void *arg) {
  void *mapping = mmap(nullptr, kFiberStackBytes + kStackGuardBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) return false;
  mapping_ = static_cast<char *>(mapping);
  mprotect(mapping_, kStackGuardBytes, PROT_NONE);
  restart(entry, arg);
  return true;
}

void Fiber::restart(void (*entry)(void *), void *arg) {
  // Frame as the switch leaves it: control words, r15, r14, r13 (entry), r12 (argument), rbx, rbp, return address, pad.
  auto *top = reinterpret_cast<uint64_t *>(mapping_ + kStackGuardBytes + kFiberStackBytes);
  uint64_t *frame = top - 10;
  memset(frame, 0, 10 * sizeof(uint64_t));
  uint32_t mxcsr;
  uint16_t x87;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
  frame[0] = mxcsr | (static_cast<uint64_t>(x87) << 32);
  frame[3] = reinterpret_cast<uint64_t>(entry);
  frame[4] = reinterpret_cast<uint64_t>(arg);
  frame[7] = reinterpret_cast<uint64_t>(&prismem_fiber_start);
  sp_ = frame;
}

bool Fiber::holds(uint64_t address, uint64_t bytes) const {
  const uint64_t begin = reinterpret_cast<uint64_t>(mapping_) + kStackGuardBytes;
  return address >= begin && address + bytes <= begin + kFiberStackBytes;
}

void Fiber::release() {
  if (mapping_ != nullptr) munmap(mapping_, kFiberStackBytes + kStackGuardBytes);
  mapping_ = nullptr;
  sp_ = nullptr;
}

void Fiber::enter(Fiber &from) {
  prismem_fiber_switch(&from.sp_, sp_);
}

}  // namespace prismem
