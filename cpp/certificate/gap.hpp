#pragma once
// The duality gap in double, term by term, with a bound of the rounding error:
//
//     P - D = sum_i [C_i loss(xi_i) - z_i . xi_i + R_i] + 1/2 ||W - W(z)||^2,   xi_i at W,
//
// R_i = sum_c z_ic^2 / (4 C_i) for the squared hinge, else 0. Costs of mistakes may scale C_i for
// each class (ExampleCosts in data/examples.hpp). The equation holds for every W and feasible z.
// Every xi is known up to an error of e. Therefore gap_i = C_i loss(xi_i + e) - z_i . (xi_i - e) +
// R_i >= 0 is at least the exact term, and C_i loss(xi_i) - gap_i is at most the exact z_i . xi_i -
// R_i: P is at most the computed P plus the gap, and the computed P minus the gap is at most D. The
// rounding errors after xi are a share of each term (Higham 2002, sec. 3.1), which is added.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "certificate/double_scores.hpp"
#include "certificate/feasible.hpp"
#include "certificate/gap_sums.hpp"
#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/base_rows.hpp"
#include "subproblem/root_finding.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

// The largest error of a computed slack of an example: inner products of nnz terms, and a few more
// operations (Higham 2002, sec. 3.1). |w_c . x| <= ||w_c|| ||x||, and ||w_y|| + ||w_c|| <=
// sqrt(2) ||W||. An absolute margin has one product, and a second one with the mean if a mean is
// subtracted. `largest_base` bounds the absolute value of the base scores.
template <class T>
double slack_error(const Formulation& f, double largest_base, const Row<T>& row, double q,
                   const CertifiedWeights& at) {
  const double products = f.relative ? std::numbers::sqrt2 : at.common ? 2 : 1;
  const double size = largest_gamma(f) + 2 * largest_base + products * at.norm * std::sqrt(q);
  return kUnit * static_cast<double>(row.nnz + 8) * size;
}

// Sums over the classes of an example.
struct Terms {
  double losses = 0;       // sum of the targets' losses, times their factors
  double most_losses = 0;  // ... at xi + e
  double gap = 0;          // upper bound of the sum of C loss - z xi [+ z^2 / (4 C)]
  double n_duals = 0;
  double z_dot_xi = 0;
  double sum_z = 0;
  double xi_max = -kInfinity;
  double xi_min = kInfinity;  // smallest xi with z > 0
  double violation = 0;       // for a formulation with the sum of losses
};

template <class T>
class GapCertificate {
 public:
  GapCertificate(const Examples<T>& examples, const CertifiedWeights& at)
      : examples_(examples), at_(at) {}

