#pragma once
// The visits of the sequential dual method (dual/dense_sweep.hpp) if there are few classes. The
// scores, the z and the step of an example each fill a few registers, and every visit covers all
// classes. The visits serve all formulations whose block is a box or the simplex of Crammer-Singer.
// One-vs-rest is trained in groups of classes (Lin 2008), with a lane for each class.
//
// The block problem (subproblem/root_finding.hpp) is solved in units of xi: with r = q z + xi,
// beta = q times b.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "dual/kernels.hpp"
#include "duals/dual_lanes.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "simd/wide_vector.hpp"
#include "subproblem/lane_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/dense_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

// `kFactors`: whether the examples may have factors (data/examples.hpp).
template <class T, int B, bool kFactors>
class LaneVisitor {
 public:
  using View = LaneView<T, B, kFactors>;
  using Lanes = typename View::Lanes;
  using Mask = WideMask<T, View::kV>;

  LaneVisitor(const Examples<T>& examples, const WeightsView<T>& w, const DualLanes<T>& z,
              T* carry = nullptr)
      : LaneVisitor(examples, w, z, carry,
                    examples.formulation.relative  ? 1.0
                    : examples.formulation.centred ? -1.0 / w.n_classes
                                                   : 0.0) {}
  // `sigma` belongs to the matrix of the subproblem, a I + sigma v v^T.
  LaneVisitor(const Examples<T>& examples, const WeightsView<T>& w, const DualLanes<T>& z, T* carry,
              double sigma)
      : examples_(examples),
        numbers_(Lanes::numbers()),
        f_(examples.formulation),
        w_{w.data, w.n_features, w.n_classes, w.stride},
        carry_(carry),
        duals_(z),
        sigma_(sigma),
        subproblem_(f_, sigma_) {
    const Lanes end = Lanes::all(static_cast<T>(w.n_classes));
    const auto live = end > numbers_;
    live_ = select(live, Lanes::all(1), Lanes::all(0));
    others_ = select(live, Lanes::all(f_.others ? T{0} : kNone), Lanes::all(kNone));
  }

  View score(std::int64_t i) const { return view_of(i, scores(examples_.x.row(i))); }

  // Example i, given w_c . x as `products`. Relative margins subtract s_y from every score.
  View view_of(std::int64_t i, const Lanes& products) const {
    const T* base = examples_.base.of(i);
    const Lanes s = base ? products + Lanes::at(base) : products;
    return view_less(
        i, s, [&](const Mask& own) { return f_.relative ? select(own, s, zero()).sum() : T{0}; });
  }

  // Example i from its scores s, minus the number `less(own)`.
  template <class Less>
  View view_less(std::int64_t i, const Lanes& s, Less less) const {
    View e;
    e.q = examples_.norms[i];
    e.cost = examples_.costs[i];
    if constexpr (kFactors) e.factors = examples_.factors.of(i);
    e.z = Lanes::at(duals_.lanes(i));
    e.own = own_of(i);
    const T off = less(e.own);
    const Lanes others = slacks_of_others(f_, s, off) + others_;
    const Lanes own = f_.own ? slack_of_own(f_, s, off) : Lanes::all(kNone);
    e.xi = select(e.own, own, others);
    if (!f_.relative) e.v = select(e.own, Lanes::all(1), Lanes::all(-1));
    return e;
  }

  // Add an example to the sums; returns its gap and its violation.
  std::pair<double, double> tally(View& e, SweepResult& result) const {
    const auto [loss, gap, violation] = f_.maximum ? estimate_maximum(e) : estimate_sum(e);
    result.loss += loss;
    result.gap += gap;
    result.max_violation = std::max(result.max_violation, violation);
    return {gap, violation};
  }

  // Solve the block of example i, update z and W. Returns the gain of the dual objective and
  // whether the z of the example could still change within its non-zero entries.
  std::pair<double, bool> solve(std::int64_t i, const View& e) const {
    return solve_by(i, e, [&](const Lanes& delta, double sum_v) { return step(e, delta, sum_v); });
  }

