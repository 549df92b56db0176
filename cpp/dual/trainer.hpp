#pragma once
// The sequential dual method for dense W (dual/dense_sweep.hpp, dual/lane_sweep.hpp): loops over
// the examples, the certificate, the rebuild of W, and the steps of sum-to-zero formulations.
// Source: Keerthi et al. 2008, algorithm 3.1.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "certificate/certified_weights.hpp"
#include "certificate/feasible.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/kernels.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lanes.hpp"
#include "simd/dispatch.hpp"
#include "simd/vector.hpp"
#include "subproblem/scratch.hpp"
#include "sum_to_zero/mean_follower.hpp"
#include "threads/interrupt_poll.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// W has n_features + 1 rows; `Duals` is DualLists<T> or DualLanes<T>.
template <class T, class Duals>
class Trainer {
 public:
  explicit Trainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        examples_(problem_->examples()),
        kernels_(kernels_for<Kernels<T, Duals>>(problem_->instruction_set())),
        rebuild_kernels_(kernels_for<RebuildKernels<T>>(problem_->instruction_set())) {
    const Formulation& formulation = examples_.formulation;
    if (formulation.relative) problem_->check_all_labelled();
    if constexpr (std::is_same_v<Duals, DualLanes<T>>) {
      require(formulation.relative || !formulation.maximum,
              "lanes are for sums of losses and for relative margins");
    }
  }

