#pragma once
// The kernels of the proximal Newton method. Around dual variables zbar, with epsilon > 0,
//
//     phi(W) = 1/2 ||W||^2 + sum_i max_{z in Z_i} [z . xi_i(W) - epsilon/2 ||z - zbar_i||^2
//                                                  - r_i/2 ||z||^2],
//
// Z_i is the box or the simplex of example i; r_i = 1 / (2 C_i) for the squared hinge, else 0.
// Costs of mistakes may scale C_i for each class. The
// maximizer is a projection, z_i = P(zbar_i + (xi_i - r_i zbar_i) / (epsilon + r_i)); the gradient
// is W - W(z); a Hessian is I + sum_i (B_i^T J_i B_i) (x) x_i x_i^T, where B_i maps scores to
// slacks and J_i is the derivative of the projection: on the free z, I or (if their sum is at
// its bound) I - 1 1^T / |F|, divided by epsilon + r_i. At the minimizer, z is the proximal point
// of D at zbar. Sources: Rockafellar 1976 (augmented Lagrangians, proximal point algorithm); Li,
// Sun, Toh 2018 (semismooth Newton in this algorithm, lasso); Yin, Li 2019 (the same for support
// vector machines).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/kernel_table.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/lane_subproblem.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

// With or without factors of losses: a few branches per row take little time here.
template <class T, int B>
using RowVisitor = LaneVisitor<T, B, true>;

// One example of the proximal problem.
template <class T, int B>
class ProximalVisitor {
 public:
  using Visitor = RowVisitor<T, B>;
  using View = typename Visitor::View;
  using Lanes = typename Visitor::Lanes;
  static constexpr std::int64_t kStride = B * DualLanes<T>::kBlock;

  explicit ProximalVisitor(const Proximal<T>& problem)
      : problem_(problem), f_(problem.examples.formulation) {}

  // r_i of each class.
  Lanes ridge(const View& e) const {
    return e.of_costs([this](double C) { return f_.loss.ridge(C); });
  }
  // sum_c r_ic delta_c^2, given sum_c delta_c^2.
  double sum_of_ridges(const View& e, const Lanes& delta, double square) const {
    if (!e.factors) return f_.loss.ridge(e.cost) * square;
    return static_cast<double>((delta * delta * ridge(e)).sum());
  }
  // Slope of the projection for the free z.
  [[gnu::always_inline]] Lanes scale(const View& e) const {
    return e.of_costs([this](double C) { return 1 / (problem_.epsilon + f_.loss.ridge(C)); });
  }
  Lanes centre(std::int64_t i) const { return Lanes::at(problem_.centre.lanes(i)); }

  // Whether no z of the example is positive. Most examples are like this and need no projection.
  bool is_far(const View& e, const Lanes& centre) const {
    return (unbounded(e, centre) > zero()).bits() == 0;
  }
  Lanes respond(const View& e, const Lanes& centre) const {
    if (f_.maximum) return LaneSubproblem<T, B, true>::without_noise(simplex(e, centre));
    return min(max(unbounded(e, centre), zero()), upper(e));
  }

