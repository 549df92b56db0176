#pragma once
// One loop of the sequential dual method over given examples.
//
//   max_z  D(z) = sum_{i,c} z_ic - 1/2 ||W(z)||^2,   w_c(z) = sum_i ([c = y_i] sum_m z_im - z_ic)
//   x_i s.t.   z_ic >= 0,  sum_c z_ic <= C_i             (c != y_i; Crammer-Singer)
//
// Given: the examples (C_i > 0, x_i != 0), z and W = W(z). Each visit maximises D over the z of one
// example, exactly (block.hpp), and brings W along. Returned: sums over the visits (kernels.hpp).
// Source: Keerthi et al. 2008, sec. 2, algorithm 2.1; shrinking: sec. 2.3.
#include <limits>
#include <utility>

#include "block.hpp"
#include "kernels.hpp"
#include "weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// What a visit finds before it changes anything.
struct Found {
  std::size_t size = 0;  // coordinates in the block so far: those with z > 0
  double sum_z = 0;      // sum_c z_c
  double z_dot_g = 0;    // sum_c z_c g_c
  double s_y = 0;        // the score of the example's own class
  double g_others = -std::numeric_limits<double>::infinity();  // largest g with z = 0
  double g_max = -std::numeric_limits<double>::infinity();     // largest g
  double g_min = std::numeric_limits<double>::infinity();      // smallest g with z > 0
};

// Whether sum z is at its bound, within the rounding of the stored z.
template <class T>
inline bool at_bound(double sum_z, double cost) {
  return sum_z >= cost * (1 - 8 * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

// v_i of Keerthi et al. 2008, eq. 6; the gradient of class y is 0 when measured by g.
template <class T>
inline double violation(const Found& found, double cost) {
  const double low = at_bound<T>(found.sum_z, cost) ? found.g_min : std::min(found.g_min, 0.0);
  return std::max(0.0, std::max(found.g_max, 0.0) - low);
}

template <class T>
class Visitor {
 public:
  Visitor(const Examples<T>& examples, const WeightsView<T>& w, Scratch<T> scratch)
      : examples_(examples), w_{w.data, w.n_features, w.n_classes, w.stride}, scratch_(scratch) {}

  // All classes of example i: scores, and the block's coordinates with z > 0.
  Found look_at_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    w_.scores(examples_.x.row(i), scratch_.scores);
    T* s = scratch_.scores;
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    for (std::int64_t c = w_.n_classes; c < w_.stride; ++c) s[c] = kNone;
    const std::int32_t y = examples_.labels[i];
    Found found;
    found.s_y = static_cast<double>(s[y]);
    s[y] = kNone;
    for (const DualEntry<T>& entry : z) {
      add_coordinate(entry, s[entry.label], found);
      s[entry.label] = kNone;
    }
    found.g_others = 1 - found.s_y + static_cast<double>(largest(s, w_.stride));
    found.g_max = std::max(found.g_max, found.g_others);
    return found;
  }

  // Only the classes of example i with z > 0.
  Found look_at_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    std::size_t size = 0;
    for (const DualEntry<T>& entry : z) scratch_.labels[size++] = entry.label;
    scratch_.labels[size] = examples_.labels[i];
    w_.scores_of(examples_.x.row(i), std::span<const std::int32_t>(scratch_.labels, size + 1),
                 scratch_.scores);
    Found found;
    found.s_y = static_cast<double>(scratch_.scores[size]);
    for (const DualEntry<T>& entry : z) {
      add_coordinate(entry, scratch_.scores[found.size], found);
    }
    return found;
  }

  // Solve the block of example i, move z and W. Returns the gain of the dual objective.
  double solve(std::int64_t i, const Found& found, DualLists<T>& z) {
    const double q = examples_.norms[i];
    const double cost = examples_.costs[i];
    const auto [z_ref, g_ref] = reference(found, q);
    const double b_max = z_ref + found.sum_z + g_ref / q;
    for (std::size_t m = 0; m < found.size; ++m) {
      Coordinate& c = scratch_.block[m];
      c.b = (c.z - z_ref) + (c.g - g_ref) / q;
    }
    const double lowest = simplex_root_of(0, 1, b_max, cost);
    const double g_wanted = g_ref + q * (lowest + z_ref);
    std::size_t size = found.size;
    if (found.g_others >= g_wanted) size = add_others(found, g_wanted, z_ref, g_ref, q);
    const std::span<Coordinate> block(scratch_.block, size);
    const double theta = simplex_root(block, b_max, cost);
    return move(i, block, theta, z);
  }

 private:
  void add_coordinate(const DualEntry<T>& entry, T score, Found& found) {
    const double z = static_cast<double>(entry.value);
    const double g = 1 - found.s_y + static_cast<double>(score);
    scratch_.block[found.size++] = {entry.label, z, g, 0};
    found.sum_z += z;
    found.z_dot_g += z * g;
    found.g_max = std::max(found.g_max, g);
    found.g_min = std::min(found.g_min, g);
  }

  // z and g of the coordinate with the largest b.
  std::pair<double, double> reference(const Found& found, double q) const {
    double z_ref = 0;
    double g_ref = found.g_others;
    for (std::size_t m = 0; m < found.size; ++m) {
      const Coordinate& c = scratch_.block[m];
      if (!((c.z - z_ref) + (c.g - g_ref) / q <= 0)) {
        z_ref = c.z;
        g_ref = c.g;
      }
    }
    return {z_ref, g_ref};
  }

  // Append the classes with z = 0 and g >= g_wanted; at least one has it.
  std::size_t add_others(const Found& found, double g_wanted, double z_ref, double g_ref,
                         double q) {
    const T wanted = static_cast<T>(g_wanted - 1 + found.s_y);
    std::size_t size = found.size;
    for (std::int32_t c = 0; c < w_.n_classes; ++c) {
      if (!(scratch_.scores[c] >= wanted)) continue;
      const double g = 1 - found.s_y + static_cast<double>(scratch_.scores[c]);
      scratch_.block[size++] = {c, 0, g, -z_ref + (g - g_ref) / q};
    }
    return size;
  }

  double move(std::int64_t i, std::span<const Coordinate> block, double theta, DualLists<T>& z) {
    const double q = examples_.norms[i];
    double gain = 0;
    double sum_delta = 0;
    double squares = 0;
    std::size_t n_steps = 0;
    std::size_t n_kept = 0;
    for (const Coordinate& c : block) n_kept += static_cast<T>(c.b - theta) > 0 ? 1 : 0;
    DualEntry<T>* kept = z.resize(i, n_kept).data();
    for (const Coordinate& c : block) {
      const T z_new = static_cast<T>(std::max(0.0, c.b - theta));
      if (z_new > 0) *kept++ = {c.label, z_new};
      const double delta = static_cast<double>(z_new) - c.z;
      if (delta == 0) continue;
      scratch_.step[n_steps++] = {c.label, -delta};
      gain += delta * c.g;
      sum_delta += delta;
      squares += delta * delta;
    }
    if (n_steps == 0) return 0;
    scratch_.step[n_steps++] = {examples_.labels[i], sum_delta};
    w_.add(examples_.x.row(i), {scratch_.step, n_steps}, scratch_.dense_step);
    return gain - 0.5 * q * (squares + sum_delta * sum_delta);
  }

  const Examples<T>& examples_;
  DenseWeights<T> w_;
  Scratch<T> scratch_;
};