  // Solve the block; the step of W is `step_of(delta, v^T delta)`.
  template <class StepOf>
  std::pair<double, bool> solve_by(std::int64_t i, const View& e, StepOf step_of) const {
    const Lanes z = subproblem_.solve(e);
    const Lanes delta = z - e.z;
    const bool active = is_active(e, z);
    if (((delta > zero()).bits() | (zero() > delta).bits()) == 0) return {0, active};
    z.put(duals_.lanes(i));
    const double sum_v = static_cast<double>(f_.relative ? delta.sum() : (e.v * delta).sum());
    add(examples_.x.row(i), step_of(delta, sum_v));
    const Lanes gains = delta * (e.xi - delta * static_cast<T>(0.5 * e.q));
    double gain = static_cast<double>(gains.sum()) - 0.5 * e.q * sigma_ * sum_v * sum_v;
    if (!f_.loss.has_ridge()) return {gain, active};
    const auto over_factors = [&] { return e.of_costs([&](double C) { return e.cost / C; }); };
    const T squares =
        e.factors ? (delta * over_factors() * (z + e.z)).sum() : (delta * (z + e.z)).sum();
    return {gain - f_.loss.regularizer(static_cast<double>(squares), e.cost), active};
  }

  bool is_active(const View& e, const Lanes& z) const {
    const std::uint64_t support = (z > zero()).bits();
    if (f_.maximum && std::popcount(support) != 1) return support != 0;
    return (support & (bound(e) > z).bits()) != 0;
  }

  // W += the contribution of the z of example i.
  void add_duals(std::int64_t i) const {
    View e;
    e.z = Lanes::at(duals_.lanes(i));
    if ((e.z > zero()).bits() == 0) return;
    e.own = own_of(i);
    e.v = select(e.own, Lanes::all(1), Lanes::all(-1));
    double sum_v = 0;
    for (std::int32_t c = 0; c < w_.n_classes; ++c) {
      const bool plus = f_.relative || examples_.owns(i, c);
      sum_v += (plus ? 1 : -1) * static_cast<double>(duals_.lanes(i)[c]);
    }
    add(examples_.x.row(i), step(e, e.z, sum_v));
  }

 protected:
  static Lanes zero() { return Lanes::all(0); }

  // The lanes of the class of example i, or of its classes.
  Mask own_of(std::int64_t i) const {
    if (examples_.sets) return Mask::of(examples_.sets[i]);
    return numbers_ == Lanes::all(static_cast<T>(examples_.labels[i]));
  }

  const Examples<T>& examples_;
  Lanes numbers_;  // numbers of the lanes

 private:
  struct ExampleGap {
    double loss;
    double gap;
    double violation;
  };
  static constexpr std::int64_t kStride = B * DualLanes<T>::kBlock;
  static constexpr T kNone = kNoSlack<T>;

  ExampleGap estimate_sum(const View& e) const {
    const Lanes positive = max(e.xi, zero());
    const Lanes losses = f_.loss.of_positive(positive);
    const T sum = e.factors ? (losses * Lanes::at(e.factors)).sum() : losses.sum();
    const double loss = e.cost * static_cast<double>(sum);
    const Lanes gaps = f_.loss.term_of(e, positive);
    const Lanes gradient = f_.loss.gradient_of(e.z, e);
    const Lanes violation = max(select(bound(e) > e.z, gradient, zero()),
                                select(e.z > zero(), zero() - gradient, zero()));
    return {loss, static_cast<double>(gaps.sum()), static_cast<double>(violation.largest())};
  }

  ExampleGap estimate_maximum(View& e) const {
    e.xi_max = static_cast<double>(e.xi.largest());
    e.sum_z = static_cast<double>(e.z.sum());
    const double loss = e.cost * std::max(0.0, e.xi_max);
    const Lanes below = select(e.z > zero(), zero() - e.xi, Lanes::all(kNone));
    const double xi_min = -static_cast<double>(below.largest());
    const double low = e.sum_z >= e.cost * kAtBound<T> ? xi_min : std::min(xi_min, 0.0);
    return {loss, loss - static_cast<double>((e.z * e.xi).sum()),
            std::max(0.0, std::max(e.xi_max, 0.0) - low)};
  }

  // The value from which z counts as at its bound.
  Lanes bound(const View& e) const {
    return e.of_costs([this](double C) { return f_.loss.upper(C) * kAtBound<T>; });
  }

  T* feature(std::int64_t j) const { return w_.data + j * kStride; }

