// Synchronization of the C++ library among the threads of a host, one kind for each CASE: two threads add to a word of the
// pool, one after the other, or hand it over. With BROKEN the call that orders them is left out.
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

enum Case { MUTEX = 1, SHARED, CONDITION, TIMED, LATCH, SEMAPHORE, WAIT, FUTURE, ONCE, STATIC, EXCEPTION };
#ifdef BROKEN
constexpr bool kOrdered = false;
#else
constexpr bool kOrdered = true;
#endif

using namespace std::chrono_literals;

static volatile uint64_t *word;  // in the pool, a line of this host's own
static int made;

static void add() {
  *word = *word + 1;
}

template <typename Lock>
static void add_under(Lock &lock) {
  if (kOrdered) lock.lock();
  add();
  if (kOrdered) lock.unlock();
}

struct Made {
  Made() {
    add();
    ++made;
  }
};

static void make_once() {
  if (kOrdered) {
    static const Made one;
  } else if (made == 0) {
    const Made one;
  }
}

/** Both threads throw and handle; each sees its own exception. */
static bool throws(int value) {
  try {
    add();
    throw value;
  } catch (int caught) {
    add();
    try {
      add();
      throw std::runtime_error("second");
    } catch (const std::runtime_error &) {
      add();
    }
    return caught == (kOrdered ? value : 0);
  }
}

static int check() {
  static std::mutex mutex;
  static std::shared_mutex shared;
  static std::timed_mutex timed;
  static std::condition_variable condition;
  static std::once_flag once;
  bool ready = false, right = true;
  std::latch latch(1);
  std::binary_semaphore semaphore(0);
  std::atomic<int> flag = 0;
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread other([&] {
    switch (CASE) {
      case MUTEX:
        return add_under(mutex);
      case SHARED:
        return add_under(shared);
      case TIMED:
        return add_under(timed);
      case ONCE:
        return kOrdered ? std::call_once(once, add) : (void)(*word == 0 ? add() : void());
      case STATIC:
        return make_once();
      case EXCEPTION:
        right = throws(1);
        return;
      default:
        break;
    }
    add();
    if (CASE == CONDITION) {
      const std::lock_guard lock(mutex);
      ready = true;
      condition.notify_all();
    }
    latch.count_down();
    semaphore.release();
    flag = 1;
    flag.notify_all();
    promise.set_value(1);
  });
  if (CASE == MUTEX) add_under(mutex);
  if (CASE == SHARED) add_under(shared);
  if (CASE == TIMED) add_under(timed);
  if (CASE == ONCE) kOrdered ? std::call_once(once, add) : (void)(*word == 0 ? add() : void());
  if (CASE == STATIC) make_once();
  if (CASE == EXCEPTION) right = throws(2) && right;
  if (CASE == CONDITION && kOrdered) {
    std::unique_lock lock(mutex);
    if (condition.wait_for(lock, 0ns) != std::cv_status::timeout) return 1;
    condition.wait(lock, [&] { return ready; });
  }
  if (CASE == LATCH && kOrdered) latch.wait();
  if (CASE == SEMAPHORE && kOrdered) semaphore.acquire();
  if (CASE == WAIT && kOrdered) flag.wait(0);
  if (CASE == FUTURE && kOrdered && future.get() != 1) return 2;
  if (CASE == CONDITION || (CASE >= LATCH && CASE <= FUTURE)) add();
  other.join();
  if (!right) return 3;
  if (CASE == EXCEPTION) return 0;
  return *word == (CASE == ONCE || CASE == STATIC ? 1u : 2u) ? 0 : 4;
}

int main() {
  void *pool = mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0);
  if (pool == MAP_FAILED) return 90;
  word = static_cast<uint64_t *>(pool) + 8 * std::atoi(std::getenv("PRISMEM_HOST_ID"));
  const auto before = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(1ms);
  if (std::chrono::steady_clock::now() - before < 1ms) return 91;
  return check();
}