// Add what was found at example i to the sums; returns v_i.
template <class T>
inline double tally(const Found& found, double cost, SweepResult& result) {
  const double loss = cost * std::max(0.0, found.g_max);
  const double v = violation<T>(found, cost);
  result.loss += loss;
  result.gap += loss - found.z_dot_g;
  result.max_violation = std::max(result.max_violation, v);
  return v;
}

// An example stays active while its z could still move within its non-zero entries.
template <class T>
inline bool is_active(std::span<const DualEntry<T>> z, double cost) {
  if (z.size() == 1) return !at_bound<T>(static_cast<double>(z[0].value), cost);
  return !z.empty();
}

// kShrunk: visit the non-zero z of each example only, where that is cheaper than all classes.
template <bool kShrunk, class T>
SweepResult dual_sweep(const Examples<T>& examples, const WeightsView<T>& w, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order,
                       std::int32_t* active) {
  Visitor<T> visitor(examples, w, scratch);
  const auto few = static_cast<std::size_t>(2 * w.stride / static_cast<std::int64_t>(kLanes<T>));
  SweepResult result;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::int32_t i = order[at];
    const std::span<const DualEntry<T>> list = std::as_const(z).row(i);
    const bool gather = kShrunk && list.size() + 1 <= few;
    const Found found = gather ? visitor.look_at_support(i, list) : visitor.look_at_all(i, list);
    result.evaluations += gather ? static_cast<std::int64_t>(list.size()) + 1 : w.n_classes;
    const double cost = examples.costs[i];
    if (tally<T>(found, cost, result) > 0) {
      result.dual_gain += visitor.solve(i, found, z);
      ++result.steps;
    }
    if (is_active(std::as_const(z).row(i), cost)) active[result.n_active++] = i;
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
