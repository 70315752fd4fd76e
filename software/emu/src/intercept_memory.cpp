/**
 * @file intercept_memory.cpp
 * memcpy and its family on pool memory: line by line through the cache, so that other hosts and cache events can come in
 * between two lines. On ordinary memory they are the C library's. Reached by the linker's --wrap and by __tsan_ names.
 */
#include <algorithm>
#include <cstring>
#include <string>

#include "intercept.hpp"

using namespace prismem;

#define CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define ADDRESS(p) reinterpret_cast<uint64_t>(p)

namespace {

/** Bytes from here to the end of the line. */
size_t to_line_end(uint64_t address) {
  return kLineBytes - (address & (kLineBytes - 1));
}

bool in_pool(const void *p) {
  return UNLIKELY(in_any_view(ADDRESS(p)));
}

void copy_piece(uint8_t *to, const uint8_t *from, size_t bytes, uint64_t pc) {
  uint8_t piece[kLineBytes];
  if (in_pool(from)) slow_load(ADDRESS(from), bytes, pc, true);
  memcpy(piece, from, bytes);
  if (in_pool(to)) slow_store(ADDRESS(to), bytes, pc);
  memcpy(to, piece, bytes);
  g_fast.store_armed = 0;
}

void copy_forward(void *to, const void *from, size_t bytes, uint64_t pc) {
  auto *d = static_cast<uint8_t *>(to);
  const auto *s = static_cast<const uint8_t *>(from);
  while (bytes != 0) {
    size_t piece = bytes;
    if (in_pool(d)) piece = std::min(piece, to_line_end(ADDRESS(d)));
    if (in_pool(s)) piece = std::min(piece, to_line_end(ADDRESS(s)));
    copy_piece(d, s, std::min<size_t>(piece, kLineBytes), pc);
    piece = std::min<size_t>(piece, kLineBytes);
    d += piece;
    s += piece;
    bytes -= piece;
  }
}

void copy_backward(void *to, const void *from, size_t bytes, uint64_t pc) {
  auto *d = static_cast<uint8_t *>(to) + bytes;
  const auto *s = static_cast<const uint8_t *>(from) + bytes;
  while (bytes != 0) {
    size_t piece = std::min<size_t>(bytes, kLineBytes);
    if (in_pool(d - 1)) piece = std::min(piece, static_cast<size_t>((ADDRESS(d) - 1) & (kLineBytes - 1)) + 1);
    if (in_pool(s - 1)) piece = std::min(piece, static_cast<size_t>((ADDRESS(s) - 1) & (kLineBytes - 1)) + 1);
    d -= piece;
    s -= piece;
    copy_piece(d, s, piece, pc);
    bytes -= piece;
  }
}

/** Load one byte through the cache. */
uint8_t byte_at(const char *p, uint64_t pc) {
  if (in_pool(p)) hook_load<1>(ADDRESS(p), pc);
  return static_cast<uint8_t>(*p);
}

void *wrapped_move(void *to, const void *from, size_t bytes, uint64_t pc) {
  if (!in_pool(to) && !in_pool(from)) return memmove(to, from, bytes);
  if (ADDRESS(to) - ADDRESS(from) < bytes) {
    copy_backward(to, from, bytes, pc);
  } else {
    copy_forward(to, from, bytes, pc);
  }
  return to;
}

void *wrapped_set(void *to, int value, size_t bytes, uint64_t pc) {
  if (!in_pool(to)) return memset(to, value, bytes);
  auto *d = static_cast<uint8_t *>(to);
  while (bytes != 0) {
    const size_t piece = std::min(bytes, to_line_end(ADDRESS(d)));
    slow_store(ADDRESS(d), piece, pc);
    memset(d, value, piece);
    g_fast.store_armed = 0;
    d += piece;
    bytes -= piece;
  }
  return to;
}

size_t length_of(const char *s, size_t max, uint64_t pc) {
  size_t n = 0;
  while (n < max && byte_at(s + n, pc) != 0) ++n;
  return n;
}

int compare(const char *a, const char *b, size_t max, bool stop_at_zero, uint64_t pc) {
  for (size_t i = 0; i < max; ++i) {
    const int x = byte_at(a + i, pc);
    const int y = byte_at(b + i, pc);
    if (x != y) return x - y;
    if (stop_at_zero && x == 0) return 0;
  }
  return 0;
}

}  // namespace

namespace prismem {

std::string pool_string(const char *from, size_t max, uint64_t pc) {
  std::string text;
  for (size_t i = 0; i < max; ++i) {
    const auto byte = static_cast<char>(byte_at(from + i, pc));
    if (byte == 0) break;
    text.push_back(byte);
  }
  return text;
}

void pool_write(void *to, const void *from, size_t bytes, uint64_t pc) {
  copy_forward(to, from, bytes, pc);
}

}  // namespace prismem

