#pragma once
// A reusable barrier for threads.
#include <atomic>

namespace manyclass {

// Where threads of a team wait for each other, again and again.
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  // Wait for the others; returns whether all are well, the same to all.
  bool arrive_and_wait(bool is_well) {
    const unsigned seen = round_.load(std::memory_order_acquire);
    if (!is_well) failed_.store(true, std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      all_well_[seen % 2] = !failed_.load(std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
      return all_well_[seen % 2];
    }
    for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin) {
    }
    round_.wait(seen, std::memory_order_acquire);
    return all_well_[seen % 2];  // the next but one meeting overwrites it, after this one is over
  }

 private:
  static constexpr int kSpins = 1 << 14;
  int size_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> failed_{false};
  bool all_well_[2] = {};
};

}  // namespace manyclass
