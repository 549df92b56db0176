#pragma once
// The sequential dual method for very many classes: W in hash tables, a shard of the classes for
// each thread (many_classes/sharded_sweep.hpp). Source: Keerthi et al. 2008, algorithm 3.1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "certificate/gap_sums.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lists.hpp"
#include "many_classes/sharded_kernels.hpp"
#include "many_classes/sharded_team.hpp"
#include "simd/dispatch.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_choice.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {

template <class T>
class ShardedTrainer {
 public:
  explicit ShardedTrainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        kernels_(kernels_for<ShardKernels<T>>(problem_->instruction_set())) {
    require(problem_->examples().formulation.relative, "margins must be relative");
    problem_->check_all_labelled();
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`.
  SweepResult full_loop(ShardedWeights<T>& weights, DualLists<T>& z,
                        std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                        double min_gap, std::uint64_t seed) const {
    problem_->check_loop(rows, active);
    check(weights, z);
    ShardTeam<T> team(kernels_, weights);
    return problem_->loop(rows, active, seed, kRowsAtOnce, visit(team, z, false, min_gap));
  }

  ShrunkResult shrunk_loops(ShardedWeights<T>& weights, DualLists<T>& z,
                            std::span<std::int32_t> active, std::int64_t n_active,
                            const ShrunkGoal& goal, std::uint64_t seed) const {
    problem_->check_active(active, n_active);
    check(weights, z);
    ShardTeam<T> team(kernels_, weights);
    return problem_->loops(active, n_active, goal, seed, kRowsAtOnce,
                           visit(team, z, true, goal.min_gap));
  }

  // Gap, loss and violation of rows [begin, end) in double; `norm` is ||W||.
  GapSums inspect(ShardedWeights<T>& weights, const DualLists<T>& z, double norm,
                  std::int64_t begin, std::int64_t end) const {
    problem_->check_rows(begin, end);
    check(weights, z);
    ShardTeam<T> team(kernels_, weights);
    GapSums sum;
    const auto step = static_cast<std::int64_t>(kRowsAtOnce) * weights.size();
    for (std::int64_t row = begin; row < end; row += step) {
      sum.add(
          team.inspect(problem_->examples(), z, {nullptr, norm}, row, std::min(row + step, end)));
      problem_->poll()();
    }
    return sum;
  }

  // W <- W(z); returns an upper bound of the distance between them.
  double rebuild(ShardedWeights<T>& weights, const DualLists<T>& z) const {
    check(weights, z);
    ShardTeam<T> team(kernels_, weights);
    return team.rebuild(problem_->examples(), z, problem_->poll())
        .bound(problem_->n_rows() + problem_->n_classes());
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  auto visit(ShardTeam<T>& team, DualLists<T>& z, bool shrunk, double min_gap) const {
    ThreadChoice& choice = choices_[shrunk ? 1 : 0];
    choice.allow(team.capacity());
    return [this, &team, &z, &choice, shrunk, min_gap](std::span<const std::int32_t> order,
                                                       std::int32_t* active) {
      return choice.measure(static_cast<double>(order.size()), [&](int n_threads) {
        team.limit(n_threads);
        return team.visit(problem_->examples(), z, order, shrunk, min_gap, active);
      });
    };
  }

  void check(const ShardedWeights<T>& weights, const DualLists<T>& z) const {
    require(weights.n_rows() == problem_->n_features() + 1,
            "weights must have n_features + 1 rows");
    require(weights.n_classes == problem_->n_classes(), "weights must be of the same classes");
    require(z.n_rows() == problem_->n_rows() && z.n_classes() == problem_->n_classes(),
            "z must have one list per example, over the same classes");
  }

  // Visits between two polls, at most some tenths of a second.
  static constexpr std::size_t kRowsAtOnce = 512;

  std::shared_ptr<const Problem<T>> problem_;
  const ShardKernels<T>& kernels_;
  mutable ThreadChoice choices_[2];  // of full loops, of shrunk ones
};

}  // namespace manyclass
