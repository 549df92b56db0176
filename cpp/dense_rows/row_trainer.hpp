#pragma once
// The sequential dual method for dense rows and a class-major W: loops over the examples in batches
// (dense_rows/batched_visits.hpp), the certificate, and the rebuild of W.
// Source: Keerthi et al. 2008, algorithm 3.1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "certificate/certified_weights.hpp"
#include "certificate/coefficient_blocks.hpp"
#include "certificate/feasible.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dense_rows/batch_team.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "simd/dispatch.hpp"
#include "threads/interrupt_poll.hpp"

namespace manyclass {

// W has n_classes rows of n_features + 1 numbers, padded to whole blocks of 64 bytes.
template <class T>
class RowTrainer {
 public:
  explicit RowTrainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        kernels_(kernels_for<RowKernels<T>>(problem_->instruction_set())) {
    require(!problem_->examples().formulation.shifted, "dense rows have no column for the mean");
    if (problem_->examples().formulation.relative) problem_->check_all_labelled();
  }

  // Threads of all that follows.
  void use_threads(int n_threads) {
    require(n_threads >= 1, "n_threads must be positive");
    team_.reset();
    n_threads_ = n_threads;
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`.
  SweepResult full_loop(MatrixView<T> weights, DualLists<T>& z, std::span<const std::int32_t> rows,
                        std::span<std::int32_t> active, double min_gap, std::uint64_t seed) {
    problem_->check_loop(rows, active);
    const ClassMajorView<T> w = view(weights, z);
    BatchTeam<T>& team = team_of(w);
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return team.batched(w, z, order, min_gap, still_active);
    };
    return problem_->loop(rows, active, seed, batches_at_once(), sweep);
  }

  // Loops over the non-zero z of each active example: one by one, or in batches over all classes
  // while most z are not zero.
  ShrunkResult shrunk_loops(MatrixView<T> weights, DualLists<T>& z, std::span<std::int32_t> active,
                            std::int64_t n_active, const ShrunkGoal& goal, std::uint64_t seed) {
    problem_->check_active(active, n_active);
    const ClassMajorView<T> w = view(weights, z);
    BatchTeam<T>& team = team_of(w);
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return many_duals(z, order) ? team.batched(w, z, order, goal.min_gap, still_active)
                                  : team.single(w, z, order, goal.min_gap, still_active);
    };
    return problem_->loops(active, n_active, goal, seed, batches_at_once(), sweep);
  }

  // Gap, loss and violation of rows [begin, end) in double. `common` is subtracted from every w_c
  // (empty: nothing), `norm` is ||W||.
  GapSums inspect(MatrixView<T> weights, const DualLists<T>& z, std::span<const double> common,
                  double norm, std::int64_t begin, std::int64_t end) const {
    problem_->check_rows(begin, end);
    const ClassMajorView<T> w = view(weights, z);
    const auto stride = static_cast<std::size_t>(w.stride);
    constexpr auto kRows = static_cast<std::size_t>(kInspectedRows);
    AlignedArray<double> rows(kRows * stride), wide(kWidened * stride);
    AlignedArray<double> scores(kRows * static_cast<std::size_t>(score_stride<T>(w.n_classes)));
    return kernels_.inspect(problem_->examples(), w, z, {problem_->common_of(common), norm},
                            {rows.data(), wide.data(), scores.data()}, begin, end);
  }

  // W <- W(z), less `common` for every class; returns an upper bound of the distance between them.
  double rebuild(MatrixView<T> weights, const DualLists<T>& z, std::span<const double> common) {
    const ClassMajorView<T> w = view(weights, z);
    const Examples<T>& examples = problem_->examples();
    const double* off = problem_->common_of(common);
    ThreadTeam& threads = team_of(w).threads();
    const auto size = static_cast<std::size_t>(threads.size());
    const auto n_sums = static_cast<std::size_t>(problem_->n_features()) + 1;
    std::vector<double> sums(size * n_sums);
    std::vector<RebuildError> errors(size);
    const auto each = [&](std::int64_t i, auto f) { each_coefficient(examples, z, i, f); };
    each_range(problem_->n_rows(), w.n_classes, 1, each, [&](const CoefficientBlocks& blocks) {
      threads.run([&](int member) {
        const auto m = static_cast<std::size_t>(member);
        for (std::int32_t c = blocks.first + member; c < blocks.last(); c += threads.size()) {
          errors[m].add(
              kernels_.rebuild_class(examples, blocks.of(c), off, w, c, sums.data() + m * n_sums));
        }
      });
      problem_->poll()();
    });
    RebuildError error;
    for (const RebuildError& part : errors) error.add(part);
    return error.bound(problem_->n_rows() + problem_->n_classes());
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  // Single visits, while an example has less than this share of the classes in its list.
  static constexpr std::size_t kFewDuals = 8;

  bool many_duals(const DualLists<T>& z, std::span<const std::int32_t> order) const {
    std::size_t total = 0;
    for (const std::int32_t i : order) total += z.row(i).size() + 1;
    return total * kFewDuals > order.size() * static_cast<std::size_t>(problem_->n_classes());
  }

  // Whole batches.
  std::size_t batches_at_once() const {
    constexpr auto kRows = static_cast<std::size_t>(kBatchRows);
    return (problem_->rows_at_once() + kRows - 1) / kRows * kRows;
  }

  BatchTeam<T>& team_of(const ClassMajorView<T>& w) {
    if (!team_) {
      team_ = std::make_unique<BatchTeam<T>>(problem_->examples(), kernels_, w.n_classes, w.stride,
                                             n_threads_);
    }
    return *team_;
  }

  ClassMajorView<T> view(const MatrixView<T>& weights, const DualLists<T>& z) const {
    constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(T));
    const std::int64_t stride = (problem_->n_features() + kBlock) / kBlock * kBlock;
    require(weights.n_rows == problem_->n_classes() && weights.n_columns == stride,
            "weights must have a row for each class, of n_features + 1 numbers in whole blocks");
    require(weights.is_aligned(), "weights must be aligned to 64 bytes");
    require(z.n_rows() == problem_->n_rows() && z.n_classes() == problem_->n_classes(),
            "z must have one list per example, over the same classes");
    return {weights.data, problem_->n_features(), problem_->n_classes(), stride};
  }

  std::shared_ptr<const Problem<T>> problem_;
  const RowKernels<T>& kernels_;
  std::unique_ptr<BatchTeam<T>> team_;
  int n_threads_ = 1;
};

}  // namespace manyclass