PRISMEM_EXPORT void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
  if (!in_pool(to) && !in_pool(from)) return memcpy(to, from, bytes);
  copy_forward(to, from, bytes, CALLER);
  return to;
}

PRISMEM_EXPORT void *__wrap_memmove(void *to, const void *from, size_t bytes) {
  return wrapped_move(to, from, bytes, CALLER);
}
PRISMEM_EXPORT void *__wrap_memset(void *to, int value, size_t bytes) {
  return wrapped_set(to, value, bytes, CALLER);
}
// The checked forms that -D_FORTIFY_SOURCE uses.
PRISMEM_EXPORT void *__wrap___memcpy_chk(void *to, const void *from, size_t bytes, size_t) {
  return wrapped_move(to, from, bytes, CALLER);
}
PRISMEM_EXPORT void *__wrap___memmove_chk(void *to, const void *from, size_t bytes, size_t) {
  return wrapped_move(to, from, bytes, CALLER);
}
PRISMEM_EXPORT void *__wrap___memset_chk(void *to, int value, size_t bytes, size_t) {
  return wrapped_set(to, value, bytes, CALLER);
}
// Names that newer compilers emit instead of the plain ones.
PRISMEM_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  return wrapped_move(to, from, bytes, CALLER);
}
PRISMEM_EXPORT void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  return wrapped_move(to, from, bytes, CALLER);
}
PRISMEM_EXPORT void *__tsan_memset(void *to, int value, size_t bytes) {
  return wrapped_set(to, value, bytes, CALLER);
}

PRISMEM_EXPORT int __wrap_memcmp(const void *a, const void *b, size_t bytes) {
  if (!in_pool(a) && !in_pool(b)) return memcmp(a, b, bytes);
  const char *x = static_cast<const char *>(a);
  const char *y = static_cast<const char *>(b);
  while (bytes != 0) {
    size_t piece = std::min<size_t>(bytes, kLineBytes);
    if (in_pool(x)) piece = std::min(piece, to_line_end(ADDRESS(x)));
    if (in_pool(y)) piece = std::min(piece, to_line_end(ADDRESS(y)));
    uint8_t left[kLineBytes];
    if (in_pool(x)) slow_load(ADDRESS(x), piece, CALLER, true);
    memcpy(left, x, piece);
    if (in_pool(y)) slow_load(ADDRESS(y), piece, CALLER, true);
    const int order = memcmp(left, y, piece);
    if (order != 0) return order;
    x += piece;
    y += piece;
    bytes -= piece;
  }
  return 0;
}

PRISMEM_EXPORT void *__wrap_memchr(const void *s, int value, size_t bytes) {
  if (!in_pool(s)) return const_cast<void *>(memchr(s, value, bytes));
  const char *p = static_cast<const char *>(s);
  for (size_t i = 0; i < bytes; ++i) {
    if (byte_at(p + i, CALLER) == static_cast<uint8_t>(value)) return const_cast<char *>(p + i);
  }
  return nullptr;
}

PRISMEM_EXPORT size_t __wrap_strlen(const char *s) {
  return in_pool(s) ? length_of(s, SIZE_MAX, CALLER) : strlen(s);
}
PRISMEM_EXPORT size_t __wrap_strnlen(const char *s, size_t max) {
  return in_pool(s) ? length_of(s, max, CALLER) : strnlen(s, max);
}

PRISMEM_EXPORT int __wrap_strcmp(const char *a, const char *b) {
  return in_pool(a) || in_pool(b) ? compare(a, b, SIZE_MAX, true, CALLER) : strcmp(a, b);
}

PRISMEM_EXPORT int __wrap_strncmp(const char *a, const char *b, size_t max) {
  return in_pool(a) || in_pool(b) ? compare(a, b, max, true, CALLER) : strncmp(a, b, max);
}

PRISMEM_EXPORT char *__wrap_strcpy(char *to, const char *from) {
  if (!in_pool(to) && !in_pool(from)) return strcpy(to, from);
  copy_forward(to, from, length_of(from, SIZE_MAX, CALLER) + 1, CALLER);
  return to;
}

PRISMEM_EXPORT char *__wrap_strncpy(char *to, const char *from, size_t max) {
  if (!in_pool(to) && !in_pool(from)) return strncpy(to, from, max);
  const size_t n = length_of(from, max, CALLER);
  copy_forward(to, from, n, CALLER);
  wrapped_set(to + n, 0, max - n, CALLER);
  return to;
}