  const Formulation& f_;
  DenseWeights<T> w_;
  T* carry_;  // low digits of the intercepts, or null
  const DualLanes<T>& duals_;
  Lanes live_;    // 1 for the classes, 0 in the padding
  Lanes others_;  // added to xi: 0 for targets, kNone elsewhere
  double sigma_;
  LaneSubproblem<T, B, kFactors> subproblem_;

 public:
  // The step of the weights along x_i; `sum_v` is v^T delta.
  Lanes step(const View& e, const Lanes& delta, double sum_v) const {
    if (f_.relative) return select(e.own, Lanes::all(static_cast<T>(sum_v)), zero() - delta);
    const Lanes moved = e.v * delta;
    return f_.centred ? moved - live_ * static_cast<T>(sum_v / w_.n_classes) : moved;
  }

  // w_c . x of every class. Several features are processed at a time, so that enough sums are in
  // progress to hide the latency of an addition.
  [[gnu::always_inline]] Lanes scores(const Row<T>& row) const {
    constexpr int kUnroll = View::kV >= 8 ? 1 : 8 / View::kV;
    Lanes sum[kUnroll];
    for (int u = 0; u < kUnroll; ++u) sum[u] = zero();
    std::int64_t p = 0;
    for (; p + kUnroll <= row.nnz; p += kUnroll) {
      for (int u = 0; u < kUnroll; ++u) {
        sum[u] = sum[u] + Lanes::at(feature(row.indices[p + u])) * row.values[p + u];
      }
    }
    for (; p < row.nnz; ++p) sum[0] = sum[0] + Lanes::at(feature(row.indices[p])) * row.values[p];
    if (row.bias != 0) sum[0] = sum[0] + Lanes::at(feature(w_.n_features)) * row.bias;
    for (int u = 1; u < kUnroll; ++u) sum[0] = sum[0] + sum[u];
    return sum[0];
  }

  void add(const Row<T>& row, const Lanes& step) const {
    const auto add_to = [&step](T* w, T x) { (Lanes::at(w) + step * x).put(w); };
    for (std::int64_t p = 0; p < row.nnz; ++p) add_to(feature(row.indices[p]), row.values[p]);
    if (row.bias == 0) return;
    T* const intercepts = feature(w_.n_features);
    if (!carry_) return add_to(intercepts, row.bias);
    const auto [sum, rest] = two_sum(Lanes::at(intercepts), Lanes::at(carry_) + step * row.bias);
    sum.put(intercepts);
    rest.put(carry_);
  }
};

template <class Visitor>
SweepResult sweep_lanes(const Visitor& visitor, std::int32_t n_classes,
                        std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
  SweepResult result;
  for (const std::int32_t i : order) {
    auto e = visitor.score(i);
    const auto [gap, violation] = visitor.tally(e, result);
    if (gap < min_gap) continue;
    bool stays = false;
    if (violation > 0) {
      const auto [gain, is_active] = visitor.solve(i, e);
      result.dual_gain += gain;
      ++result.steps;
      stays = is_active;
    } else {
      stays = visitor.is_active(e, e.z);
    }
    if (stays) active[result.n_active++] = i;
  }
  result.evaluations = std::ssize(order) * n_classes;
  return result;
}

template <class T, int B>
SweepResult sweep_blocks(const Examples<T>& examples, const WeightsView<T>& w, DualLanes<T>& z,
                         Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                         std::int32_t* active) {
  const auto sweep = [&](const auto& visitor) {
    return sweep_lanes(visitor, w.n_classes, order, min_gap, active);
  };
  if constexpr (kSpecialCases) {
    if (!examples.factors) return sweep(LaneVisitor<T, B, false>(examples, w, z, scratch.carry));
  }
  return sweep(LaneVisitor<T, B, true>(examples, w, z, scratch.carry));
}

// The visits for as many blocks as the rows of z have.
template <class T>
SweepResult lane_sweep(const Examples<T>& examples, const WeightsView<T>& w, DualLanes<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  static constexpr typename Kernels<T, DualLanes<T>>::Sweep kByBlocks[] = {
      sweep_blocks<T, 1>, sweep_blocks<T, 2>, sweep_blocks<T, 3>, sweep_blocks<T, 4>};
  return kByBlocks[z.stride() / z.kBlock - 1](examples, w, z, scratch, order, min_gap, active);
}

}  // namespace manyclass::MANYCLASS_ISA
