/**
 * @file intercept_print.cpp
 * printf and its family where the pool is involved: a text of the pool (%s) is loaded through the cache and a copy of it is
 * printed, and what is printed into the pool is stored there as memcpy does. Everything else is the C library's.
 *
 * The format tells where each argument lies, since the ABI of x86-64 says how a va_list counts registers and stack.
 */
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

#include "intercept.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace {

/** Reads the arguments of a va_list in order without using it up (System V ABI, figure 3.34). */
class Arguments {
 public:
  explicit Arguments(va_list args) { memcpy(&at_, args, sizeof at_); }
  uint64_t *integer() { return at_.gp < kGpEnd ? in_registers(at_.gp, 8) : on_stack(8); }
  void number() { at_.fp < kFpEnd ? in_registers(at_.fp, 16) : on_stack(8); }
  void long_number() {
    at_.stack += -reinterpret_cast<uint64_t>(at_.stack) & 15;
    on_stack(16);
  }

 private:
  static constexpr uint32_t kGpEnd = 48, kFpEnd = 176;
  struct {
    uint32_t gp, fp;
    char *stack, *registers;
  } at_;

  uint64_t *in_registers(uint32_t &offset, uint32_t bytes) {
    auto *slot = reinterpret_cast<uint64_t *>(at_.registers + offset);
    offset += bytes;
    return slot;
  }
  uint64_t *on_stack(uint32_t bytes) {
    auto *slot = reinterpret_cast<uint64_t *>(at_.stack);
    at_.stack += bytes;
    return slot;
  }
};

/** While it lives, the arguments of a format that are texts of the pool are replaced by copies. */
class Copies {
 public:
  Copies(const char *call, const char *format, va_list args, uint64_t pc) : call_(call), pc_(pc) {
    if (!emulated()) return;
    refuse_copy(call, format, pc);
    Arguments arguments(args);
    for (const char *p = strchr(format, '%'); p != nullptr; p = strchr(p, '%')) p = conversion(p + 1, arguments);
  }
  ~Copies() {
    for (const Kept &kept : kept_) *kept.slot = kept.pointer;
  }
  Copies(const Copies &) = delete;
  Copies &operator=(const Copies &) = delete;

 private:
  struct Kept {
    uint64_t *slot;
    uint64_t pointer;
    std::string text;
  };
  const char *call_;
  uint64_t pc_;
  std::deque<Kept> kept_;

  /** One conversion behind its `%`; returns what follows it. */
  const char *conversion(const char *p, Arguments &arguments) {
    uint64_t precision = SIZE_MAX;
    bool is_long = false;
    for (; *p != 0 && strchr("-+ #0'.*123456789hlqjzLt", *p) != nullptr; ++p) {
      if (*p == '*') {
        const auto given = static_cast<int>(*arguments.integer());
        if (p[-1] == '.' && given >= 0) precision = static_cast<uint64_t>(given);
      } else if (*p == '.' && p[1] != '*') {
        precision = strtoul(p + 1, nullptr, 10);
      }
      is_long |= *p == 'L';
    }
    if (*p == 0) return p;
    if (strchr("aAeEfFgG", *p) != nullptr) {
      is_long ? arguments.long_number() : arguments.number();
    } else if (*p == 's') {
      text(arguments.integer(), precision);
    } else if (*p == 'n') {
      refuse_copy(call_, reinterpret_cast<const void *>(*arguments.integer()), pc_);
    } else if (*p != '%' && *p != 'm') {
      arguments.integer();
    }
    return p + 1;
  }

  void text(uint64_t *slot, uint64_t precision) {
    if (!in_any_view(*slot)) return;
    kept_.push_back({slot, *slot, pool_string(reinterpret_cast<const char *>(*slot), precision, pc_)});
    *slot = reinterpret_cast<uint64_t>(kept_.back().text.c_str());
  }
};

