#pragma once
// The kernels of the proximal Newton phase. Around dual variables zbar, with epsilon > 0,
//
//     phi(W) = 1/2 ||W||^2 + sum_i max_{z in Z_i} [z . xi_i(W) - epsilon/2 ||z - zbar_i||^2
//                                                  - r_i/2 ||z||^2],
//
// Z_i the box or the simplex of example i; r_i = 1 / (2 C_i) for the squared hinge, else 0. The
// maximiser is a projection, z_i = P(zbar_i + (xi_i - r_i zbar_i) / (epsilon + r_i)); the gradient
// is W - W(z); a Hessian is I + sum_i (B_i^T J_i B_i) (x) x_i x_i^T, where B_i takes scores to
// slacks and J_i is the derivative of the projection: on the free z, I or (where their sum is at
// its bound) I - 1 1^T / |F|, over epsilon + r_i. The minimiser's z is the proximal point of D at
// zbar. Sources: Rockafellar 1976 (augmented Lagrangians and the proximal point algorithm); Li,
// Sun, Toh 2018 (semismooth Newton inside it, lasso); Yin, Li 2019 (the same for support vector
// machines).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "data/csr.hpp"
#include "data/examples.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/kernel_table.hpp"
#include "newton/projection.hpp"
#include "simd/isa.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, int B>
void score_rows(const Examples<T>& examples, const WeightsView<T>& w, const DualLanes<T>& z,
                T* scores, std::int64_t begin, std::int64_t end) {
  const LaneVisitor<T, B> visitor(examples, w, z);
  for (std::int64_t i = begin; i < end; ++i) {
    visitor.scores(examples.x.row(i)).put(scores + i * z.stride());
  }
}

template <class T, int B>
void add_dual_rows(const Examples<T>& examples, const WeightsView<T>& w, const DualLanes<T>& z,
                   std::int64_t begin, std::int64_t end) {
  const LaneVisitor<T, B> visitor(examples, w, z);
  for (std::int64_t i = begin; i < end; ++i) visitor.add_duals(i);
}

template <class T, int B>
ResponseResult respond_rows(const Proximal<T>& problem, const Response<T>& response,
                            std::int64_t begin, std::int64_t end) {
  using Visitor = ProximalVisitor<T, B>;
  using Lanes = typename Visitor::Lanes;
  const Examples<T>& examples = problem.examples;
  const LaneVisitor<T, B> visitor(examples, response.moves, response.z);
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
    const double ridge = proximal.ridge(e);
    const double square = static_cast<double>((delta * delta).sum());
    result.ascent += static_cast<double>((delta * (e.xi - centre * static_cast<T>(ridge))).sum());
    result.distance += square;
    result.ridge += ridge * square;
    const int n = proximal.n_free(e, z);
    const T share = proximal.share(e, z, n);
    if (n == 0 || (n == 1 && share > 0)) continue;
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
  const LaneVisitor<T, B> from(problem.examples, p, response.z);
  const LaneVisitor<T, B> to(problem.examples, out, response.z);
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
    d = d * -proximal.scale(e);  // the step of W for z is -B^T z
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
  const LaneVisitor<T, B> visitor(problem.examples, none, problem.centre);
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
SweepResult certify_rows(const Proximal<T>& problem, std::int64_t begin, std::int64_t end) {
  using Lanes = typename ProximalVisitor<T, B>::Lanes;
  const WeightsView<T> none{nullptr, problem.examples.x.n_features, problem.centre.n_classes(),
                            problem.centre.stride()};
  const LaneVisitor<T, B> visitor(problem.examples, none, problem.centre);
  SweepResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    if (!(problem.examples.norms[i] > 0)) continue;
    auto e = visitor.view_of(i, Lanes::at(problem.scores + i * problem.centre.stride()));
    visitor.tally(e, result);
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