  // Add the terms of example i. `s` has the scores of n columns (a multiple of the lanes), -inf for
  // columns without a class. It is overwritten. `s_y` is w_y . x, or 0 if y is elsewhere.
  template <class Duals>
  void add(std::int64_t i, const Duals& z, double s_y, double* s, std::size_t n,
           GapSums& result) const {
    const Formulation& f = examples_.formulation;
    const Row<T> row = examples_.x.row(i);
    const ExampleCosts costs = examples_.costs_of(i);
    const double q = examples_.norms[i];
    const double shift = common_score(row);
    const double e = slack_error(f, examples_.base.largest, row, q, at_);
    const std::int32_t y = examples_.labels[i];
    if (examples_.base) {
      add_base(examples_.base, i, 0, examples_.base.n_classes, s);
      if (y != kElsewhere) s_y += exact_base_of(examples_.base, i, y);
    }
    const Slacks slacks(f, s_y, shift);
    Terms terms;
    if (examples_.sets) {
      add_set(i, z, shift, e, costs, s, terms);
      add_rest(s, n, slacks.offset(), e, costs, terms);
      return sum_up(terms, e, costs.all, q > 0, result);
    }
    double z_own = 0;
    each_feasible(examples_, z, i, [&](std::int32_t c, double value) {
      if (c == y) {
        z_own = value;
      } else {
        add_class(c, value, slacks.other(s[c]), e, costs, terms);
        s[c] = -kInfinity;
      }
    });
    if (y != kElsewhere) s[y] = -kInfinity;
    if (f.own && y != kElsewhere) {
      add_class(y, z_own, slacks.own(), e, costs, terms);
    }
    if (f.others) add_rest(s, n, slacks.offset(), e, costs, terms);
    sum_up(terms, e, costs.all, q > 0, result);
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

  void add_class(std::int32_t c, double z, double xi, double e, const ExampleCosts& costs,
                 Terms& terms) const {
    const Formulation& f = examples_.formulation;
    const double cost = costs.of(c);
    ++terms.n_duals;
    terms.z_dot_xi += z * xi;
    terms.sum_z += z;
    terms.xi_max = std::max(terms.xi_max, xi);
    if (z > 0) terms.xi_min = std::min(terms.xi_min, xi);
    if (f.maximum) return;
    costs.add_loss(c, f.loss(xi), terms.losses);
    costs.add_loss(c, f.loss(xi + e), terms.most_losses);
    terms.gap += f.loss.term(z, xi + e, cost) + 2 * e * z;
    const double gradient = f.loss.gradient(z, xi, cost);
    if (z < f.loss.upper(cost) * kAtBound<T>) terms.violation = std::max(terms.violation, gradient);
    if (z > 0) terms.violation = std::max(terms.violation, -gradient);
  }

  // The classes of the set of example i, and the other classes with z > 0.
  template <class Duals>
  void add_set(std::int64_t i, const Duals& z, double shift, double e, const ExampleCosts& costs,
               double* s, Terms& terms) const {
    const auto add = [&](std::int32_t c, double value) {
      const Slacks slacks(examples_.formulation, s[c], shift);
      const double xi = examples_.owns(i, c) ? slacks.own() : slacks.other(s[c]);
      add_class(c, value, xi, e, costs, terms);
      s[c] = -kInfinity;
    };
    std::uint64_t left = examples_.sets[i];
    each_feasible(examples_, z, i, [&](std::int32_t c, double value) {
      add(c, value);
      left &= ~(std::uint64_t{1} << c);
    });
    for (; left != 0; left &= left - 1) add(std::countr_zero(left), 0);
  }

  // The classes with z = 0.
  void add_rest(const double* s, std::size_t n, double offset, double e, const ExampleCosts& costs,
                Terms& terms) const {
    const Formulation& f = examples_.formulation;
    const double best = offset + largest(s, n);
    terms.xi_max = std::max(terms.xi_max, best);
    if (f.maximum || best + e <= 0) return;
    const auto losses = [&](double from) {
      return costs.factors ? sum_of_losses(s, n, from, f.loss, costs.factors)
                           : sum_of_losses(s, n, from, f.loss);
    };
    terms.losses += losses(offset);
    const double most_losses = losses(offset + e);
    terms.most_losses += most_losses;
    terms.gap += costs.all * most_losses;
    terms.violation = std::max(terms.violation, best);
  }

  void sum_up(const Terms& terms, double e, double cost, bool has_features, GapSums& result) const {
    const bool maximum = examples_.formulation.maximum;
    const double loss = cost * (maximum ? std::max(0.0, terms.xi_max) : terms.losses);
    result.loss.add(loss);
    result.most_loss.add(cost * (maximum ? std::max(0.0, terms.xi_max + e) : terms.most_losses));
    if (!has_features) return;  // the loss is constant; the best z, although not stored, attain it
    double gap = terms.gap, violation = terms.violation;
    if (maximum) {
      gap = cost * std::max(0.0, terms.xi_max + e) - terms.z_dot_xi + e * terms.sum_z +
            rounding(terms);
      const bool at_bound = terms.sum_z >= cost * kAtBound<T>;
      const double low = at_bound ? terms.xi_min : std::min(terms.xi_min, 0.0);
      violation = std::max(0.0, terms.xi_max) - low;
    }
    result.gap.add(gap < 0 ? 0 : gap);
    result.max_violation = std::max(result.max_violation, violation);
  }

  // The rounding error of z . xi, and of the scale that makes sum z at most C.
  static double rounding(const Terms& terms) {
    if (terms.sum_z == 0) return 0;
    const double largest_xi = std::max(std::abs(terms.xi_max), std::abs(terms.xi_min));
    return kUnit * (2 * terms.n_duals + 8) * terms.sum_z * largest_xi;
  }

  const Examples<T>& examples_;
  const CertifiedWeights& at_;
};

// Gap, loss and largest violation of rows [begin, end), for dense W. Column k of W is ignored.
template <class T, class Duals>
GapSums inspect(const Examples<T>& examples, const WeightsView<T>& w, const Duals& z,
                const CertifiedWeights& at, Scratch<T> scratch, std::int64_t begin,
                std::int64_t end) {
  const GapCertificate<T> certify(examples, at);
  double* const s = scratch.exact;
  GapSums result;
  for (std::int64_t i = begin; i < end; ++i) {
    double_scores(w, examples.x.row(i), w.stride, s);
    const std::int32_t y = examples.labels[i];
    const double s_y = y == kElsewhere ? 0 : s[y];
    std::fill(s + w.n_classes, s + w.stride, -kInfinity);
    certify.add(i, z, s_y, s, w.stride, result);
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
