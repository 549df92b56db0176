#pragma once
// Visits on a pair of class blocks, for Weston-Watkins. z_{i,c} reads and changes only w_{y_i} and
// w_c, so the z of the pair's examples in the pair's classes can change while all other z are
// fixed. Each visit solves for the z of one example exactly (subproblem/root_finding.hpp); with W
// in hash tables, over the few classes that may enter (subproblem/entering_classes.hpp). Input and
// output are the same as in dual/dense_sweep.hpp. Sources: Alber et al. 2017, algorithms 3 and
// 4, which update one class at a time.
#include <limits>
#include <utility>

#include "class_pairs/pair_weights.hpp"
#include "data/examples.hpp"
#include "dual/dense_sweep.hpp"
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
class PairVisitor : public ExampleSubproblem<T> {
 public:
  PairVisitor(const Examples<T>& examples, const View& pair, Scratch<T> scratch)
      : ExampleSubproblem<T>(examples, 2 * pair.width, scratch),
        pair_(pair),
        w_(pair, scratch.carry) {}

  // All classes of the other block. In the own block all classes, or only the classes with z > 0,
  // which are then excluded from the losses, the gap and the squares.
  BlockSummary score_all(std::int64_t i, std::span<const DualEntry<T>> z, std::int64_t& n_scores) {
    const int own = examples_.labels[i] / pair_.width;
    BlockSummary found;
    score_slot(i, z, own, pair_.own_too || !gathers(z, own), found, n_scores);
    if (!pair_.own_too) found.losses = found.z_dot_xi = found.squares = 0;
    score_slot(i, z, 1 - own, true, found, n_scores);
    return found;
  }

  // Only the classes with z > 0, if this is cheaper than all classes of a slot.
  BlockSummary score_support(std::int64_t i, std::span<const DualEntry<T>> z,
                             std::int64_t& n_scores) {
    const int own = examples_.labels[i] / pair_.width;
    BlockSummary found;
    score_slot(i, z, own, !gathers(z, own), found, n_scores);
    score_slot(i, z, 1 - own, !gathers(z, 1 - own), found, n_scores);
    return found;
  }

  // Solve the block of example i, update z and W. Returns the gain of the dual objective.
  double move(std::int64_t i, BlockSummary found, DualLists<T>& z) {
    if constexpr (PairWeights<T, View>::kFewEnter) enter(i, n_entering(z.row(i).size()), found);
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    if (!solved.step.empty()) w_.add(examples_.x.row(i), solved.step, scratch_.dense_step);
    return solved.gain;
  }

 private:
  using ExampleSubproblem<T>::examples_;
  using ExampleSubproblem<T>::scratch_;
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  std::int32_t first(int slot) const { return slot * pair_.width; }
  T* scores_of(int slot) const { return scratch_.scores + first(slot); }
  bool is_in(std::int32_t label, int slot) const {
    return first(slot) <= label && label < first(slot) + pair_.width;
  }
  bool is_own(std::int64_t i, int slot) const { return is_in(examples_.labels[i], slot); }
  bool gathers(std::span<const DualEntry<T>> z, int slot) const {
    std::size_t size = 1;
    for (const DualEntry<T>& entry : z) size += is_in(entry.label, slot) ? 1 : 0;
    return w_.gathers(size);
  }

  // The own slot is scored first because it starts the summary.
  void score_slot(std::int64_t i, std::span<const DualEntry<T>> z, int slot, bool all,
                  BlockSummary& found, std::int64_t& n_scores) {
    if (!all) return score_support_of(i, z, slot, found, n_scores);
    T* s = scores_of(slot);
    n_scores += pair_.n_classes[slot];
    w_.scores(examples_.x.row(i), slot, s);
    add_base(examples_.base, i, first(slot), first(slot) + pair_.n_classes[slot], s);
    if (is_own(i, slot)) {
      T& own = s[examples_.labels[i] - first(slot)];
      found = this->begin(static_cast<double>(own), 0);
      own = kNone;
    }
    add_scored(i, z, slot, found);
  }

  // Add the classes of a slot; overwrites their scores.
  void add_scored(std::int64_t i, std::span<const DualEntry<T>> z, int slot, BlockSummary& found) {
    T* s = scores_of(slot);
    std::fill(s + pair_.n_classes[slot], s + pair_.width, kNone);
    for (const DualEntry<T>& entry : z) {
      if (!is_in(entry.label, slot)) continue;
      T& score = s[entry.label - first(slot)];
      this->add_other(entry, static_cast<double>(score), examples_.costs_of(i), found);
      score = kNone;
    }
    const T* factors = examples_.factors.of(i);
    this->add_rest(s, pair_.width, found, factors ? factors + first(slot) : nullptr);
  }

  void score_support_of(std::int64_t i, std::span<const DualEntry<T>> z, int slot,
                        BlockSummary& found, std::int64_t& n_scores) {
    T* s = scores_of(slot);
    std::size_t size = 0;
    for (const DualEntry<T>& entry : z) {
      if (is_in(entry.label, slot)) scratch_.labels[size++] = entry.label;
    }
    if (is_own(i, slot)) scratch_.labels[size++] = examples_.labels[i];
    n_scores += static_cast<std::int64_t>(size);
    w_.scores_of(examples_.x.row(i), slot, {scratch_.labels, size}, s);
    if (examples_.base) {
      for (std::size_t m = 0; m < size; ++m) s[m] += base_of(examples_.base, i, scratch_.labels[m]);
    }
    if (is_own(i, slot)) found = this->begin(static_cast<double>(s[size - 1]), 0);
    std::size_t at = 0;
    for (const DualEntry<T>& entry : z) {
      if (!is_in(entry.label, slot)) continue;
      this->add_other(entry, static_cast<double>(s[at++]), examples_.costs_of(i), found);
    }
    std::fill_n(s, pair_.width, kNone);
  }

  // Add only the most violating classes to the block.
  void enter(std::int64_t i, std::size_t wanted, BlockSummary& found) {
    if (found.xi_others == -kInfinity) return;
    const std::size_t n = 2 * pair_.width;
    wanted = std::min(wanted, n);
    const std::size_t size = largest_scores(scratch_.scores, n, 0, wanted, w_.best());
    for (std::size_t m = 0; m < size; ++m) {
      const Scored<T>& next = w_.best()[m];
      this->add_other({next.label, T{0}}, static_cast<double>(next.score), examples_.costs_of(i),
                      found);
    }
    found.xi_others = -kInfinity;
  }

  const View& pair_;
  PairWeights<T, View> w_;
};

template <bool kShrunk, class T, class View>
SweepResult pair_sweep(const Examples<T>& examples, const View& pair, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  PairVisitor<T, View> visitor(examples, pair, scratch);
  const auto score = [&](std::int64_t i, std::span<const DualEntry<T>> list, SweepResult& result) {
    return kShrunk ? visitor.score_support(i, list, result.evaluations)
                   : visitor.score_all(i, list, result.evaluations);
  };
  return visit_all(visitor, examples, z, order, min_gap, active, score);
}

}  // namespace manyclass::MANYCLASS_ISA
