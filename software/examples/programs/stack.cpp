// Each host keeps free blocks of shared memory on a lock-free stack of its own, which its threads share: locked operations
// work inside a host. In the end it publishes what it has counted, and host 0 adds the hosts up.
// The fault: the head of the stack says which block is on top, not how often that has changed. A compare-and-swap takes a
// block that was away and came back for one that never moved (ABA), and what changed below it is lost or taken twice.
#include "../shared.h"

#include <thread>

constexpr unsigned kHostsMax = 8, kBlocks = 3;
constexpr uint64_t kIndex = 0xffffffff;  // low half of the head: index of the block on top, plus 1; 0: none

struct alignas(LINE_BYTES) Block {
  std::atomic<uint64_t> next;
  std::atomic<uint64_t> holders;  // threads that have taken it and not given it back
};

class Stack {
 public:
  void push(uint64_t index) {
    blocks_[index].holders.fetch_sub(1);
    uint64_t head = head_.load();
    do blocks_[index].next.store(head & kIndex);
    while (!head_.compare_exchange_strong(head, changed(head, index + 1)));
  }

  // Index of the block that was on top; kBlocks: empty.
  uint64_t pop() {
    uint64_t head = head_.load(), next;
    do {
      if ((head & kIndex) == 0) return kBlocks;
      next = blocks_[(head & kIndex) - 1].next.load();
    } while (!head_.compare_exchange_strong(head, changed(head, next)));  // FAULT
    const uint64_t index = (head & kIndex) - 1;
    if (blocks_[index].holders.fetch_add(1) != 0) abort();
    return index;
  }

  void fill() {
    for (uint64_t i = 0; i < kBlocks; ++i) {
      blocks_[i].holders.store(1);
      push(i);
    }
  }

 private:
  static uint64_t changed([[maybe_unused]] uint64_t head, uint64_t top) {
#ifdef MENDED
    return ((head >> 32) + 1) << 32 | top;
#else
    return top;
#endif
  }

  alignas(LINE_BYTES) std::atomic<uint64_t> head_;
  Block blocks_[kBlocks];
};

struct Shared {
  Stack stacks[kHostsMax];
  struct alignas(LINE_BYTES) {
    std::atomic<uint64_t> blocks;
  } counted[kHostsMax];
};

static void work(Stack &stack) {
  const uint64_t first = stack.pop();
  const uint64_t second = stack.pop();
  if (first != kBlocks) stack.push(first);
  if (second != kBlocks) stack.push(second);
}

int main() {
  auto *shared = static_cast<Shared *>(map_pool());
  if (shared == nullptr || host_count() > kHostsMax) return 2;
  Stack &stack = shared->stacks[host_id()];
  stack.fill();
  std::thread other([&] { work(stack); });
  work(stack);
  other.join();

  uint64_t blocks = 0;
  while (stack.pop() != kBlocks) ++blocks;
  auto &mine = shared->counted[host_id()].blocks;
  mine.store(blocks, std::memory_order_release);
  flush(&mine, sizeof mine);
  if (host_id() != 0) return 0;
  for (unsigned host = 0; host < host_count(); ++host) {
    auto &theirs = shared->counted[host].blocks;
    do flush(&theirs, sizeof theirs);
    while (theirs.load(std::memory_order_acquire) == 0);
    if (theirs.load(std::memory_order_acquire) != kBlocks) return 1;
  }
  return 0;
}
