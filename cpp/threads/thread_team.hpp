#pragma once
// A team of threads (fork and join): all run one function at a time, the caller among them.
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace manyclass {

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
