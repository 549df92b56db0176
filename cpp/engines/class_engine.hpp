#pragma once
// W with a row for each class, for dense rows, which are visited in batches
// (dense_rows/batched_visits.hpp): a matrix product computes the scores of a batch, and another
// matrix product adds the steps of its visits to W. Shrunk loops visit single examples.
// Source: Keerthi et al. 2008, algorithm 3.1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "certificate/coefficient_blocks.hpp"
#include "certificate/feasible.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/array_views.hpp"
#include "data/examples.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dense_rows/batch_team.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lists.hpp"
#include "engines/owned_engine.hpp"
#include "simd/aligned_array.hpp"
#include "simd/dispatch.hpp"

namespace manyclass {

template <class T>
class ClassEngine final : public OwnedEngine<AnyDenseEngine, T, DualLists<T>> {
 public:
  ClassEngine(const std::shared_ptr<const Problem<T>>& problem, int n_threads)
      : OwnedEngine<AnyDenseEngine, T, DualLists<T>>(problem,
                                                     {.n_features = problem->n_features(),
                                                      .n_classes = problem->n_classes(),
                                                      .by_class = true},
                                                     n_threads),
        kernels_(kernels_for<RowKernels<T>>(problem->instruction_set())) {}

  SweepResult full_loop(std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                        double min_gap, std::uint64_t seed) override {
    this->problem().check_loop(rows, active);
    const ClassMajorView<T> w = view_of(this->w());
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return team().batched(w, this->z(), order, min_gap, still_active);
    };
    return this->problem().loop(rows, active, seed, batches_at_once(), sweep);
  }
  // Single visits, or batches over all classes while most z are not zero.
  ShrunkResult shrunk_loops(std::span<std::int32_t> active, std::int64_t n_active,
                            const ShrunkGoal& goal, std::uint64_t seed) override {
    this->problem().check_active(active, n_active);
    const ClassMajorView<T> w = view_of(this->w());
    DualLists<T>& z = this->z();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return many_duals(order) ? team().batched(w, z, order, goal.min_gap, still_active)
                               : team().single(w, z, order, goal.min_gap, still_active);
    };
    return this->problem().loops(active, n_active, goal, seed, batches_at_once(), sweep);
  }

  // A single visit takes several times as long as a visit in a batch (measured: 256 features,
  // 105 classes, C = 30: 1.1 s, 1.7 s at 5; no difference at C = 1).
  std::int64_t effort(const Extent& extent) const override { return this->full_loops(1, extent); }
  // Full loops take more time relative to shrunk loops (measured to 1e-2: 200,000 rows, 384
  // features, 300 classes: 5 epochs instead of 8, a third less time; 60,000 x 768, 1,000: 4 of 6).
  double negligible() const override { return 0.3; }

 protected:
  GapSums gap_sums_of_rows(const MatrixView<T>& weights, const CertifiedWeights& at,
                           std::int64_t begin, std::int64_t end) const override {
    const ClassMajorView<T> w = view_of(weights);
    const auto stride = w.stride;
    constexpr auto kRows = kInspectedRows;
    AlignedArray<double> rows(kRows * stride), wide(kWidened * stride);
    AlignedArray<double> scores(kRows * score_stride<T>(w.n_classes));
    return kernels_.inspect(this->problem().examples(), w, this->z(), at,
                            {rows.data(), wide.data(), scores.data()}, begin, end);
  }

  double rebuild_from(const double* common) override {
    const ClassMajorView<T> w = view_of(this->w());
    const Problem<T>& problem = this->problem();
    const Examples<T>& examples = problem.examples();
    ThreadTeam& threads = team().threads();
    const auto size = threads.size();
    const auto n_sums = problem.n_features() + 1;
    std::vector<double> sums(size * n_sums);
    std::vector<RebuildError> errors(size);
    const auto each = [&](std::int64_t i, auto f) { each_coefficient(examples, this->z(), i, f); };
    each_range(problem.n_rows(), w.n_classes, 1, each, [&](const CoefficientBlocks& blocks) {
      threads.run([&](int member) {
        for (std::int32_t c = blocks.first + member; c < blocks.last(); c += threads.size()) {
          errors[member].add(kernels_.rebuild_class(examples, blocks.of(c), common, w, c,
                                                    sums.data() + member * n_sums));
        }
      });
      problem.poll()();
    });
    RebuildError error;
    for (const RebuildError& part : errors) error.add(part);
    return error.bound(problem.n_rows() + problem.n_classes());
  }

 private:
  // Visits are single while lists have at most 1 / kFewDuals of the classes on average (measured:
  // news20 by SVD to 256 features, 20 classes, C = 1, 10, 100: 0.6, 0.37, 0.33 of the CPU time at
  // an eighth, with 0.4, 0.2, 0.17 of the scores; no difference with 50 or more classes).
  static constexpr std::size_t kFewDuals = 2;

  bool many_duals(std::span<const std::int32_t> order) const {
    std::size_t total = 0;
    for (const std::int32_t i : order) total += this->z().row(i).size() + 1;
    return total * kFewDuals > order.size() * this->problem().n_classes();
  }

  std::size_t batches_at_once() const {
    return rows_between_polls(this->problem().rows_at_once(), this->n_threads());
  }

  // Allocated when first needed, because a certificate does not need its memory.
  BatchTeam<T>& team() {
    if (!team_) {
      team_ = std::make_unique<BatchTeam<T>>(this->problem().examples(), kernels_,
                                             this->problem().n_classes(), this->w().n_columns,
                                             this->n_threads());
    }
    return *team_;
  }

  ClassMajorView<T> view_of(const MatrixView<T>& weights) const {
    return {weights.data, this->problem().n_features(), this->problem().n_classes(),
            weights.n_columns};
  }

  const RowKernels<T>& kernels_;
  std::unique_ptr<BatchTeam<T>> team_;
};

}  // namespace manyclass
