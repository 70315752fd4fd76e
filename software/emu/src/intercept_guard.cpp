/**
 * @file intercept_guard.cpp
 * Functions of the C and C++ libraries that work on memory behind the hooks (guarded.def): a call with a pointer into the
 * pool ends the run with the function's name and the place. Any other goes on to the function as if nothing stood between.
 *
 * The functions have all kinds of signatures, so what stands in front of each is a few instructions that look at the
 * registers of the integer arguments and jump on: no argument is touched, whatever its type and number.
 */
#include <cstring>

#include "intercept.hpp"

using namespace prismem;

namespace {

constexpr uint32_t kArguments = 6;        ///< integer arguments in registers
constexpr uint32_t kDescriptor = 1 << 6;  ///< the first argument is a file
constexpr uint32_t kScansShift = 8;       ///< number of the argument after the format of a scanf, counted from 0

/** Pointers that a scanf writes through. */
uint32_t conversions(const char *format) {
  uint32_t count = 0;
  for (const char *p = format; *p != 0; ++p) {
    if (*p != '%') continue;
    ++p;
    if (*p == 0) break;
    count += *p != '%' && *p != '*';
    if (*p == '[' || p[1] == '[') p = strchr(p, ']') == nullptr ? p : strchr(p, ']');
  }
  return count;
}

}  // namespace

extern "C" {

struct Guarded {
  void (*function)();
  const char *name;
  uint32_t mask;
};

void prismem_guard_check(const Guarded *guarded, const uint64_t *registers, uint64_t pc) asm("prismem_guard_check")
    __attribute__((visibility("hidden"), used));

/** `registers`: r9, r8, rcx, rdx, rsi, rdi. */
void prismem_guard_check(const Guarded *guarded, const uint64_t *registers, uint64_t pc) {
  if (!emulated()) return;
  uint32_t mask = guarded->mask & ((1u << kArguments) - 1);
  const uint32_t first = guarded->mask >> kScansShift;
  if (first != 0) {
    const auto *format = reinterpret_cast<const char *>(registers[kArguments - first]);
    mask |= ((1u << conversions(format)) - 1) << first;
  }
  if ((guarded->mask & kDescriptor) && is_pool_descriptor(static_cast<int>(registers[kArguments - 1]))) {
    refuse_descriptor(guarded->name, pc);
  }
  for (uint32_t i = 0; i < kArguments; ++i) {
    if (mask >> i & 1) refuse_copy(guarded->name, reinterpret_cast<const void *>(registers[kArguments - 1 - i]), pc);
  }
}
}

// Registers are kept around the check; vector registers too, since a double may be among the arguments.
asm(R"(
  .text
  .hidden prismem_guard
  .type prismem_guard, @function
prismem_guard:
  .cfi_startproc
  pushq %rax
  .cfi_adjust_cfa_offset 8
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  pushq %r9
  .cfi_adjust_cfa_offset 8
  pushq %r11
  .cfi_adjust_cfa_offset 8
  subq $40, %rsp
  .cfi_adjust_cfa_offset 40
  movups %xmm0, 0(%rsp)
  movups %xmm1, 16(%rsp)
  movq %r11, %rdi
  leaq 48(%rsp), %rsi
  movq 104(%rsp), %rdx
  call prismem_guard_check
  movups 0(%rsp), %xmm0
  movups 16(%rsp), %xmm1
  addq $40, %rsp
  .cfi_adjust_cfa_offset -40
  popq %r11
  .cfi_adjust_cfa_offset -8
  popq %r9
  .cfi_adjust_cfa_offset -8
  popq %r8
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  popq %rax
  .cfi_adjust_cfa_offset -8
  jmp *(%r11)
  .cfi_endproc
  .size prismem_guard, . - prismem_guard
)");

// One entry, and the instructions in front of the function, by the name that the linker's --wrap gives to its callers. A
// function that this system does not have is nobody's to call.
#define GUARD(NAME, MASK)                                                                \
  extern "C" {                                                                           \
  void prismem_real_##NAME() asm(#NAME) __attribute__((weak));                           \
  extern const Guarded prismem_guarded_##NAME __attribute__((visibility("hidden")));     \
  const Guarded prismem_guarded_##NAME = {prismem_real_##NAME, #NAME, MASK};             \
  }                                                                                      \
  asm(".text\n.globl __wrap_" #NAME "\n.type __wrap_" #NAME ", @function\n__wrap_" #NAME \
      ":\n.cfi_startproc\nleaq prismem_guarded_" #NAME                                   \
      "(%rip), %r11\njmp prismem_guard\n.cfi_endproc\n.size __wrap_" #NAME ", . - __wrap_" #NAME "\n");
#include "guarded.def"
