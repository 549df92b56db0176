#pragma once
// Losses, violation, gap and block coordinates of one example from its scores, for every
// formulation. Formulas: subproblem/root_finding.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/base_rows.hpp"
#include "subproblem/root_finding.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class ExampleSummary {
 public:
  ExampleSummary(const Examples<T>& examples, std::int32_t n_classes, Scratch<T> scratch)
      : examples_(examples),
        f_(examples.formulation),
        n_classes_(n_classes),
        scratch_(scratch),
        v_others_(f_.relative ? 1 : -1) {}

  BlockSummary begin(double s_y, double centre) const {
    BlockSummary found;
    const Slacks slacks(f_, s_y, centre);
    found.offset = slacks.offset();
    found.xi_own = slacks.own();
    return found;
  }

  void add_other(const DualEntry<T>& entry, double score, const ExampleCosts& costs,
                 BlockSummary& found) {
    const double xi = found.offset + score;
    add_coordinate({entry.label, static_cast<double>(entry.value), xi, v_others_, 0, 0}, costs,
                   found);
  }

  void add_own(std::int32_t y, double z, const ExampleCosts& costs, BlockSummary& found) {
    add_coordinate({y, z, found.xi_own, 1, 0, 0}, costs, found);
  }

  // The block of example i from the scores of all classes in scratch.scores, which has `stride`
  // numbers, -inf after the classes. `centre` is subtracted from all scores. Sets scores that were
  // used to -inf.
  BlockSummary summarize(std::int64_t i, std::span<const DualEntry<T>> z, double centre,
                         std::int64_t stride) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    T* s = scratch_.scores;
    const std::int32_t y = examples_.labels[i];
    add_base(examples_.base, i, 0, n_classes_, s);
    const double s_y = y == kElsewhere ? 0 : static_cast<double>(s[y]);
    for (std::int64_t c = n_classes_; c < stride; ++c) s[c] = kNone;
    if (y != kElsewhere) s[y] = kNone;
    const ExampleCosts costs = examples_.costs_of(i);
    BlockSummary found = begin(s_y, centre);
    double z_own = 0;
    for (const DualEntry<T>& entry : z) {
      if (entry.label == y) {
        z_own = static_cast<double>(entry.value);
      } else {
        add_other(entry, static_cast<double>(s[entry.label]), costs, found);
        s[entry.label] = kNone;
      }
    }
    if (f_.own && y != kElsewhere) add_own(y, z_own, costs, found);
    if (f_.others) add_rest(s, stride, found, examples_.factors.of(i));
    return found;
  }

  // List the classes with z > 0, and y, for summarize_support; returns the number of classes.
  std::size_t list_support(std::int64_t i, std::span<const DualEntry<T>> z) const {
    const std::int32_t y = examples_.labels[i];
    std::size_t size = 0;
    for (const DualEntry<T>& entry : z) scratch_.labels[size++] = entry.label;
    scratch_.labels[size] = y == kElsewhere ? 0 : y;
    return size + 1;
  }

  // The block of only the classes with z > 0. scratch.scores has their scores, then the score of y.
  BlockSummary summarize_support(std::int64_t i, std::span<const DualEntry<T>> z, double centre) {
    T* s = scratch_.scores;
    const std::int32_t y = examples_.labels[i];
    if (examples_.base) {
      for (std::size_t m = 0; m <= z.size(); ++m) {
        s[m] += base_of(examples_.base, i, scratch_.labels[m]);
      }
    }
    const double s_y = static_cast<double>(s[z.size()]);
    const ExampleCosts costs = examples_.costs_of(i);
    BlockSummary found = begin(s_y, centre);
    double z_own = 0;
    for (std::size_t m = 0; m < z.size(); ++m) {
      if (z[m].label == y) {
        z_own = static_cast<double>(z[m].value);
      } else {
        add_other(z[m], static_cast<double>(s[m]), costs, found);
      }
    }
    if (f_.own && y != kElsewhere) add_own(y, z_own, costs, found);
    return found;
  }

  // Add the classes with z = 0, whose scores are the n scores that are not -inf; n is a multiple of
  // the lanes. `factors` are the factors of the classes (data/examples.hpp), or null.
  void add_rest(const T* s, std::size_t n, BlockSummary& found, const T* factors = nullptr) const {
    const double best = found.offset + static_cast<double>(largest(s, n));
    found.xi_others = std::max(found.xi_others, best);
    found.xi_max = std::max(found.xi_max, best);
    if (f_.maximum || best <= 0) return;
    const T offset = static_cast<T>(found.offset);
    found.losses += factors ? sum_of_losses(s, n, offset, f_.loss, factors)
                            : sum_of_losses(s, n, offset, f_.loss);
    found.violation = std::max(found.violation, best);
  }

  void add_coordinate(const Coordinate& c, const ExampleCosts& costs, BlockSummary& found) {
    scratch_.block[found.size++] = c;
    found.sum_z += c.z;
    found.sum_vz += c.v * c.z;
    found.z_dot_xi += c.z * c.xi;
    found.xi_max = std::max(found.xi_max, c.xi);
    if (c.z > 0) found.xi_min = std::min(found.xi_min, c.xi);
    if (f_.maximum) return;
    costs.add_loss(c.label, f_.loss(c.xi), found.losses);
    costs.add_square(c.label, c.z, found.squares);
    found.violation = std::max(found.violation, violation(c, costs.of(c.label)));
  }

  // The violation of one coordinate of a sum formulation (Keerthi et al. 2008, eq. 18).
  double violation(const Coordinate& c, double cost) const {
    const double gradient = f_.loss.gradient(c.z, c.xi, cost);
    if (c.z <= 0) return std::max(0.0, gradient);
    if (c.z >= f_.loss.upper(cost) * kAtBound<T>) return std::max(0.0, -gradient);
    return std::abs(gradient);
  }

  // Add an example to the sums; returns its violation v_i.
  double tally(const BlockSummary& found, double cost, SweepResult& result) const {
    const double loss = cost * (f_.maximum ? std::max(0.0, found.xi_max) : found.losses);
    double v = found.violation;
    if (f_.maximum) {
      const double low =
          found.sum_z >= cost * kAtBound<T> ? found.xi_min : std::min(found.xi_min, 0.0);
      v = std::max(0.0, std::max(found.xi_max, 0.0) - low);
    }
    result.loss += loss;
    result.gap += loss - found.z_dot_xi + f_.loss.regularizer(found.squares, cost);
    result.max_violation = std::max(result.max_violation, v);
    return v;
  }

  // An example stays active while its z could still change within its non-zero entries.
  bool is_active(std::span<const DualEntry<T>> z, const ExampleCosts& costs) const {
    if (f_.maximum && z.size() != 1) return !z.empty();
    const double of_all = f_.loss.upper(costs.all) * kAtBound<T>;
    for (const DualEntry<T>& entry : z) {
      const double bound = costs.factors ? of_all * costs.factors[entry.label] : of_all;
      if (static_cast<double>(entry.value) < bound) return true;
    }
    return false;
  }

 protected:
  std::size_t n_classes() const { return n_classes_; }

  const Examples<T>& examples_;
  const Formulation& f_;
  std::int32_t n_classes_;
  Scratch<T> scratch_;
  double v_others_;
};

}  // namespace manyclass::MANYCLASS_ISA