  // From now on a visit moves W's column of the mean by so much of the sum of its step.
  void drift(double drift) {
    require(std::isfinite(drift), "drift must be finite");
    examples_.formulation.drift = drift;
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`.
  SweepResult full_loop(MatrixView<T> weights, Duals& z, std::span<const std::int32_t> rows,
                        std::span<std::int32_t> active, double min_gap, std::uint64_t seed) const {
    problem_->check_loop(rows, active);
    const WeightsView<T> w = view(weights, z);
    OwnedScratch<T> scratch(problem_->n_classes(), w.stride);
    return problem_->loop(rows, active, seed, problem_->rows_at_once(),
                          sweep(kernels_.full_sweep, w, z, scratch, min_gap));
  }

  ShrunkResult shrunk_loops(MatrixView<T> weights, Duals& z, std::span<std::int32_t> active,
                            std::int64_t n_active, const ShrunkGoal& goal,
                            std::uint64_t seed) const {
    problem_->check_active(active, n_active);
    const WeightsView<T> w = view(weights, z);
    OwnedScratch<T> scratch(problem_->n_classes(), w.stride);
    return problem_->loops(active, n_active, goal, seed, problem_->rows_at_once(),
                           sweep(kernels_.shrunk_sweep, w, z, scratch, goal.min_gap));
  }

  // Visit those of `rows` that are active, in their order. moved[m] becomes the change of sigma of
  // rows[m]. `active` and `sigma` have an entry for every example and are kept up to date.
  SweepResult visit(MatrixView<T> weights, Duals& z, std::span<const std::int32_t> rows,
                    bool shrunk, std::span<std::uint8_t> active, std::span<double> sigma,
                    std::span<double> moved) const {
    problem_->check_sums(rows, sigma);
    require(active.size() == sigma.size() && moved.size() == rows.size(),
            "there must be an entry of active for every example, and of moved for every row");
    const WeightsView<T> w = view(weights, z);
    OwnedScratch<T> scratch(problem_->n_classes(), w.stride);
    const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<std::int32_t> some;
    for (const std::int32_t i : rows) {
      if (active[at(i)]) some.push_back(i);
    }
    std::vector<std::int32_t> stay(some.size());
    const auto kernel = shrunk ? kernels_.shrunk_sweep : kernels_.full_sweep;
    const SweepResult found = sweep(kernel, w, z, scratch, kEveryGap)(some, stay.data());
    for (std::size_t m = 0; m < rows.size(); ++m) moved[m] = -sigma[at(rows[m])];
    if (found.steps > 0) problem_->put_sums(z, some, sigma);
    for (std::size_t m = 0; m < rows.size(); ++m) moved[m] += sigma[at(rows[m])];
    for (const std::int32_t i : some) active[at(i)] = 0;
    stay.resize(static_cast<std::size_t>(found.n_active));
    for (const std::int32_t i : stay) active[at(i)] = 1;
    return found;
  }

  // After visits: move m towards the mean of all u_c (sum_to_zero/mean_follower.hpp).
  double follow_mean(MatrixView<T> weights, const Duals& z, std::span<const std::int32_t> rows,
                     std::span<const double> moved, std::span<const double> steps,
                     double relaxation, MeanFollower& mean) const {
    require(steps.size() == rows.size() && moved.size() == rows.size(),
            "moved and steps must be as long as rows");
    problem_->check_rows(rows);
    const WeightsView<T> w = view(weights, z, mean);
    return manyclass::follow_mean(examples_, w, rows, moved.data(), steps.data(), relaxation, mean);
  }

  double settle_mean(MatrixView<T> weights, const Duals& z, MeanFollower& mean) const {
    const WeightsView<T> w = view(weights, z, mean);
    return manyclass::settle_mean(w, mean);
  }

  // Gap, loss and violation of rows [begin, end) in double. `common` is subtracted from every w_c
  // (empty: nothing), `norm` is ||W||.
  GapSums inspect(MatrixView<T> weights, const Duals& z, std::span<const double> common,
                  double norm, std::int64_t begin, std::int64_t end) const {
    problem_->check_rows(begin, end);
    const WeightsView<T> w = view(weights, z);
    const CertifiedWeights certified{problem_->common_of(common), norm};
    OwnedScratch<T> scratch(problem_->n_classes(), w.stride);
    return kernels_.inspect(examples_, w, z, certified, scratch.view(), begin, end);
  }

  // W <- W(z), less `common` for every class; returns an upper bound of the distance between them.
  double rebuild(MatrixView<T> weights, const Duals& z, std::span<const double> common) const {
    const WeightsView<T> w = view(weights, z);
    return manyclass::rebuild(rebuild_kernels_, examples_, w, z, problem_->common_of(common),
                              problem_->poll())
        .bound(problem_->n_rows() + problem_->n_classes());
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  static constexpr double kEveryGap = -std::numeric_limits<double>::infinity();

  auto sweep(typename Kernels<T, Duals>::Sweep kernel, const WeightsView<T>& w, Duals& z,
             OwnedScratch<T>& scratch, double min_gap) const {
    return [this, kernel, &w, &z, &scratch, min_gap](std::span<const std::int32_t> order,
                                                     std::int32_t* active) {
      return kernel(examples_, w, z, scratch.view(), order, min_gap, active);
    };
  }

  WeightsView<T> view(const MatrixView<T>& weights, const Duals& z) const {
    const std::int64_t stride = weights.n_columns;
    require(weights.n_rows == problem_->n_features() + 1, "weights must have n_features + 1 rows");
    require(z.fits(stride, examples_.formulation) && stride * sizeof(T) % 64 == 0,
            "rows of weights must hold the classes, and their mean, in whole blocks of 64 bytes");
    require(weights.is_aligned(), "weights must be aligned to 64 bytes");
    require(z.n_rows() == problem_->n_rows() && z.n_classes() == problem_->n_classes(),
            "z must have one list per example, over the same classes");
    return {weights.data, problem_->n_features(), problem_->n_classes(), stride};
  }

  WeightsView<T> view(const MatrixView<T>& weights, const Duals& z,
                      const MeanFollower& mean) const {
    require(examples_.formulation.shifted, "there is no column for the mean");
    require(mean.n_features() == problem_->n_features(), "mean must be of as many features as X");
    return view(weights, z);
  }

  std::shared_ptr<const Problem<T>> problem_;
  Examples<T> examples_;
  const Kernels<T, Duals>& kernels_;
  const RebuildKernels<T>& rebuild_kernels_;
};

}  // namespace manyclass
