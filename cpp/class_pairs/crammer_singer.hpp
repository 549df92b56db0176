#pragma once
// Visits on a pair of class blocks, for Crammer-Singer. The dual in shares of the budgets C_i;
// y_i has the share that the other classes leave:
//
//   max_z  D(z) = sum_i sum_{c != y_i} z_ic - 1/2 ||W(z)||^2    s.t.  z_ic >= 0, sum_c z_ic = C_i
//   w_c(z) = sum_i (C_i [c = y_i] - z_ic) x_i,   dD / dz_ic = a_ic = [c != y_i] + w_c . x_i
//
// Therefore z_{i,c} reads and changes only w_c, whether or not c is y_i. A pair of class blocks may
// redistribute the share of an example in their classes while other ranks redistribute the rest.
// The sum stays C_i. The block of one example, divided by q_i = ||x_i||^2, is a projection:
//
//   min_z  1/2 ||z - b||^2    s.t.  z >= 0, sum z = mass;     b = z_old + a / q
//
// Given: examples (x_i != 0), z of the classes of both class blocks, W(z). Each visit solves one
// block exactly and updates W. Base scores, 0 at y_i, are added to a_ic. Source: Keerthi et al.
// 2008, sec. 2 (the block over all classes; a_ic = g^c, and z_ic = C_i [c = y_i] - alpha_i^c).
#include <limits>
#include <utility>

#include "class_pairs/pair_weights.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "subproblem/base_rows.hpp"
#include "subproblem/entering_classes.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/root_finding.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class View>
class ShareVisitor {
 public:
  ShareVisitor(const Examples<T>& examples, const View& pair, Scratch<T> scratch)
      : examples_(examples), pair_(pair), scratch_(scratch), w_(pair, scratch.carry) {}

  struct ShareSummary {
    std::size_t size = 0;        // coordinates in the block so far
    double mass = 0;             // sum_c z_c
    double z_dot_a = 0;          // sum_c z_c a_c
    double a_max = -kInfinity;   // largest a
    double a_rest = -kInfinity;  // largest a of the scored classes that are not coordinates
    double a_min = kInfinity;    // smallest a with z > 0

    double gap() const { return mass * a_max - z_dot_a; }
    double violation() const { return a_max - a_min; }
  };

  // Score the classes with z > 0, and all classes of the class blocks in the slots `scored` (bit s:
  // slot s). All classes of a slot with many z > 0 are scored, too, because this is cheaper.
  ShareSummary score(std::int64_t i, std::span<const DualEntry<T>> z, unsigned scored,
                     std::int64_t& n_scores) {
    ShareSummary found;
    for (int slot = 0; slot < 2; ++slot) {
      const std::size_t size = list(z, slot);
      if (scored >> slot & 1 || !w_.gathers(size)) {
        n_scores += pair_.n_classes[slot];
        score_all(i, z, slot, found);
      } else {
        n_scores += static_cast<std::int64_t>(size);
        score_support_of(i, z, slot, size, found);
      }
    }
    return found;
  }

  // Solve the block of example i, update z and W. Returns the gain of the dual objective.
  double move(std::int64_t i, ShareSummary found, DualLists<T>& z) {
    if constexpr (PairWeights<T, View>::kFewEnter) enter(n_entering(z.row(i).size()), found);
    const std::span<Coordinate> block = solve(found, examples_.norms[i]);
    round(block, found.mass);
    ExampleSubproblem<T>::keep(block, i, z);
    double gain = 0, squares = 0;
    std::size_t n_steps = 0;
    for (const Coordinate& c : block) {
      const double delta = c.z_new - c.z;
      if (delta == 0) continue;
      scratch_.step[n_steps++] = {c.label, -delta};
      gain += delta * (c.xi - found.a_max);  // as the deltas sum to zero
      squares += delta * delta;
    }
    if (n_steps > 0) w_.add(examples_.x.row(i), {scratch_.step, n_steps}, scratch_.dense_step);
    return gain - 0.5 * examples_.norms[i] * squares;
  }

 private:
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  std::int32_t first(int slot) const { return slot * pair_.width; }
  bool is_in(std::int32_t column, int slot) const {
    return first(slot) <= column && column < first(slot) + pair_.width;
  }
  // Write the classes of a slot with z > 0 to the scratch; returns the number of classes.
  std::size_t list(std::span<const DualEntry<T>> z, int slot) const {
    std::size_t size = 0;
    for (const DualEntry<T>& entry : z) {
      if (is_in(entry.label, slot)) scratch_.labels[size++] = entry.label;
    }
    return size;
  }

  void score_all(std::int64_t i, std::span<const DualEntry<T>> z, int slot, ShareSummary& found) {
    T* s = scratch_.scores + first(slot);
    w_.scores(examples_.x.row(i), slot, s);
    add_base(examples_.base, i, first(slot), first(slot) + pair_.n_classes[slot], s);
    std::fill(s + pair_.n_classes[slot], s + pair_.width, kNone);
    const std::int32_t y = examples_.labels[i];
    const auto take = [&](std::int32_t label, T value) {
      const T score = std::exchange(s[label - first(slot)], kNone);
      if (score != kNone) add_coordinate(label, static_cast<double>(value), score, y, found);
    };
    for (const DualEntry<T>& entry : z) {
      if (is_in(entry.label, slot)) take(entry.label, entry.value);
    }
    if (y != kElsewhere && is_in(y, slot)) take(y, 0);  // unless it was among them
    const T best = largest(s, pair_.width);
    found.a_rest = std::max(found.a_rest, 1 + static_cast<double>(best));
    found.a_max = std::max(found.a_max, found.a_rest);
  }

