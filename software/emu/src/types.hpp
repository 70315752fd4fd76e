/**
 * @file types.hpp
 * Words of the emulator's language: lines, shadow words, pending instructions, memory requests.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prismem {

inline constexpr uint32_t kLineShift = 6;
inline constexpr uint32_t kLineBytes = 64;
inline constexpr uint32_t kWordsPerLine = 8;
inline constexpr uint64_t kGuardBytes = 64 * 1024;  ///< behind each host's view: an access here has left the pool
inline constexpr uint64_t kPageBytes2M = 2ull << 20;

/** Bounds of every queue. */
inline constexpr uint32_t kPendingMax = 64;           ///< flushes, fences and streaming stores in flight a thread
inline constexpr uint32_t kStreamBuffersMax = 10;     ///< write-combining buffers a thread
inline constexpr uint32_t kCacheLinesMax = 1u << 18;  ///< lines a host holds before it must evict (16 MiB)
inline constexpr uint32_t kRecentLines = 32;          ///< lines that spontaneous events prefer
inline constexpr uint32_t kDmaTicketsMax = 4096;      ///< transfers in flight a host
inline constexpr uint32_t kDmaLinesInFlight = 256;    ///< line requests of the DMA engine in flight a host (RTL port)
inline constexpr uint32_t kReleasesKept = 16;         ///< release stores remembered a word
inline constexpr uint32_t kPortQueueMax = 1u << 18;   ///< line requests waiting for the hardware a host and channel

/** Actors that store: DMA engines 0..hosts-1, then threads; kNobody for the loader, which happens before everything. */
inline constexpr uint32_t kActorsMax = 64 + 256;
inline constexpr uint32_t kNobody = 0x7fff;

/** State of a line in a host's cache. A line that is exactly kValid needs no look by the read hook. */
enum LineState : uint8_t {
  kValid = 1,      ///< the view holds the 64 bytes
  kCheck = 2,      ///< another host has stored a newer version of some word: loads are checked
  kWriteback = 4,  ///< an own write-back is under way: it cannot be filled before that completes
  kFilling = 8     ///< a fill is under way
};

/** Set in a tag: the store was atomic or `volatile`, so it may race. */
inline constexpr uint64_t kMayRace = 0x8000;

/** Who last stored an 8-byte word: tag = version (40 bits) | bytes of the word stored (8) | kMayRace | actor (15). */
struct WordMeta {
  uint64_t tag;
  uint32_t epoch;  ///< clock of the actor at the store
  uint32_t pc;     ///< interned code address
  uint64_t version() const { return tag >> 24; }
  uint32_t bytes() const { return static_cast<uint32_t>(tag >> 16) & 0xff; }
  uint32_t actor() const { return static_cast<uint32_t>(tag) & kNobody; }
  bool atomic() const { return (tag & kMayRace) != 0; }
};
static_assert(sizeof(WordMeta) == 16);

/** Kinds of instruction that a thread may have issued and not yet committed. */
enum class PendingKind : uint8_t { kFlush, kFlushOpt, kWriteBack, kStoreFence, kStream };

struct Pending {
  PendingKind kind;
  uint64_t line;
  uint64_t mask;  ///< kStream: bytes held
  uint32_t pc;
  uint32_t epoch;  ///< kStream: clock of the thread, and tag as in WordMeta
  uint64_t tag;
  std::array<uint8_t, kLineBytes> data;
};

/** Pending instructions of a thread, oldest first: most of them leave at the front. */
class PendingList {
 public:
  size_t size() const { return list_.size() - gone_; }
  bool empty() const { return size() == 0; }
  Pending &operator[](size_t index) { return list_[gone_ + index]; }
  const Pending &operator[](size_t index) const { return list_[gone_ + index]; }
  Pending &back() { return list_.back(); }
  auto begin() { return list_.begin() + static_cast<ptrdiff_t>(gone_); }
  auto begin() const { return list_.begin() + static_cast<ptrdiff_t>(gone_); }
  auto end() { return list_.end(); }
  auto end() const { return list_.end(); }
  /** Some of them hold back the thread's next store. */
  bool holds_stores() const { return holding_ != 0; }

  void push_back(const Pending &entry) {
    list_.push_back(entry);
    holding_ += holds(entry);
  }

  void erase(size_t index) {
    holding_ -= holds((*this)[index]);
    if (index != 0) {
      list_.erase(begin() + static_cast<ptrdiff_t>(index));
    } else if (++gone_ == kPendingMax || empty()) {
      list_.erase(list_.begin(), begin());
      gone_ = 0;
    }
  }

  void clear() {
    list_.clear();
    gone_ = holding_ = 0;
  }

 private:
  static bool holds(const Pending &entry) {
    return entry.kind == PendingKind::kFlush || entry.kind == PendingKind::kStoreFence;
  }

  std::vector<Pending> list_;
  size_t gone_ = 0;     ///< entries at the front that have left
  size_t holding_ = 0;  ///< entries that hold back stores
};

enum class RequestKind : uint8_t {
  kFill,
  kPrefetch,
  kWriteBack,
  kStream,
  kDmaRead,
  kDmaWrite,
  kTrafficRead,
  kTrafficWrite
};

inline bool is_read(RequestKind kind) {
  return kind == RequestKind::kFill || kind == RequestKind::kPrefetch || kind == RequestKind::kDmaRead ||
         kind == RequestKind::kTrafficRead;
}

inline constexpr uint32_t kStages = 12;
inline constexpr uint64_t kNever = UINT64_MAX;
inline constexpr uint64_t kManyLines = kNever - 1;  ///< a step that concerns more than one line
inline constexpr uint64_t kLocalStep = kNever - 2;  ///< a step that concerns the threads of its own host only

/** One line read or write on its way between a host and the device. */
struct Request {
  RequestKind kind;
  bool dropped;    ///< a flush overtook this fill: its data is not installed
  bool bound;      ///< RTL: the module has served it
  uint8_t status;  ///< enum emu_dpi_status of the completion
  uint32_t host;
  uint32_t tag;    ///< RTL: host tag
  uint32_t owner;  ///< DMA: ticket; traffic: generator
  uint64_t line;
  uint64_t mask;       ///< bytes to write
  uint64_t landed;     ///< RTL: bytes of them that have reached the media
  uint64_t dirty;      ///< bytes of them that this host has stored
  uint8_t superseded;  ///< words whose store happens before a newer one of another host
  uint8_t locked;      ///< words that a locked operation has read and stored since the line was filled
  uint64_t popped_at;
  std::vector<uint16_t> waiters;  ///< threads whose fences count this request
  std::array<uint8_t, kLineBytes> data;
  std::array<WordMeta, kWordsPerLine> meta;
  std::array<uint64_t, kWordsPerLine> base;  ///< versions the line was filled with
  std::array<uint64_t, kStages> stamp;       ///< RTL: cycle of each stage boundary, kNever when not seen
  uint32_t module;
  uint8_t step;     ///< timed port: what happens to it next
  uint64_t place;   ///< timed port: line of its module
  Request *later;   ///< timed port: the next one in its list
  Request *behind;  ///< timed port: the next one that waits at its port of the module
};

}  // namespace prismem
