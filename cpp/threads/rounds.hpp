#pragma once
// Visits of batches of examples in rounds by a team of threads. All batches of a round start from
// the same W; then W moves along the sum of their steps, by a line search.
//
//   D(z + theta Delta) >= D(z) + theta L - theta^2 K / 2,  0 <= theta <= 1;  theta* = min(1, L / K)
//
// with L the slope of D along the step Delta of the round, or a lower bound of it, and K =
// ||Delta W||^2 plus other quadratic terms. D is concave and its feasible set convex, so D never
// decreases, and z + theta Delta is feasible. The number of batches in a round depends on theta of
// earlier rounds and on the number of threads that are allowed, not on the number in use, which
// therefore does not change the result. Between two barriers, no work is left to a single thread.
// Source: Jaggi et al. 2014 (Communication-efficient distributed dual coordinate ascent), who merge
// local steps by their mean instead of a line search.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// The least number of threads for rounds. Two threads are as fast if they share the products of
// batches (measured, two cores, 20,000 rows of 384 features, 150 classes: full loops 0.5 s), and
// single visits of one thread take half the time of rounds, whose rows and steps go through memory.
inline constexpr int kLeastRoundThreads = 4;

// Maximum number of rows in a round, of n: its rows do not use each other's steps.
inline constexpr std::int64_t most_in_round(std::int64_t n_rows) { return n_rows / 40; }

// Number of batches in a round: a multiple of the number of threads, or less than this number.
class RoundSize {
 public:
  RoundSize(int n_threads, std::size_t most)
      : n_threads_(n_threads),
        most_(static_cast<double>(most)),
        size_(std::min(static_cast<double>(n_threads), most_)) {}

  std::size_t value() const {
    const auto size = static_cast<std::size_t>(size_);
    return size < n_threads_ ? size : size / n_threads_ * n_threads_;
  }
  // Adapt to the length of a round's step: a long step allows more batches, a short step fewer.
  void follow(double theta) {
    if (theta > kAgree) size_ = std::min(most_, kMore * size_);
    if (theta < kDisagree) size_ = std::max(1.0, kFewer * size_);
  }
  // Whether the next loop runs in rounds; a size of one batch grows again.
  bool allows_rounds() {
    if (n_threads_ < kLeastRoundThreads || most_ < 2) return false;
    if (value() > 1) return true;
    size_ = std::min(most_, kMore * size_);
    return false;
  }

 private:
  static constexpr double kAgree = 0.9, kDisagree = 0.6, kMore = 1.1, kFewer = 0.7;

  std::size_t n_threads_;
  double most_, size_;
};

// Threads that synchronize after about ten microseconds need a core each.
inline int threads_with_cores(int n_threads) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return cores > 0 ? std::min(n_threads, cores) : n_threads;
}

// Batches [first, first + n) of a loop. The results of the visits of a round are stored until the
// round after the next: `turn` alternates between 0 and 1.
struct Round {
  std::size_t first = 0, n = 0;
  int turn = 0;
};

struct RoundLength {
  double wanted;     // theta*
  double theta;      // of the step
  double dual_gain;  // lower bound of the gain by the step
};

// The whole step is taken if theta* is at least kWhole: it has at least half of the best gain.
inline RoundLength length_of(double slope, double curvature) {
  constexpr double kWhole = 0.6;
  const double wanted = curvature > 0 ? std::clamp(slope / curvature, 0.0, 1.0) : 1.0;
  const double theta = wanted >= kWhole ? 1.0 : wanted;
  return {wanted, theta, theta * slope - 0.5 * theta * theta * curvature};
}

// The loop of a team over `n_batches`. `work` has, for a round in which batch b has memory b:
//   visit(member, round, b)               the steps of batch b, from the W of the round; may throw
//   add(member, n_members, round)         W += Delta W, a part of W for each member, and measure it
//   length(round)                         of the step; all members call it
//   shorten(member, n_members, round, theta)  afterwards, if theta < 1; may throw
//   finish(round, length)                 add up the results of the visits; one member calls it
template <class Work>
class Rounds {
 public:
  Rounds(ThreadTeam& team, std::size_t n_batches, RoundSize& size, Work& work)
      : team_(team), barrier_(team.size()), n_batches_(n_batches), size_(size), work_(work) {}

  void run() {
    if (n_batches_ == 0) return;
    RoundSize last = size_;
    team_.run([&](int member) { take_part(member, last); });
    size_ = last;
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take_part(int member, RoundSize& last) {
    RoundSize size = size_;
    Round round{0, std::min(size.value(), n_batches_), 0};
    while (round.n > 0) {
      if (!visit(member, round)) return;
      work_.add(member, team_.size(), round);
      barrier_.arrive_and_wait(true);
      const RoundLength length = work_.length(round);
      if (length.theta < 1 && !shorten(member, round, length.theta)) return;
      if (member == 0) work_.finish(round, length);
      // The few rows of a last round are not representative of full rounds.
      if (round.n == size.value()) size.follow(length.wanted);
      const std::size_t begin = round.first + round.n;
      round = {begin, std::min(size.value(), n_batches_ - begin), 1 - round.turn};
    }
    if (member == 0) last = size;
  }

  bool visit(int member, const Round& round) {
    return barrier_.arrive_and_wait(attempt([&] {
      for (std::size_t b = member; b < round.n; b += team_.size()) work_.visit(member, round, b);
    }));
  }
  bool shorten(int member, const Round& round, double theta) {
    return barrier_.arrive_and_wait(
        attempt([&] { work_.shorten(member, team_.size(), round, theta); }));
  }

  // Whether a member's work succeeded. Exceptions wait until all members have met.
  template <class Part>
  bool attempt(Part part) {
    try {
      part();
      return true;
    } catch (...) {  // out of memory for z
      const std::lock_guard lock(failing_);
      error_ = std::current_exception();
      return false;
    }
  }

  ThreadTeam& team_;
  Barrier barrier_;
  std::size_t n_batches_;
  RoundSize& size_;
  Work& work_;
  std::mutex failing_;
  std::exception_ptr error_{};
};

// Decides when loops of one kind run in rounds, in which size, and with how many threads.
class RoundPlan {
 public:
  // `most`: maximum number of batches in a round.
  RoundPlan(int n_threads, int capacity, std::size_t most)
      : size_(n_threads, most), threads_(threads_with_cores(capacity)) {}

  bool allows_rounds() { return size_.allows_rounds(); }
  // A loop over some rows in batches.
  template <class Work>
  void run(ThreadTeam& team, std::size_t n_rows, std::size_t n_batches, Work& work) {
    threads_.measure(static_cast<double>(n_rows), [&](int n_threads) {
      team.limit(n_threads);
      Rounds<Work>(team, n_batches, size_, work).run();
      return n_threads;
    });
  }

 private:
  RoundSize size_;
  ThreadChoice threads_;
};

}  // namespace manyclass
