#pragma once
// The subproblem of one example, for every formulation, given its scores: the new z, the gain of
// the dual objective, and the step of W. Formulas and sources: subproblem/root_finding.hpp.
#include <limits>
#include <utility>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/example_summary.hpp"
#include "subproblem/lower_root.hpp"
#include "subproblem/root_finding.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

// Largest number of classes for which a centered W itself is stored; a step changes all classes.
// With more classes, U and its mean are stored separately. In float, W itself is always stored: U
// minus its mean may lose most digits to cancellation.
template <class T>
inline constexpr std::int32_t kCentredClasses =
    sizeof(T) == 4 ? std::numeric_limits<std::int32_t>::max() : 64;

// The gain of the dual objective from a solved block, and the step of W along x_i.
struct BlockStep {
  double gain = 0;
  double sum_v = 0;  // v^T delta
  std::span<const Step> step;
};

struct BlockSlope {
  double slope = 0, ridge = 0;
};

template <class T>
class ExampleSubproblem : public ExampleSummary<T> {
 public:
  // `mean_apart`: the step of a centered W has the change of the mean in column k.
  ExampleSubproblem(const Examples<T>& examples, std::int32_t n_classes, Scratch<T> scratch,
                    bool mean_apart = false)
      : ExampleSummary<T>(examples, n_classes, scratch),
        mean_apart_(mean_apart),
        sigma_(f_.relative  ? 1.0
               : f_.centred ? -1.0 / n_classes
                            : 0.0) {}

  // The best z of example i: its block, with z_new as stored later.
  std::span<const Coordinate> solve(std::int64_t i, const BlockSummary& found) {
    const double q = examples_.norms[i];
    const double cost = examples_.costs[i];
    std::span<Coordinate> block;
    if (f_.relative && f_.maximum) {
      block = solve_crammer_singer(found, q, cost);
    } else if (examples_.factors) {
      block = solve_box(found, q,
                        FactorBox<T>{sigma_, f_.loss.ridge(cost * q), f_.loss.upper(cost),
                                     examples_.factors.exact_of(i), examples_.factors.of(i)});
    } else {
      block = solve_box(found, q, Box{sigma_, 1 + f_.loss.ridge(cost * q), f_.loss.upper(cost)});
      if (f_.maximum) cap_sum(block, found.sum_vz, sigma_, q, cost);
    }
    round(block);
    return block;
  }

  // Store a solved block as the z of example i.
  static void keep(std::span<const Coordinate> block, std::int64_t i, DualLists<T>& z) {
    std::size_t n_kept = 0;
    for (const Coordinate& c : block) n_kept += c.z_new > 0 ? 1 : 0;
    DualEntry<T>* kept = z.resize(i, n_kept).data();
    for (const Coordinate& c : block) {
      if (c.z_new > 0) *kept++ = {c.label, static_cast<T>(c.z_new)};
    }
  }

  // Slope of D along the step of a solved block, at the scores for which it was solved, and the
  // quadratic decrease of D along the step by the squared hinge.
  BlockSlope slope_of(std::int64_t i, std::span<const Coordinate> block) const {
    const ExampleCosts costs = examples_.costs_of(i);
    double slope = 0, sum_z2 = 0, squares = 0;
    for (const Coordinate& c : block) {
      const double delta = c.z_new - c.z;
      slope += delta * c.xi;
      costs.add_change(c.label, c.z_new, c.z, sum_z2);
      costs.add_change(c.label, delta, 0, squares);
    }
    const double ridge = f_.loss.regularizer(squares, costs.all);
    return {slope - (f_.loss.regularizer(sum_z2, costs.all) - ridge), ridge};
  }

  // The gain and the step of a solved block of example i.
  BlockStep step(std::int64_t i, std::span<const Coordinate> block) const {
    const ExampleCosts costs = examples_.costs_of(i);
    double gain = 0, squares = 0, sum_v = 0, sum_z2 = 0;
    std::size_t n_steps = 0;
    for (const Coordinate& c : block) {
      const double delta = c.z_new - c.z;
      if (delta == 0) continue;
      scratch_.step[n_steps++] = {c.label, f_.relative ? -delta : c.v * delta};
      gain += delta * c.xi;
      squares += delta * delta;
      sum_v += c.v * delta;
      costs.add_change(c.label, c.z_new, c.z, sum_z2);
    }
    if (n_steps == 0) return {};
    n_steps = close_step(examples_.labels[i], sum_v, n_steps);
    const double ridge = f_.loss.regularizer(sum_z2, costs.all);
    gain -= 0.5 * examples_.norms[i] * (squares + sigma_ * sum_v * sum_v) + ridge;
    return {gain, sum_v, {scratch_.step, n_steps}};
  }

 private:
  static constexpr auto kL = static_cast<std::int32_t>(kLanes<T>);
  static constexpr std::int32_t kClassesAtOnce = 4 * kL;

  std::span<Coordinate> solve_crammer_singer(const BlockSummary& found, double q, double cost) {
    const Reference from = largest_b({scratch_.block, found.size}, found.xi_others, q);
    const double b_max = from.z + found.sum_z + from.xi / q;
    const std::span<Coordinate> some(scratch_.block, found.size);
    set_b(some, from, q);
    const double lowest = found.xi_others == -kInfinity
                              ? simplex_root_of(0, 1, b_max, cost)
                              : lower_simplex_root(some, others(found, q), from, b_max, cost);
    const double xi_wanted = from.xi + q * (lowest + from.z);
    const std::size_t size = add_others(found, xi_wanted);
    const std::span<Coordinate> block(scratch_.block, size);
    set_b(block, from, q);
    project(block, simplex_root(block, b_max, cost));
    return block;
  }

