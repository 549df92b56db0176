#pragma once
// A reusable barrier for threads, which spin before they sleep.
#include <atomic>

namespace manyclass {

// Long enough for the differences between threads that run, some ten microseconds; a thread that
// waits for one that is not scheduled should give way soon.
inline constexpr int kSpins = 1000;

// Spin until `value` is no longer `seen`, then sleep.
template <class T>
void wait_for_change(const std::atomic<T>& value, T seen) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != seen) return;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(seen, std::memory_order_acquire);
}

// A reusable barrier. It also reports to all threads whether one of them has failed.
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  // Wait for all threads. Returns the same to all: whether none has failed so far.
  bool arrive_and_wait(bool succeeded) {
    const unsigned seen = round_.load(std::memory_order_acquire);
    if (!succeeded) failed_.store(true, std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      all_succeeded_[seen % 2] = !failed_.load(std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
      return all_succeeded_[seen % 2];
    }
    wait_for_change(round_, seen);
    // The round after next overwrites it, when all threads have left this one.
    return all_succeeded_[seen % 2];
  }

 private:
  int size_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> failed_{false};
  bool all_succeeded_[2] = {};
};

}  // namespace manyclass