  // The change of the slacks for a change of the scores; undefined if c is not a target.
  [[gnu::always_inline]] Lanes change(const View& e, const Lanes& s) const {
    if (!f_.relative) return zero() - e.v * s;
    return s - Lanes::all(select(e.own, s, zero()).sum());
  }
  // `values` if z is strictly inside its bounds, else 0. Inlined, because calls pass lanes through
  // memory, and a Hessian product makes two calls for each row.
  [[gnu::always_inline]] Lanes at_free(const View& e, const Lanes& z, const Lanes& values) const {
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
  double trace(const View& e, const Lanes& z, double share, int n_classes) const {
    const int n = n_free(e, z);
    const double own = !f_.relative || share > 0 ? 0 : n;
    const double kept = f_.centred ? 1 - 1.0 / n_classes : 1.0;
    return (n * (1 - share) + own) * kept * mean_scale(e, z, n);
  }
  // The mean slope of n free z.
  double mean_scale(const View& e, const Lanes& z, int n) const {
    const Lanes slopes = scale(e);
    if (!e.factors) return static_cast<double>(slopes.part[0][0]);
    return static_cast<double>(at_free(e, z, slopes).sum()) / std::max(n, 1);
  }
  // The number of non-zero entries b <= c of B^T J B.
  double pairs(int n, double share) const {
    if (share > 0) return 0.5 * n * (n + 1);
    return f_.relative ? 2.0 * n + 1 : n;
  }
  static Lanes zero() { return Lanes::all(0); }

 private:
  Lanes unbounded(const View& e, const Lanes& centre) const {
    return centre + f_.loss.gradient_of(centre, e) * scale(e);
  }
  Lanes upper(const View& e) const {
    return e.of_costs([this](double C) { return f_.loss.template finite_upper<T>(C); });
  }

  // max(0, b - theta), with the least theta >= 0 for a sum of at most C; b = zbar + xi / epsilon.
  // All numbers are relative to the largest xi, because xi / epsilon would lose digits.
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

template <class T, int B>
void score_rows(const Examples<T>& examples, const WeightsView<T>& w, const DualLanes<T>& z,
                T* scores, std::int64_t begin, std::int64_t end) {
  const RowVisitor<T, B> visitor(examples, w, z);
  for (std::int64_t i = begin; i < end; ++i) {
    visitor.scores(examples.x.row(i)).put(scores + i * z.stride());
  }
}

template <class T, int B>
void add_dual_rows(const Examples<T>& examples, const WeightsView<T>& w, const DualLanes<T>& z,
                   std::int64_t begin, std::int64_t end) {
  const RowVisitor<T, B> visitor(examples, w, z);
  for (std::int64_t i = begin; i < end; ++i) visitor.add_duals(i);
}

template <class T, int B>
ResponseResult respond_rows(const Proximal<T>& problem, const Response<T>& response,
                            std::int64_t begin, std::int64_t end) {
  using Visitor = ProximalVisitor<T, B>;
  using Lanes = typename Visitor::Lanes;
  const Examples<T>& examples = problem.examples;
  const RowVisitor<T, B> visitor(examples, response.moves, response.z);
  const Visitor proximal(problem);
  ResponseResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    if (!(examples.norms[i] > 0)) continue;
    const auto e = visitor.view_of(i, Lanes::at(problem.scores + i * Visitor::kStride));
    const Lanes centre = proximal.centre(i);
    const bool far = proximal.is_far(e, centre);
    if (far && ((e.z + centre) > Visitor::zero()).bits() == 0) continue;
    const Lanes z = far ? Visitor::zero() : proximal.respond(e, centre);
    const Lanes step = z - e.z;
    if ((step * step > Visitor::zero()).bits() != 0) {
      z.put(response.z.lanes(i));
      visitor.add(examples.x.row(i), visitor.step(e, step, proximal.sum_v(e, step)));
      ++result.moved;
    }
    const Lanes delta = z - centre;
    const Lanes ridge = proximal.ridge(e);
    const double square = static_cast<double>((delta * delta).sum());
    result.ascent += static_cast<double>((delta * (e.xi - centre * ridge)).sum());
    result.distance += square;
    result.ridge += proximal.sum_of_ridges(e, delta, square);
    const int n = proximal.n_free(e, z);
    const T share = proximal.share(e, z, n);
    if (n == 0 || (n == 1 && share > 0)) continue;
    result.pairs += proximal.pairs(n, static_cast<double>(share));
    response.zone[result.n_zone] = static_cast<std::int32_t>(i);
    response.share[result.n_zone++] = share;
  }
  return result;
}

template <class T, int B>
void hessian_product(const Proximal<T>& problem, const Response<T>& response,
                     const WeightsView<T>& p, const WeightsView<T>& out, std::int64_t begin,
                     std::int64_t end) {
  using Visitor = ProximalVisitor<T, B>;
  using Lanes = typename Visitor::Lanes;
  const RowVisitor<T, B> from(problem.examples, p, response.z);
  const RowVisitor<T, B> to(problem.examples, out, response.z);
  const Visitor proximal(problem);
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int32_t i = response.zone[m];
    const Row<T> row = problem.examples.x.row(i);
    const Lanes s = from.scores(row);
    const auto e = from.view_of(i, s);
    Lanes d = proximal.at_free(e, e.z, proximal.change(e, s));
    if (response.share[m] > 0) {
      d = proximal.at_free(e, e.z, d - Lanes::all(d.sum() * response.share[m]));
    }
    d = d * (proximal.scale(e) * T{-1});  // the step of W for z is -B^T z
    to.add(row, to.step(e, d, proximal.sum_v(e, d)));
  }
}

template <class T, int B>
SlopeResult slope_rows(const Proximal<T>& problem, double t, std::span<const std::int32_t> rows,
                       std::int32_t* near) {
  using Visitor = ProximalVisitor<T, B>;
  using Lanes = typename Visitor::Lanes;
  const WeightsView<T> none{nullptr, problem.examples.x.n_features, problem.centre.n_classes(),
                            problem.centre.stride()};
  const RowVisitor<T, B> visitor(problem.examples, none, problem.centre);
  const Visitor proximal(problem);
  SlopeResult result;
  for (const std::int32_t i : rows) {
    const Lanes start = Lanes::at(problem.scores + i * Visitor::kStride);
    const Lanes along = Lanes::at(problem.along + i * Visitor::kStride);
    const auto e = visitor.view_of(i, start + along * static_cast<T>(t));
    if (proximal.is_far(e, e.z)) {
      if (!proximal.is_far(visitor.view_of(i, start), e.z)) near[result.n_near++] = i;
      continue;
    }
    near[result.n_near++] = i;
    const Lanes z = proximal.respond(e, e.z);
    const Lanes rate = select(z > Visitor::zero(), proximal.change(e, along), Visitor::zero());
    result.slope += static_cast<double>((z * rate).sum());
  }
  return result;
}

template <class T, int B>
SweepResult estimate_rows(const Proximal<T>& problem, std::int64_t begin, std::int64_t end) {
  using Lanes = typename ProximalVisitor<T, B>::Lanes;
  const WeightsView<T> none{nullptr, problem.examples.x.n_features, problem.centre.n_classes(),
                            problem.centre.stride()};
  const RowVisitor<T, B> visitor(problem.examples, none, problem.centre);
  SweepResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    if (!(problem.examples.norms[i] > 0)) continue;
    auto e = visitor.view_of(i, Lanes::at(problem.scores + i * problem.centre.stride()));
    visitor.tally(e, result);
  }
  return result;
}

template <class T>
void centre_rows(const WeightsView<T>& w) {
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T* row = w.data + j * w.stride;
    double sum = 0;
    for (std::int32_t c = 0; c < w.n_classes; ++c) sum += static_cast<double>(row[c]);
    const T mean = static_cast<T>(sum / w.n_classes);
    for (std::int32_t c = 0; c < w.n_classes; ++c) row[c] -= mean;
  }
}

}  // namespace manyclass::MANYCLASS_ISA
