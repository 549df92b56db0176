#pragma once
// The duality gap in double, term by term (mathematics: P - D as a sum over the examples), with a
// bound of the rounding error: every slack xi is known to within +-e, and each term is taken where
// it is largest. So the returned gap is never below the true one.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "certificate/certified_weights.hpp"
#include "certificate/double_scores.hpp"
#include "certificate/feasible.hpp"
#include "data/csr.hpp"
#include "data/examples.hpp"
#include "data/formulation.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/block_summary.hpp"
#include "subproblem/coordinate.hpp"
#include "subproblem/root_finding.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

// How far a computed slack of an example may be from the exact one: two inner products of nnz terms
// each, |w_c . x| <= ||W|| ||x|| (Higham 2002, sec. 3.1), and a few operations more.
template <class T>
double slack_error(const Formulation& f, const Row<T>& row, double q, double norm) {
  constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
  const double size = std::max(f.gamma, f.gamma_own) + 2 * norm * std::sqrt(q);
  return kUnit * static_cast<double>(row.nnz + 8) * size;
}

// Sums over the classes of an example.
struct Terms {
  double losses = 0;  // sum of the targets' losses
  double gap = 0;     // upper bound of the sum of C loss - z xi [+ z^2 / (4 C)]
  double z_dot_xi = 0;
  double sum_z = 0;
  double xi_max = -kInfinity;
  double xi_min = kInfinity;  // smallest xi with z > 0
  double violation = 0;       // of a sum formulation
};

template <class T>
class GapCertificate {
 public:
  GapCertificate(const Examples<T>& examples, const CertifiedWeights& at)
      : examples_(examples), at_(at) {}

  // Add the terms of example i. `s` has the scores of n columns (a multiple of the lanes), -inf
  // where there is no class; this call overwrites them. `s_y` is w_y . x.
  template <class Duals>
  void add(std::int64_t i, const Duals& z, double s_y, double* s, std::size_t n,
           SweepResult& result) const {
    const Formulation& f = examples_.formulation;
    const Row<T> row = examples_.x.row(i);
    const double cost = examples_.costs[i], q = examples_.norms[i];
    const double shift = common_score(row);
    const double e = slack_error(f, row, q, at_.norm);
    const double offset = f.gamma - (f.relative ? s_y : shift);
    const std::int32_t y = examples_.labels[i];
    Terms terms;
    double z_own = 0;
    each_feasible(examples_, z, i, [&](std::int32_t c, double value) {
      if (c == y) {
        z_own = value;
      } else {
        add_class(value, offset + s[c], e, cost, terms);
        s[c] = -kInfinity;
      }
    });
    if (y != kElsewhere) s[y] = -kInfinity;
    if (f.own && y != kElsewhere) {
      add_class(z_own, f.gamma_own - (s_y - shift), e, cost, terms);
    }
    if (f.others) add_rest(s, n, offset, e, cost, terms);
    sum_up(terms, e, cost, q > 0, result);
  }

 private:
  double common_score(const Row<T>& row) const {
    if (!at_.common) return 0;
    double sum = static_cast<double>(row.bias) * at_.common[examples_.x.n_features];
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      sum += static_cast<double>(row.values[p]) * at_.common[row.indices[p]];
    }
    return sum;
  }

  // C loss(xi) - z xi [+ z^2 / (4 C)] of a sum of losses, without cancellation: convex in xi.
  double term(double z, double xi, double cost) const {
    if (!examples_.formulation.squared) return xi > 0 ? (cost - z) * xi : -z * xi;
    const double half = z / (2 * cost);
    return xi > 0 ? cost * (xi - half) * (xi - half) : z * (half / 2 - xi);
  }

  void add_class(double z, double xi, double e, double cost, Terms& terms) const {
    const Formulation& f = examples_.formulation;
    terms.z_dot_xi += z * xi;
    terms.sum_z += z;
    terms.xi_max = std::max(terms.xi_max, xi);
    if (z > 0) terms.xi_min = std::min(terms.xi_min, xi);
    if (f.maximum) return;
    const double loss = std::max(0.0, xi);
    terms.losses += f.squared ? loss * loss : loss;
    terms.gap += std::max(term(z, xi + e, cost), term(z, xi - e, cost));
    const double gradient = f.squared ? xi - z / (2 * cost) : xi;
    const double bound = f.squared ? kInfinity : cost * kAtBound<T>;
    if (z < bound) terms.violation = std::max(terms.violation, gradient);
    if (z > 0) terms.violation = std::max(terms.violation, -gradient);
  }

  // The classes with z = 0.
  void add_rest(const double* s, std::size_t n, double offset, double e, double cost,
                Terms& terms) const {
    const Formulation& f = examples_.formulation;
    const double best = offset + largest(s, n);
    terms.xi_max = std::max(terms.xi_max, best);
    if (f.maximum || best + e <= 0) return;
    terms.losses += sum_of_losses(s, n, offset, f.squared);
    terms.gap += cost * sum_of_losses(s, n, offset + e, f.squared);
    terms.violation = std::max(terms.violation, best);
  }

  void sum_up(const Terms& terms, double e, double cost, bool has_features,
              SweepResult& result) const {
    const bool maximum = examples_.formulation.maximum;
    const double loss = cost * (maximum ? std::max(0.0, terms.xi_max) : terms.losses);
    result.loss += loss;
    if (!has_features) return;  // the loss is constant, and best z, though unseen, attain it
    double gap = terms.gap, violation = terms.violation;
    if (maximum) {
      gap = cost * std::max(0.0, terms.xi_max + e) - terms.z_dot_xi + e * terms.sum_z;
      const bool at_bound = terms.sum_z >= cost * kAtBound<T>;
      const double low = at_bound ? terms.xi_min : std::min(terms.xi_min, 0.0);
      violation = std::max(0.0, terms.xi_max) - low;
    }
    result.gap += gap < 0 ? 0 : gap;
    result.max_violation = std::max(result.max_violation, violation);
  }

  const Examples<T>& examples_;
  const CertifiedWeights& at_;
};

// Gap, loss and largest violation of rows [begin, end), W dense. Column k of W is ignored.
template <class T, class Duals>
SweepResult inspect(const Examples<T>& examples, const WeightsView<T>& w, const Duals& z,
                    const CertifiedWeights& at, Scratch<T> scratch, std::int64_t begin,
                    std::int64_t end) {
  const GapCertificate<T> certify(examples, at);
  double* const s = scratch.exact;
  SweepResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    double_scores(w, examples.x.row(i), w.stride, s);
    const std::int32_t y = examples.labels[i];
    const double s_y = y == kElsewhere ? 0 : s[y];
    std::fill(s + w.n_classes, s + w.stride, -kInfinity);
    certify.add(i, z, s_y, s, static_cast<std::size_t>(w.stride), result);
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
