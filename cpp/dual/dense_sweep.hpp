#pragma once
// One loop of the sequential dual method over given examples, for every formulation:
//
//   max_z  D(z) = sum_ic gamma_c z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i): squared hinge]
//   s.t.   z_ic >= 0 for c in T_i;  hinge: z_ic <= C_i (sum), or sum_c z_ic <= C_i (maximum)
//
//   relative margins:  w_c(z) = sum_i ([c = y_i] sum_m z_im - z_ic) x_i
//   absolute margins:  u_c(z) = sum_i ([c = y_i] - [c != y_i]) z_ic x_i,
//                      w_c = u_c, or u_c - mean_m u_m if W is centered
//
// Given: the examples (C_i > 0, x_i != 0), z and the weights of z. Each visit maximizes D over the
// z of one example exactly (subproblem/root_finding.hpp) and updates W. Returned: sums over the
// visits (dual/kernels.hpp). Centered weights are stored as U and, in column k, their mean, so that
// a step changes only the classes whose z changed. Sources: Keerthi et al. 2008, algorithms 2.1 and
// 3.1, shrinking in sec. 2.1; Alber et al. 2017, sec. 3 (separate mean).
#include <limits>
#include <utility>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/dense_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

// Visits with dense W.
template <class T>
class DenseVisitor : public ExampleSubproblem<T> {
 public:
  DenseVisitor(const Examples<T>& examples, const WeightsView<T>& w, Scratch<T> scratch)
      : ExampleSubproblem<T>(examples, w.n_classes, scratch, w.n_classes > kCentredClasses<T>),
        w_{w.data, w.n_features, w.n_classes, w.stride, w.stride, scratch.carry},
        has_mean_(examples.formulation.centred) {}

  // All classes of example i: scores, and the block's coordinates with z > 0.
  BlockSummary score_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    w_.scores(examples_.x.row(i), scratch_.scores);
    const double centre = has_mean_ ? static_cast<double>(scratch_.scores[w_.n_classes]) : 0.0;
    return this->summarize(i, z, centre, w_.stride);
  }

  // Only the classes of example i with z > 0, and the class y_i.
  BlockSummary score_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    std::size_t size = this->list_support(i, z);
    if (has_mean_) scratch_.labels[size++] = w_.n_classes;
    T* s = scratch_.scores;
    w_.scores_of(examples_.x.row(i), std::span<const std::int32_t>(scratch_.labels, size), s);
    return this->summarize_support(i, z, has_mean_ ? static_cast<double>(s[size - 1]) : 0.0);
  }

  // Solve the block of example i, update z and W. Returns the gain of the dual objective.
  double move(std::int64_t i, const BlockSummary& found, DualLists<T>& z) {
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    if (!solved.step.empty()) w_.add(examples_.x.row(i), solved.step, scratch_.dense_step);
    return solved.gain;
  }

 protected:
  using ExampleSubproblem<T>::examples_;
  using ExampleSubproblem<T>::scratch_;

  DenseWeights<T> w_;
  bool has_mean_;  // in column k of W, subtracted from every w_c
};

struct FetchNothing {
  void operator()(std::size_t) const {}
};

// Visit the examples `order`. `score(i, z of i, result)` summarizes an example and counts its
// scores. `fetch(p)` may prefetch data for visits after the p-th one. An example with a gap below
// `min_gap` is skipped and becomes inactive.
template <class T, class Visitor, class Score, class Fetch = FetchNothing>
SweepResult visit_all(Visitor& visitor, const Examples<T>& examples, DualLists<T>& z,
                      std::span<const std::int32_t> order, double min_gap, std::int32_t* active,
                      Score score, Fetch fetch = {}) {
  SweepResult result;
  for (std::size_t p = 0; p < order.size(); ++p) {
    fetch(p);
    const std::int32_t i = order[p];
    const BlockSummary found = score(i, std::as_const(z).row(i), result);
    const ExampleCosts costs = examples.costs_of(i);
    const double gap_before = result.gap;
    const double violation = visitor.tally(found, costs.all, result);
    if (result.gap - gap_before < min_gap) continue;
    if (violation > 0) {
      result.dual_gain += visitor.move(i, found, z);
      ++result.steps;
    }
    if (visitor.is_active(std::as_const(z).row(i), costs)) active[result.n_active++] = i;
  }
  return result;
}

// Largest number of classes for which gathering weights is cheaper than scoring all classes: the
// number of vectors of U in a row. Scores of these, y and the mean must fit into the scratch.
template <class U, class T>
std::int64_t gathered_classes(const WeightsView<T>& w) {
  constexpr auto kLanesOfU = kLanes<U>;
  const std::int64_t vectors = (w.stride + kLanesOfU - 1) / kLanesOfU;
  return std::min(std::max<std::int64_t>(vectors, 4), w.stride);
}

// kShrunk: over only the non-zero z of each example, if that is cheaper than over all
// classes of w.
template <bool kShrunk, class T, class Visitor>
SweepResult sweep_by(Visitor& visitor, const Examples<T>& examples, const WeightsView<T>& w,
                     DualLists<T>& z, std::span<const std::int32_t> order, double min_gap,
                     std::int32_t* active) {
  const std::int64_t few = gathered_classes<T>(w);
  // Float and double are counted like float, so that equal efforts allow equally many visits.
  const std::int64_t few_counted = gathered_classes<float>(w);
  const auto score = [&](std::int64_t i, std::span<const DualEntry<T>> list, SweepResult& result) {
    const auto needed = std::ssize(list) + 2;
    const bool gather = kShrunk && needed <= few;
    result.evaluations += kShrunk && needed <= few_counted ? needed - 1 : w.n_classes;
    return gather ? visitor.score_support(i, list) : visitor.score_all(i, list);
  };
  return visit_all(visitor, examples, z, order, min_gap, active, score);
}

template <bool kShrunk, class T>
SweepResult dual_sweep(const Examples<T>& examples, const WeightsView<T>& w, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  DenseVisitor<T> visitor(examples, w, scratch);
  return sweep_by<kShrunk>(visitor, examples, w, z, order, min_gap, active);
}

}  // namespace manyclass::MANYCLASS_ISA
