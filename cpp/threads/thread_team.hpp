#pragma once
// A team of threads (fork and join), including the caller: all threads run one function at a time.
// A barrier separates the parts of this function.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace manyclass {

// Long enough for the differences between running threads, about ten microseconds. A thread that
// waits for a thread that is not scheduled should yield soon.
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

// A reusable barrier. It also reports to all threads whether a thread has failed.
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  // Wait for all threads. Returns the same value to all: whether no thread has failed so far.
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
    // The round after next overwrites the value, when all threads have left this round.
    return all_succeeded_[seen % 2];
  }

 private:
  int size_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> failed_{false};
  bool all_succeeded_[2] = {};
};

class ThreadTeam {
 public:
  // `size` threads including the caller, or fewer if the system has no more threads.
  explicit ThreadTeam(int size) {
    threads_.reserve(size);
    try {
      for (int member = 1; member < size; ++member) {
        threads_.emplace_back([this, member] { wait_for_work(member); });
      }
    } catch (const std::exception&) {
    }
    limit_ = capacity();
  }
  ~ThreadTeam() {
    work_ = nullptr;
    begin();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int capacity() const { return static_cast<int>(threads_.size()) + 1; }
  // Threads that work: all, or the first ones if `limit` was called.
  int size() const { return limit_; }
  void limit(int size) { limit_ = std::clamp(size, 1, capacity()); }

  // Call work(member) on every working thread, 0 on the caller. Throws the exception of a thread.
  void run(const std::function<void(int)>& work) {
    if (size() == 1) return work(0);
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
  // Every round has its own number of working threads, because an idle thread may see a round late.
  // No later round begins before a thread that works in this round has finished its work.
  void begin() {
    const unsigned next = round_.load(std::memory_order_relaxed) + 1;
    working_[next % 2].store(work_ ? size() : capacity(), std::memory_order_relaxed);
    round_.store(next, std::memory_order_release);
    round_.notify_all();
  }

  // Whether the member works in the newest round; sets `seen` to this round.
  bool works(int member, unsigned& seen) const {
    for (;;) {
      seen = round_.load(std::memory_order_acquire);
      const bool works = member < working_[seen % 2].load(std::memory_order_acquire);
      if (round_.load(std::memory_order_acquire) == seen) return works;
    }
  }

  void wait_for_work(int member) {
    for (unsigned seen = 0;;) {
      wait_for_change(round_, seen);
      if (!works(member, seen)) continue;
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

  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  int limit_ = 1;
  std::atomic<unsigned> round_{0};
  std::atomic<int> working_[2] = {};
  std::atomic<int> busy_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace manyclass
