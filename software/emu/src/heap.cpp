/**
 * @file heap.cpp
 * The heap of programs that run many times: blocks of a power of two from an arena of its host, which is empty again before
 * each execution, so that every execution gets the same addresses and finds the same bytes. Memory that a program had before
 * its first execution, and memory of the C library's own, stays with the C library.
 */
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "intercept.hpp"
#include "program.hpp"

using namespace prismem;

namespace {

constexpr size_t kHostBytes = size_t{1} << 32;  ///< of one host; address space, not memory
constexpr size_t kArenaBytes = kHostBytes * EMU_HOSTS_MAX;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kClasses = 40;
/** What an execution has used beyond this goes back to the system afterwards. */
constexpr size_t kKeptBytes = size_t{1} << 20;

struct Header {
  uint32_t order;  ///< the block, header included, has 1 << order bytes
  uint32_t shift;  ///< from the block's begin to the memory given out
  size_t bytes;    ///< asked for
};
static_assert(sizeof(Header) == kHeaderBytes);

struct Free {
  Free *next;
};

/** A host's part of the arena: what one has freed never comes back in another, which would look as if they shared it. */
struct Heap {
  size_t used = 0;
  Free *free[kClasses] = {};
};

uint8_t *g_arena = nullptr;
Heap g_heaps[EMU_HOSTS_MAX];

Header *header_of(const void *memory) {
  return reinterpret_cast<Header *>(const_cast<uint8_t *>(static_cast<const uint8_t *>(memory)) - kHeaderBytes);
}

bool ours() {
  return g_fast.view_bytes != 0 && programs_any();
}

}  // namespace

namespace prismem {

bool heap_owns(const void *memory) {
  return g_arena != nullptr && static_cast<const uint8_t *>(memory) - g_arena < static_cast<ptrdiff_t>(kArenaBytes) &&
         static_cast<const uint8_t *>(memory) >= g_arena;
}

size_t heap_size(const void *memory) {
  return header_of(memory)->bytes;
}

void *heap_take(size_t bytes, size_t align) {
  if (g_arena == nullptr) g_arena = static_cast<uint8_t *>(map_lazy(kArenaBytes));
  align = std::max(align, kHeaderBytes);
  if (g_arena == nullptr || bytes > kHostBytes / 4 || align > kHostBytes / 4) return nullptr;
  const size_t needed = std::max<size_t>(bytes, 1) + align;
  const auto order = static_cast<uint32_t>(std::bit_width(needed - 1));
  const uint32_t host = g_machine->current->named_host;
  Heap &heap = g_heaps[host];
  uint8_t *block = reinterpret_cast<uint8_t *>(heap.free[order]);
  if (block != nullptr) {
    heap.free[order] = heap.free[order]->next;
  } else {
    if (heap.used + (size_t{1} << order) > kHostBytes) return nullptr;
    block = g_arena + host * kHostBytes + heap.used;
    heap.used += size_t{1} << order;
  }
  const uint64_t first = reinterpret_cast<uint64_t>(block) + kHeaderBytes;
  auto *memory = reinterpret_cast<uint8_t *>((first + align - 1) & ~(align - 1));
  *header_of(memory) = {order, static_cast<uint32_t>(memory - block), bytes};
  return memory;
}

void heap_give(void *memory) {
  const Header header = *header_of(memory);
  auto *block = reinterpret_cast<Free *>(static_cast<uint8_t *>(memory) - header.shift);
  Heap &heap = g_heaps[static_cast<size_t>(reinterpret_cast<uint8_t *>(block) - g_arena) / kHostBytes];
  block->next = heap.free[header.order];
  heap.free[header.order] = block;
}

void heap_reset() {
  for (size_t host = 0; host < g_machine->hosts.size(); ++host) {
    Heap &heap = g_heaps[host];
    if (heap.used == 0) continue;
    uint8_t *begin = g_arena + host * kHostBytes;
    memset(begin, 0, std::min(heap.used, kKeptBytes));
    if (heap.used > kKeptBytes) madvise(begin + kKeptBytes, heap.used - kKeptBytes, MADV_DONTNEED);
    heap = Heap{};
  }
}

}  // namespace prismem

PRISMEM_EXPORT void *__wrap_malloc(size_t bytes) {
  return ours() ? heap_take(bytes, 0) : malloc(bytes);
}

PRISMEM_EXPORT void *__wrap_calloc(size_t count, size_t bytes) {
  if (!ours()) return calloc(count, bytes);
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  void *memory = heap_take(all, 0);
  if (memory != nullptr) memset(memory, 0, all);
  return memory;
}

PRISMEM_EXPORT void __wrap_free(void *memory) {
  if (heap_owns(memory)) {
    heap_give(memory);
  } else {
    free(memory);
  }
}

PRISMEM_EXPORT void *__wrap_realloc(void *memory, size_t bytes) {
  if (!ours() || (memory != nullptr && !heap_owns(memory))) return realloc(memory, bytes);
  void *fresh = heap_take(bytes, 0);
  if (memory == nullptr || fresh == nullptr) return fresh;
  memcpy(fresh, memory, std::min(bytes, heap_size(memory)));
  heap_give(memory);
  return fresh;
}

PRISMEM_EXPORT void *__wrap_aligned_alloc(size_t align, size_t bytes) {
  return ours() ? heap_take(bytes, align) : aligned_alloc(align, bytes);
}

PRISMEM_EXPORT int __wrap_posix_memalign(void **memory, size_t align, size_t bytes) {
  if (!ours()) return posix_memalign(memory, align, bytes);
  if (align < sizeof(void *) || (align & (align - 1)) != 0) return EINVAL;
  *memory = heap_take(bytes, align);
  return *memory == nullptr ? ENOMEM : 0;
}

PRISMEM_EXPORT char *__wrap_strdup(const char *text) {
  const auto caller = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  const bool in_pool = emulated() && in_any_view(reinterpret_cast<uint64_t>(text));
  const std::string seen = in_pool ? pool_string(text, SIZE_MAX, caller) : text;
  auto *copy = static_cast<char *>(__wrap_malloc(seen.size() + 1));
  if (copy != nullptr) memcpy(copy, seen.c_str(), seen.size() + 1);
  return copy;
}

// operator new and delete, with and without alignment.
PRISMEM_EXPORT void *__wrap__Znwm(size_t bytes) {
  void *memory = __wrap_malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) abort();
  return memory;
}
PRISMEM_EXPORT void *__wrap__ZnwmSt11align_val_t(size_t bytes, size_t align) {
  void *memory = __wrap_aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
  if (memory == nullptr) abort();
  return memory;
}
PRISMEM_EXPORT void *__wrap__Znam(size_t bytes) {
  return __wrap__Znwm(bytes);
}
PRISMEM_EXPORT void *__wrap__ZnamSt11align_val_t(size_t bytes, size_t align) {
  return __wrap__ZnwmSt11align_val_t(bytes, align);
}
#define DELETE(NAME, ...)                                       \
  PRISMEM_EXPORT void __wrap_##NAME(void *memory __VA_ARGS__) { \
    __wrap_free(memory);                                        \
  }
#define AND ,
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, AND size_t)
DELETE(_ZdaPvm, AND size_t)
DELETE(_ZdlPvSt11align_val_t, AND size_t)
DELETE(_ZdaPvSt11align_val_t, AND size_t)
DELETE(_ZdlPvmSt11align_val_t, AND size_t AND size_t)
DELETE(_ZdaPvmSt11align_val_t, AND size_t AND size_t)
