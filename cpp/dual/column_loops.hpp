#pragma once
// The shrunk problem of one-vs-rest, class by class, if few z are free. Each class has its own
// active examples and stores its weights contiguously (dual/column_sweep.hpp). The classes are
// independent, so the order of the visits of different classes does not matter.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dual/kernels.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lanes.hpp"
#include "simd/aligned_array.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// A visit of a pair counts as kPairCost classes in lanes. Pairs are visited if at most 1 of
// kFewPairs is free (measured: 8 is slower if frequent labels share a group, 20 gains less).
inline constexpr std::int64_t kPairCost = 8, kFewPairs = 12;
// W is copied twice; X must have at least this many numbers for each row of W.
inline constexpr std::int64_t kRowsOfFeature = 8;

template <class T>
class ColumnLoops {
 public:
  ColumnLoops(const Problem<T>& problem, const WeightsView<T>& w, DualLanes<T>& z)
      : problem_(problem), w_(w), z_(z), pairs_(w.n_classes) {}

  // Whether examples have sets of classes, so that classes are independent, and there are enough
  // rows. (Measured with one class for each example: letter 0.9 of the time, sector 1.1.)
  static bool serves(const Problem<T>& problem) {
    const Csr<T>& x = problem.examples().x;
    return problem.examples().sets != nullptr && !problem.in_regions() &&
           x.indptr[x.n_rows] >= kRowsOfFeature * (x.n_features + 1);
  }

  // Find the free z of some examples, ascending; returns whether there are few.
  bool find(std::span<const std::int32_t> rows) {
    const Examples<T>& examples = problem_.examples();
    const std::int64_t most = std::ssize(rows) * w_.n_classes / kFewPairs;
    n_pairs_ = 0;
    for (const std::int32_t i : rows) {
      const T* z = z_.lanes(i);
      const auto bound =
          static_cast<T>(examples.formulation.loss.upper(examples.costs[i]) * kAtBound<T>);
      for (std::int32_t c = 0; c < w_.n_classes; ++c) {
        if (!(z[c] > 0 && z[c] < bound)) continue;
        pairs_[c].push_back(i);
        ++n_pairs_;
      }
      if (n_pairs_ > most) return false;
    }
    return n_pairs_ > 0;
  }

  // Loops over the pairs found, class by class; each class has its share of the goal.
  ShrunkResult run(const ColumnKernels<T>& kernels, const ShrunkGoal& goal, std::int64_t n_active,
                   std::uint64_t seed) {
    const std::int64_t d = w_.n_features;
    AlignedArray<T> columns(d * w_.n_classes);
    exchange(columns, [](T& column, T& w) { column = w; });
    const double part_of_example = static_cast<double>(n_active) / static_cast<double>(n_pairs_);
    ShrunkResult result;
    for (std::int32_t c = 0; c < w_.n_classes; ++c) {
      if (pairs_[c].empty()) continue;
      const double share = static_cast<double>(pairs_[c].size()) / static_cast<double>(n_pairs_);
      const double effort = share * static_cast<double>(goal.evaluations) / kPairCost;
      const ShrunkGoal own{.gap = goal.gap * share,
                           .violation = goal.violation,
                           .evaluations = static_cast<std::int64_t>(effort),
                           .min_gap = goal.min_gap * part_of_example};
      const ShrunkResult found = run_class(kernels, columns.data() + c * d, c, own, seed + c);
      result.dual_gain += found.dual_gain;
      result.evaluations += kPairCost * found.evaluations;
      result.loops = std::max(result.loops, found.loops);
    }
    exchange(columns, [](T& column, T& w) { w = column; });
    result.n_active = n_active;
    return result;
  }

 private:
  ShrunkResult run_class(const ColumnKernels<T>& kernels, T* weights, std::int32_t c,
                         const ShrunkGoal& goal, std::uint64_t seed) {
    T& last = w_.data[w_.n_features * w_.stride + c];
    auto intercept = static_cast<double>(last);
    const Column<T> column{weights, &intercept, c};
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* active) {
      return kernels.sweep(problem_.examples(), column, z_, order, goal.min_gap, active);
    };
    const ShrunkResult found = problem_.loops(pairs_[c], std::ssize(pairs_[c]), goal, seed,
                                              problem_.rows_at_once(), sweep);
    last = static_cast<T>(intercept);
    return found;
  }

  template <class F>
  void exchange(AlignedArray<T>& columns, F f) const {
    for (std::int64_t j = 0; j < w_.n_features; ++j) {
      for (std::int32_t c = 0; c < w_.n_classes; ++c) {
        f(columns.data()[c * w_.n_features + j], w_.data[j * w_.stride + c]);
      }
    }
  }

  const Problem<T>& problem_;
  WeightsView<T> w_;
  DualLanes<T>& z_;
  std::vector<std::vector<std::int32_t>> pairs_;
  std::int64_t n_pairs_ = 0;
};

}  // namespace manyclass
