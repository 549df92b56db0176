#pragma once
// The projection onto Z_i of one example (newton/proximal_kernels.hpp), and its derivative.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "data/examples.hpp"
#include "data/formulation.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/kernel_table.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/lane_subproblem.hpp"

namespace manyclass::MANYCLASS_ISA {

// One example of the proximal problem.
template <class T, int B>
class ProximalVisitor {
 public:
  using Visitor = LaneVisitor<T, B>;
  using View = typename Visitor::View;
  using Lanes = typename Visitor::Lanes;
  static constexpr std::int64_t kStride = B * DualLanes<T>::kBlock;

  explicit ProximalVisitor(const Proximal<T>& problem)
      : problem_(problem), f_(problem.examples.formulation) {}

  double ridge(const View& e) const { return f_.squared ? 1 / (2 * e.cost) : 0; }
  // What the slope of the projection is on the free z.
  T scale(const View& e) const { return static_cast<T>(1 / (problem_.epsilon + ridge(e))); }
  Lanes centre(std::int64_t i) const { return Lanes::at(problem_.centre.lanes(i)); }

  // Whether no z of the example is positive: most examples, which need no projection.
  bool is_far(const View& e, const Lanes& centre) const {
    return (unbounded(e, centre) > zero()).bits() == 0;
  }
  Lanes respond(const View& e, const Lanes& centre) const {
    if (f_.maximum) return LaneSubproblem<T, B>::without_noise(simplex(e, centre));
    return min(max(unbounded(e, centre), zero()), upper(e));
  }

  // The slacks' change for a change of the scores; undefined where c is no target.
  Lanes change(const View& e, const Lanes& s) const {
    if (!f_.relative) return zero() - e.v * s;
    return s - Lanes::all(select(e.own, s, zero()).sum());
  }
  // `values` where z is strictly inside its bounds, else 0.
  Lanes at_free(const View& e, const Lanes& z, const Lanes& values) const {
    const Lanes positive = select(z > zero(), values, zero());
    return f_.maximum ? positive : select(upper(e) > z, positive, zero());
  }
  int n_free(const View& e, const Lanes& z) const {
    return std::popcount((at_free(e, z, Lanes::all(1)) > zero()).bits());
  }
  // 1 / |F| if the sum of z is at its bound, else 0.
  T share(const View& e, const Lanes& z, int n) const {
    const bool capped = f_.maximum && static_cast<double>(z.sum()) >= e.cost * kAtBound<T>;
    return capped ? T{1} / static_cast<T>(n) : T{0};
  }
  double sum_v(const View& e, const Lanes& z) const {
    return static_cast<double>(f_.relative ? z.sum() : (e.v * z).sum());
  }
  // tr(B^T J B)
  double trace(const View& e, int n, double share, int n_classes) const {
    const double own = !f_.relative || share > 0 ? 0 : n;
    const double kept = f_.centred ? 1 - 1.0 / n_classes : 1.0;
    return (n * (1 - share) + own) * kept * static_cast<double>(scale(e));
  }
  static Lanes zero() { return Lanes::all(0); }

 private:
  Lanes unbounded(const View& e, const Lanes& centre) const {
    const Lanes xi = f_.squared ? e.xi - centre * static_cast<T>(ridge(e)) : e.xi;
    return centre + xi * scale(e);
  }
  Lanes upper(const View& e) const {
    return Lanes::all(f_.squared ? std::numeric_limits<T>::max() : static_cast<T>(e.cost));
  }

  // max(0, b - theta), theta the least >= 0 with a sum of at most C, for b = zbar + xi / epsilon.
  // All in distances from the largest xi, whose quotient by a small epsilon has too few digits.
  Lanes simplex(const View& e, const Lanes& centre) const {
    const T xi_max = e.xi.largest();
    const Lanes b = centre + (e.xi - Lanes::all(xi_max)) * scale(e);
    const double low = -static_cast<double>(xi_max) / problem_.epsilon;  // theta = 0
    double theta = std::max(low, static_cast<double>(b.largest()) - e.cost);
    Lanes z = max(b - Lanes::all(static_cast<T>(theta)), zero());
    for (int turn = 0; turn < 2 * static_cast<int>(kStride); ++turn) {
      const int n = std::popcount((z > zero()).bits());
      const double next = theta + (static_cast<double>(z.sum()) - e.cost) / std::max(n, 1);
      if (n == 0 || !(next > theta)) break;
      theta = next;
      z = max(b - Lanes::all(static_cast<T>(theta)), zero());
    }
    const double sum = static_cast<double>(z.sum());
    return sum > e.cost ? z * static_cast<T>(e.cost / sum) : z;
  }

  const Proximal<T>& problem_;
  const Formulation& f_;
};

}  // namespace manyclass::MANYCLASS_ISA
