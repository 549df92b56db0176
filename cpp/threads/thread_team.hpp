#pragma once
// Threads that do one thing together, again and again, while the caller works along and waits.
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

class ThreadTeam {
 public:
  // `size` threads, the caller among them; fewer if the system has no more.
  explicit ThreadTeam(int size) {
    threads_.reserve(static_cast<std::size_t>(size));
    try {
      for (int member = 1; member < size; ++member) {
        threads_.emplace_back([this, member] { wait_for_work(member); });
      }
    } catch (const std::exception&) {
    }
  }
  ~ThreadTeam() {
    work_ = nullptr;
    begin();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Call work(member) in every thread, 0 in the caller's. Throws what one of them threw.
  void run(const std::function<void(int)>& work) {
    if (threads_.empty()) return work(0);
    work_ = &work;
    error_ = nullptr;
    busy_.store(size() - 1, std::memory_order_relaxed);
    begin();
    attempt(0);
    for (int left = busy_.load(std::memory_order_acquire); left > 0;
         left = busy_.load(std::memory_order_acquire)) {
      busy_.wait(left, std::memory_order_acquire);
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void begin() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void wait_for_work(int member) {
    for (unsigned seen = 0;;) {
      for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin) {
      }
      round_.wait(seen, std::memory_order_acquire);
      seen = round_.load(std::memory_order_acquire);
      if (!work_) return;
      attempt(member);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  void attempt(int member) {
    try {
      (*work_)(member);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  static constexpr int kSpins = 1 << 12;  // some microseconds, before a member sleeps

  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> round_{0};
  std::atomic<int> busy_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace manyclass