  // Sum formulations, and maximum formulations while their sum is below its bound.
  template <class AnyBox>
  std::span<Coordinate> solve_box(const BlockSummary& found, double q, const AnyBox& box) {
    const auto set_b = [&](std::span<Coordinate> block) {
      for (Coordinate& c : block) c.b = c.z + sigma_ * c.v * found.sum_vz + c.xi / q;
    };
    double t = found.sum_vz;
    double xi_wanted = sigma_ < 0 ? -kInfinity : 0;
    if (sigma_ > 0 && found.xi_others > -q * t) {
      // The root for some coordinates is a lower bound: the classes below it stay at zero.
      const std::int32_t best = box.has_classes ? class_of_best(found) : 0;
      scratch_.block[found.size] = {best, 0, found.xi_others, 1, 0, 0};
      const std::span<Coordinate> some(scratch_.block, found.size + 1);
      set_b(some);
      t = box_root(some, box, t);
      t = lower_box_root(some.first(found.size), others(found, q), box, found.sum_vz, t);
      xi_wanted = q * (t - found.sum_vz);
    }
    const std::size_t size = add_others(found, xi_wanted);
    const std::span<Coordinate> block(scratch_.block, size);
    set_b(block);
    if (sigma_ != 0) t = box_root(block, box, t);
    for (Coordinate& c : block) c.z_new = box.z(c, t);
    return block;
  }

  // The first class whose xi is xi_others.
  std::int32_t class_of_best(const BlockSummary& found) const {
    std::int32_t c = 0;
    while (found.offset + static_cast<double>(scratch_.scores[c]) < found.xi_others) ++c;
    return c;
  }

  OtherScores<T> others(const BlockSummary& found, double q) const {
    const std::size_t padded = (n_classes_ + kL - 1) / kL * kL;
    return {scratch_.scores, padded, found.offset, q};
  }

  // Append the classes c != y with z = 0 and xi >= xi_wanted.
  std::size_t add_others(const BlockSummary& found, double xi_wanted) {
    std::size_t size = found.size;
    if (found.xi_others == -kInfinity || !(found.xi_others >= xi_wanted)) return size;
    const auto best_xi = [&](std::int32_t first, std::int32_t end) {
      const auto padded = (end - first + kL - 1) / kL * kL;
      return found.offset + static_cast<double>(largest(scratch_.scores + first, padded));
    };
    // Most runs and most vectors of classes have no xi above xi_wanted; padding is -inf.
    for (std::int32_t first = 0; first < n_classes_; first += kClassesAtOnce) {
      const std::int32_t end = std::min(first + kClassesAtOnce, n_classes_);
      if (best_xi(first, end) < xi_wanted) continue;
      for (std::int32_t begin = first; begin < end; begin += kL) {
        if (best_xi(begin, begin + kL) < xi_wanted) continue;
        size = add_lanes(found, begin, std::min(begin + kL, end), xi_wanted, size);
      }
    }
    return size;
  }

  std::size_t add_lanes(const BlockSummary& found, std::int32_t first, std::int32_t end,
                        double xi_wanted, std::size_t size) {
    for (std::int32_t c = first; c < end; ++c) {
      // In double, like xi_others: if x is tiny, slacks differ by less than the precision of T.
      const double xi = found.offset + static_cast<double>(scratch_.scores[c]);
      if (xi >= xi_wanted && xi != -kInfinity) scratch_.block[size++] = {c, 0, xi, v_others_, 0, 0};
    }
    return size;
  }

  // Round to T. A z that is tiny relative to the largest z is noise of the scores and becomes 0;
  // otherwise it would count as a violation.
  static void round(std::span<Coordinate> block) {
    double largest_z = 0;
    for (const Coordinate& c : block) largest_z = std::max(largest_z, c.z_new);
    const double noise = largest_z * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (Coordinate& c : block) {
      const T rounded = static_cast<T>(c.z_new);
      c.z_new = static_cast<double>(rounded > noise ? rounded : T{0});
    }
  }

  // Append the part of a step that does not belong to one coordinate; `sum_v` is v^T delta.
  std::size_t close_step(std::int32_t y, double sum_v, std::size_t n_steps) const {
    if (f_.relative) scratch_.step[n_steps++] = {y, sum_v};
    if (!f_.centred) return n_steps;
    const double mean = sum_v / n_classes_;
    if (mean_apart_) {
      scratch_.step[n_steps++] = {n_classes_, mean};
      return n_steps;
    }
    return centre_step(mean, n_steps);
  }

  // Subtract the mean from every class.
  std::size_t centre_step(double mean, std::size_t n_steps) const {
    for (std::size_t m = 0; m < n_steps; ++m) {
      scratch_.dense_step[scratch_.step[m].label] = 1;
      scratch_.step[m].delta -= mean;
    }
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      if (scratch_.dense_step[c] == 0) scratch_.step[n_steps++] = {c, -mean};
      scratch_.dense_step[c] = 0;
    }
    return n_steps;
  }

 protected:
  using ExampleSummary<T>::examples_;
  using ExampleSummary<T>::f_;
  using ExampleSummary<T>::n_classes_;
  using ExampleSummary<T>::scratch_;
  using ExampleSummary<T>::v_others_;
  bool mean_apart_;
  double sigma_;
};

}  // namespace manyclass::MANYCLASS_ISA