int print_file(const char *call, FILE *file, const char *format, va_list args, uint64_t pc) {
  const Copies copies(call, format, args, pc);
  return vfprintf(file, format, args);
}

int print_descriptor(int fd, const char *format, va_list args, uint64_t pc) {
  if (emulated() && is_pool_descriptor(fd)) refuse_descriptor("dprintf", pc);
  const Copies copies("dprintf", format, args, pc);
  return vdprintf(fd, format, args);
}

int print_text(const char *call, char *to, size_t max, const char *format, va_list args, uint64_t pc) {
  const Copies copies(call, format, args, pc);
  if (!emulated() || max == 0 || !in_any_view(reinterpret_cast<uint64_t>(to))) return vsnprintf(to, max, format, args);
  va_list again;
  va_copy(again, args);
  const int length = vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) return length;
  std::string text(static_cast<size_t>(length) + 1, 0);
  vsnprintf(text.data(), text.size(), format, args);
  const size_t stored = std::min(text.size(), max);
  text[stored - 1] = 0;
  pool_write(to, text.data(), stored, pc);
  return length;
}

int print_allocated(char **to, const char *format, va_list args, uint64_t pc) {
  if (emulated()) refuse_copy("asprintf", to, pc);
  const Copies copies("asprintf", format, args, pc);
  return vasprintf(to, format, args);
}

}  // namespace

// NAME(PARAMETERS, ...) and vNAME(PARAMETERS, va_list); RESULT may use `args`.
#define PRINTS(NAME, RESULT, ...)                                \
  PRISMEM_EXPORT int __wrap_##NAME(__VA_ARGS__, ...) {           \
    va_list args;                                                \
    va_start(args, format);                                      \
    const char *call = #NAME;                                    \
    (void)call;                                                  \
    const int length = RESULT;                                   \
    va_end(args);                                                \
    return length;                                               \
  }                                                              \
  PRISMEM_EXPORT int __wrap_v##NAME(__VA_ARGS__, va_list args) { \
    const char *call = "v" #NAME;                                \
    (void)call;                                                  \
    return RESULT;                                               \
  }
PRINTS(printf, print_file(call, stdout, format, args, CALLER), const char *format)
PRINTS(fprintf, print_file(call, file, format, args, CALLER), FILE *file, const char *format)
PRINTS(dprintf, print_descriptor(fd, format, args, CALLER), int fd, const char *format)
PRINTS(sprintf, print_text(call, to, INT32_MAX, format, args, CALLER), char *to, const char *format)
PRINTS(snprintf, print_text(call, to, max, format, args, CALLER), char *to, size_t max, const char *format)
PRINTS(asprintf, print_allocated(to, format, args, CALLER), char **to, const char *format)

// The checked forms that -D_FORTIFY_SOURCE uses.
#define CHECKED(NAME, RESULT, ...)                                       \
  PRISMEM_EXPORT int __wrap___##NAME##_chk(__VA_ARGS__, ...) {           \
    va_list args;                                                        \
    va_start(args, format);                                              \
    const int length = RESULT;                                           \
    va_end(args);                                                        \
    return length;                                                       \
  }                                                                      \
  PRISMEM_EXPORT int __wrap___v##NAME##_chk(__VA_ARGS__, va_list args) { \
    return RESULT;                                                       \
  }
CHECKED(printf, print_file("printf", stdout, format, args, CALLER), int, const char *format)
CHECKED(fprintf, print_file("fprintf", file, format, args, CALLER), FILE *file, int, const char *format)
CHECKED(dprintf, print_descriptor(fd, format, args, CALLER), int fd, int, const char *format)
CHECKED(sprintf, print_text("sprintf", to, INT32_MAX, format, args, CALLER), char *to, int, size_t, const char *format)
CHECKED(snprintf, print_text("snprintf", to, max, format, args, CALLER), char *to, size_t max, int, size_t,
        const char *format)
CHECKED(asprintf, print_allocated(to, format, args, CALLER), char **to, int, const char *format)
