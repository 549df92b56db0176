#pragma once
// Choice of the number of threads by measurement. If other processes use the cores, threads wait at
// barriers for threads that are not scheduled, and fewer threads are faster.
#include <algorithm>
#include <chrono>

namespace manyclass {

// `size()` threads do each piece of work. From time to time, a piece is done by twice or half as
// many; the number with less time per unit of work stays. If it stays, the trials become rarer.
class ThreadChoice {
 public:
  explicit ThreadChoice(int most = 1) : most_(std::max(1, most)), size_(most_) {}

  // Restart with `most` threads, unless this is already the number.
  void allow(int most) {
    if (std::max(1, most) != most_) *this = ThreadChoice(most);
  }

  int most() const { return most_; }
  // Threads for the next piece.
  int size() const { return on_trial_ ? trial_ : size_; }
  // The number of pieces that were done by fewer threads than available.
  long reduced() const { return reduced_; }

  // Record the time (in seconds) and the work of a piece.
  void record(double work, double seconds) {
    if (most_ == 1 || !(work > 0)) return;
    if (size() < most_) ++reduced_;
    const double pace = seconds / work;
    if (on_trial_) return judge(pace);
    pace_ = pace_ == 0 ? pace : std::min(2 * pace_, 0.5 * (pace_ + pace));
    if (++since_trial_ >= interval_) begin_trial();
  }

  // Call piece(size()) and count it.
  template <class Piece>
  auto measure(double work, Piece piece) {
    const auto began = std::chrono::steady_clock::now();
    auto result = piece(size());
    record(work, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    return result;
  }

 private:
  // Pieces between two trials: at the beginning, after a change, at most. A trial of more threads
  // may take several times as long as expected if other processes use the cores.
  static constexpr int kFirst = 2, kSoon = 8, kRarely = 128, kRarer = 4;
  static constexpr double kClearly = 0.95;  // the number changes below this share of the old pace

  void begin_trial() {
    const bool less = size_ > 1 && (size_ == most_ || tries_less_);
    trial_ = less ? (size_ + 1) / 2 : std::min(most_, 2 * size_);
    tries_less_ = !tries_less_;
    on_trial_ = true;
  }

  void judge(double pace) {
    on_trial_ = false;
    since_trial_ = 0;
    if (pace < kClearly * pace_) {
      size_ = trial_;
      pace_ = pace;
      interval_ = kSoon;
    } else {
      interval_ = std::min(kRarer * interval_, kRarely);
    }
  }

  int most_;
  int size_;
  int trial_ = 1;
  bool on_trial_ = false;
  bool tries_less_ = true;
  double pace_ = 0;  // seconds per unit of work
  int since_trial_ = 0;
  int interval_ = kFirst;
  long reduced_ = 0;
};

}  // namespace manyclass
