// Programs that end by themselves, one way for each CASE, two calls below main().
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

enum Case { SEGMENT = 1, ABORT, ASSERT, THROW, WILD, JOINABLE, THREAD };

using Function = void (*)();

__attribute__((noinline)) static void fall(std::vector<int> &numbers) {
  if (CASE == SEGMENT || CASE == THREAD) numbers[0] = *reinterpret_cast<volatile int *>(8);  // HERE SEGMENT THREAD
  if (CASE == ABORT) abort();                                                                // HERE ABORT
  assert(CASE != ASSERT);                                                                    // HERE ASSERT
  if (CASE == THROW) numbers.at(3) = 1;                                                      // HERE THROW
  if (CASE == WILD) reinterpret_cast<Function>(16)();                                        // HERE WILD
  if (CASE == JOINABLE) {
    const std::thread forgotten([] {});
  }  // HERE JOINABLE
}

__attribute__((noinline)) static void stumble(std::vector<int> &numbers) {
  fall(numbers);  // CALLER
  numbers.clear();
}

int main() {
  std::vector<int> numbers(3);
  if (CASE == THREAD) {
    std::thread([&] { stumble(numbers); }).join();
  } else {
    stumble(numbers);
  }
}
