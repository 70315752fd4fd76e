// A ring of records between two hosts, as a class template: one producer, one consumer, two counters in lines of their own.
// The fault: the producer flushes the first line of each record only, and a record is longer than a line.
#include "../shared.h"

#include <cstring>
#include <new>

template <typename Record, unsigned kSlots>
class Ring {
 public:
  void push(const Record &record) {
    while (pushed_ - look(taken_) >= kSlots) _mm_pause();
    Slot &slot = slots_[pushed_ % kSlots];
    slot.record = record;  // FAULT
#ifdef MENDED
    flush(&slot, sizeof slot);
#else
    flush(&slot, LINE_BYTES);
#endif
    tell(head_, ++pushed_);
  }

  Record pop() {
    while (look(head_) == popped_) _mm_pause();
    const Slot &slot = slots_[popped_ % kSlots];
    flush(&slot, sizeof slot);
    const Record record = slot.record;
    tell(taken_, ++popped_);
    return record;
  }

 private:
  struct alignas(LINE_BYTES) Slot {
    Record record;
  };
  struct alignas(LINE_BYTES) Counter {
    std::atomic<uint64_t> value;
  };

  static uint64_t look(Counter &counter) {
    flush(&counter, sizeof counter);
    return counter.value.load(std::memory_order_acquire);
  }
  static void tell(Counter &counter, uint64_t value) {
    counter.value.store(value, std::memory_order_release);
    flush(&counter, sizeof counter);
  }

  Counter head_, taken_;                 // written by the producer, by the consumer
  alignas(LINE_BYTES) uint64_t pushed_;  // the producer's own
  alignas(LINE_BYTES) uint64_t popped_;  // the consumer's own
  Slot slots_[kSlots];
};

struct Message {
  uint64_t number;
  uint64_t words[11];

  static Message of(uint64_t number) {
    Message message{number, {}};
    for (unsigned i = 0; i < 11; ++i) message.words[i] = number << 8 | i;
    return message;
  }
};

int main() {
  constexpr uint64_t kMessages = 5;
  auto *ring = static_cast<Ring<Message, 2> *>(map_pool());
  if (ring == nullptr) return 2;
  for (uint64_t n = 1; n <= kMessages; ++n) {
    if (host_id() == 0) {
      ring->push(Message::of(n));
    } else {
      const Message expected = Message::of(n), message = ring->pop();
      if (std::memcmp(&message, &expected, sizeof message) != 0) return 1;
    }
  }
  return 0;
}