  void score_support_of(std::int64_t i, std::span<const DualEntry<T>> z, int slot, std::size_t size,
                        ShareSummary& found) {
    T* s = scratch_.scores + first(slot);
    w_.scores_of(examples_.x.row(i), slot, {scratch_.labels, size}, s);
    if (examples_.base) {
      for (std::size_t m = 0; m < size; ++m) s[m] += base_of(examples_.base, i, scratch_.labels[m]);
    }
    for (const DualEntry<T>& entry : z) {
      if (!is_in(entry.label, slot)) continue;
      add_coordinate(entry.label, static_cast<double>(entry.value), *s++, examples_.labels[i],
                     found);
    }
    std::fill(scratch_.scores + first(slot), scratch_.scores + first(slot) + pair_.width, kNone);
  }

  void add_coordinate(std::int32_t label, double z, T score, std::int32_t y, ShareSummary& found) {
    const double a = static_cast<double>(score) + (label == y ? 0 : 1);
    scratch_.block[found.size++] = {label, z, a, -1, 0, 0};
    found.mass += z;
    found.z_dot_a += z * a;
    found.a_max = std::max(found.a_max, a);
    if (z > 0) found.a_min = std::min(found.a_min, a);
  }

  // Add only the classes with the largest a to the block
  // (subproblem/entering_classes.hpp).
  void enter(std::size_t wanted, ShareSummary& found) {
    if (found.a_rest == -kInfinity) return;
    const std::size_t n = 2 * pair_.width;
    const std::size_t size = largest_scores(scratch_.scores, n, 0, std::min(wanted, n), w_.best());
    for (std::size_t m = 0; m < size; ++m) {
      const Scored<T>& next = w_.best()[m];
      add_coordinate(next.label, 0, next.score, kElsewhere, found);
    }
    found.a_rest = -kInfinity;
  }

  // The best z of the block. b is measured from its largest value (subproblem/root_finding.hpp).
  std::span<Coordinate> solve(const ShareSummary& found, double q) {
    const Reference from = largest_b({scratch_.block, found.size}, found.a_rest, q);
    // The largest b alone bounds the root from below; z stays zero unless its b exceeds the bound.
    const std::size_t size = take_rest(found, from.xi + q * (from.z - found.mass));
    const std::span<Coordinate> block(scratch_.block, size);
    set_b(block, from, q);
    project(block, projection_root(block, found.mass));
    return block;
  }

  // Append the scored classes with z = 0 and a > a_wanted.
  std::size_t take_rest(const ShareSummary& found, double a_wanted) {
    std::size_t size = found.size;
    if (!(found.a_rest > a_wanted)) return size;
    for (std::int32_t c = 0; c < 2 * pair_.width; ++c) {
      const double a = 1 + static_cast<double>(scratch_.scores[c]);
      if (a > a_wanted) scratch_.block[size++] = {c, 0, a, -1, 0, 0};
    }
    return size;
  }

  // Round to T, and set noise relative to the mass to zero. The rounding error is added to the
  // largest z, so that the sum stays the same.
  static void round(std::span<Coordinate> block, double mass) {
    const double noise = mass * static_cast<double>(std::numeric_limits<T>::epsilon());
    Coordinate* most = &block[0];
    double sum = 0;
    for (Coordinate& c : block) {
      c.z_new = c.z_new > noise ? static_cast<double>(static_cast<T>(c.z_new)) : 0;
      sum += c.z_new;
      if (c.z_new > most->z_new) most = &c;
    }
    most->z_new = static_cast<double>(static_cast<T>(most->z_new + (mass - sum)));
  }

  const Examples<T>& examples_;
  const View& pair_;
  Scratch<T> scratch_;
  PairWeights<T, View> w_;
};

// Visit the examples `order`, each over its z > 0 and all classes of the slots in scored[i], or
// only over its z > 0 if `scored` is null. Examples with at least two z > 0 stay active.
template <class T, class View>
SweepResult trade_shares(const Examples<T>& examples, const View& pair, DualLists<T>& z,
                         Scratch<T> scratch, std::span<const std::int32_t> order,
                         const std::uint8_t* scored, std::int32_t* active) {
  ShareVisitor<T, View> visitor(examples, pair, scratch);
  SweepResult result;
  for (const std::int32_t i : order) {
    const std::span<const DualEntry<T>> shares = std::as_const(z).row(i);
    if (shares.empty()) continue;
    const auto found = visitor.score(i, shares, scored ? scored[i] : 0, result.evaluations);
    result.gap += found.gap();
    const double violation = found.violation();
    result.max_violation = std::max(result.max_violation, violation);
    if (violation > 0) {
      result.dual_gain += visitor.move(i, found, z);
      ++result.steps;
    }
    if (std::as_const(z).row(i).size() > 1) active[result.n_active++] = i;
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
