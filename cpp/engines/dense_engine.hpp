#pragma once
// W with a row for each feature; z in lists or, for few classes, in lanes. The sequential dual
// method (dual/dense_sweep.hpp, dual/lane_sweep.hpp). Source: Keerthi et al. 2008, algorithm 3.1.
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "certificate/gap_sums.hpp"
#include "certificate/rebuild.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/array_views.hpp"
#include "data/examples.hpp"
#include "dual/column_loops.hpp"
#include "dual/kernels.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"
#include "engines/owned_engine.hpp"
#include "engines/weight_array.hpp"
#include "simd/dispatch.hpp"
#include "subproblem/scratch.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// `Duals` is DualLists<T> or DualLanes<T>.
template <class Base, class T, class Duals>
class FeatureEngine : public OwnedEngine<Base, T, Duals> {
 public:
  SweepResult full_loop(std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                        double min_gap, std::uint64_t seed) override {
    this->problem().check_loop(rows, active);
    return with_sweep(false, min_gap, [&](auto sweep) {
      return this->problem().loop(rows, active, seed, this->problem().rows_at_once(), sweep);
    });
  }
  ShrunkResult shrunk_loops(std::span<std::int32_t> active, std::int64_t n_active,
                            const ShrunkGoal& goal, std::uint64_t seed) override {
    this->problem().check_active(active, n_active);
    return with_sweep(true, goal.min_gap, [&](auto sweep) {
      return this->problem().loops(active, n_active, goal, seed, this->problem().rows_at_once(),
                                   sweep);
    });
  }

 protected:
  FeatureEngine(const std::shared_ptr<const Problem<T>>& problem, bool mean_apart, int n_threads)
      : OwnedEngine<Base, T, Duals>(problem,
                                    {.n_features = problem->n_features(),
                                     .n_classes = problem->n_classes(),
                                     .mean_apart = mean_apart},
                                    n_threads),
        kernels_(kernels_for<Kernels<T, Duals>>(problem->instruction_set())),
        rebuild_kernels_(kernels_for<RebuildKernels<T>>(problem->instruction_set())) {}

  GapSums gap_sums_of_rows(const MatrixView<T>& weights, const CertifiedWeights& at,
                           std::int64_t begin, std::int64_t end) const override {
    const WeightsView<T> w = view_of(weights);
    OwnedScratch<T> scratch(w.n_classes, w.stride);
    return kernels_.inspect(this->problem().examples(), w, this->z(), at, scratch.view(), begin,
                            end);
  }
  double rebuild_from(const double* common) override {
    return manyclass::rebuild(rebuild_kernels_, this->problem().examples(), view(), this->z(),
                              common, this->problem().poll())
        .bound(this->problem().n_rows() + this->problem().n_classes());
  }

  // Visit the examples `order`, over all classes or only the non-zero z. Active examples are
  // written to `active`.
  virtual SweepResult sweep(bool shrunk, const WeightsView<T>& w, Scratch<T> scratch,
                            std::span<const std::int32_t> order, double min_gap,
                            std::int32_t* active) {
    const auto kernel = shrunk ? kernels_.shrunk_sweep : kernels_.full_sweep;
    return kernel(this->problem().examples(), w, this->z(), scratch, order, min_gap, active);
  }
  // Call f(visit); visit(order, active) is a sweep.
  template <class F>
  auto with_sweep(bool shrunk, double min_gap, F f) {
    const WeightsView<T> w = view();
    OwnedScratch<T> scratch(w.n_classes, w.stride);
    return f([&](std::span<const std::int32_t> order, std::int32_t* active) {
      return sweep(shrunk, w, scratch.view(), order, min_gap, active);
    });
  }
  WeightsView<T> view() const { return view_of(this->w()); }

 private:
  WeightsView<T> view_of(const MatrixView<T>& weights) const {
    return {weights.data, this->problem().n_features(), this->problem().n_classes(),
            weights.n_columns};
  }

  const Kernels<T, Duals>& kernels_;
  const RebuildKernels<T>& rebuild_kernels_;
};

template <class T, class Duals>
class DenseEngine final : public FeatureEngine<AnyDenseEngine, T, Duals> {
 public:
  DenseEngine(const std::shared_ptr<const Problem<T>>& problem, int n_threads)
      : FeatureEngine<AnyDenseEngine, T, Duals>(
            problem, problem->examples().formulation.centred && !kLanes, n_threads) {}

  // Class by class, if classes are independent and few z are free.
  ShrunkResult shrunk_loops(std::span<std::int32_t> active, std::int64_t n_active,
                            const ShrunkGoal& goal, std::uint64_t seed) override {
    if constexpr (kLanes) {
      const Problem<T>& problem = this->problem();
      problem.check_active(active, n_active);
      ColumnLoops<T> columns(problem, this->view(), this->z());
      if (ColumnLoops<T>::serves(problem) && columns.find(active.first(n_active))) {
        const auto& kernels = kernels_for<ColumnKernels<T>>(problem.instruction_set());
        return columns.run(kernels, goal, n_active, seed);
      }
    }
    return FeatureEngine<AnyDenseEngine, T, Duals>::shrunk_loops(active, n_active, goal, seed);
  }

  std::int64_t effort(const Extent& extent) const override {
    return this->full_loops(kLanes ? 10 : 5, extent);  // Keerthi et al. 2008; doubled for lanes
  }
  bool few_classes() const override { return kLanes; }

 private:
  static constexpr bool kLanes = std::is_same_v<Duals, DualLanes<T>>;
};

template <class T>
using ListEngine = DenseEngine<T, DualLists<T>>;
template <class T>
using LaneEngine = DenseEngine<T, DualLanes<T>>;

}  // namespace manyclass
