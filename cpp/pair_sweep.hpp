#pragma once
// Visits of the examples of one bundle of classes against the classes of another (or the same), for
// Weston-Watkins: z_{i,c} reads and changes w_{y_i} and w_c alone, so the z of an example splits by
// bundles into blocks, each solved exactly (block.hpp) while the others are fixed.
// Given, changed and returned: as for dual_sweep.hpp. Source: Alber et al. 2017, algorithm 3, there
// one class at a time.
#include <limits>
#include <utility>

#include "certificate.hpp"
#include "dual_sweep.hpp"
#include "pairs.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class PairVisitor : public ExampleBlock<T> {
 public:
  PairVisitor(const Examples<T>& examples, const PairView<T>& pair, Scratch<T> scratch)
      : ExampleBlock<T>(examples, pair.others.n_classes, scratch),
        own_{pair.own.data, pair.own.n_features, pair.own.n_classes, pair.own.stride},
        others_{pair.others.data, pair.others.n_features, pair.others.n_classes,
                pair.others.stride},
        one_(pair.one()) {}

  // All classes of the other bundle.
  Found look_at_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    T* s = scratch_.scores;
    others_.scores(examples_.x.row(i), s);
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    const std::int32_t y = examples_.labels[i];
    const double s_y = one_ ? static_cast<double>(s[y]) : own_score(i);
    if (one_) s[y] = kNone;
    for (std::int64_t c = others_.n_classes; c < others_.stride; ++c) s[c] = kNone;
    Found found = this->begin(s_y, 0);
    for (const DualEntry<T>& entry : z) {
      this->add_other(entry, static_cast<double>(s[entry.label]), examples_.costs[i], found);
      s[entry.label] = kNone;
    }
    this->add_rest(static_cast<std::size_t>(others_.stride), found);
    return found;
  }

  // Only the classes with z > 0.
  Found look_at_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    for (std::size_t m = 0; m < z.size(); ++m) scratch_.labels[m] = z[m].label;
    T* s = scratch_.scores;
    others_.scores_of(examples_.x.row(i), std::span<const std::int32_t>(scratch_.labels, z.size()),
                      s);
    Found found = this->begin(own_score(i), 0);
    for (std::size_t m = 0; m < z.size(); ++m) {
      this->add_other(z[m], static_cast<double>(s[m]), examples_.costs[i], found);
    }
    return found;
  }

  // Solve the block of example i, move z and W. Returns the gain of the dual objective.
  double move(std::int64_t i, const Found& found, DualLists<T>& z) {
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const Solved solved = this->step(i, block);
    add(i, solved.step);
    return solved.gain;
  }

  // W += the step along x_i, whose last entry is that of y_i.
  void add(std::int64_t i, std::span<const Step> step) const {
    if (step.empty()) return;
    const Row<T> row = examples_.x.row(i);
    others_.add(row, step.first(step.size() - 1), scratch_.dense_step);
    own_.add(row, step.last(1), nullptr);  // one class needs no dense step
  }

 private:
  using ExampleBlock<T>::examples_;
  using ExampleBlock<T>::scratch_;

  double own_score(std::int64_t i) const {
    T s_y;
    own_.scores_of(examples_.x.row(i), std::span<const std::int32_t>(examples_.labels + i, 1),
                   &s_y);
    return static_cast<double>(s_y);
  }

  DenseWeights<T> own_;
  DenseWeights<T> others_;
  bool one_;
};

template <bool kShrunk, class T>
SweepResult pair_sweep(const Examples<T>& examples, const PairView<T>& pair, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  PairVisitor<T> visitor(examples, pair, scratch);
  return sweep_by<kShrunk>(visitor, examples, pair.others, z, order, min_gap, active);
}

// The part of loss, gap and violation that rows [begin, end) have with the classes of the other
// bundle: the sums over all pairs are those of the problem.
template <class T>
SweepResult inspect_pair(const Examples<T>& examples, const PairView<T>& pair,
                         const DualLists<T>& z, Scratch<T> scratch, std::int64_t begin,
                         std::int64_t end) {
  PairVisitor<T> visitor(examples, pair, scratch);
  return inspect_by(visitor, examples, z, begin, end);
}

// W of both bundles += W(z) of rows [begin, end).
template <class T>
void add_pair(const Examples<T>& examples, const PairView<T>& pair, const DualLists<T>& z,
              Scratch<T> scratch, std::int64_t begin, std::int64_t end) {
  const PairVisitor<T> visitor(examples, pair, scratch);
  for (std::int64_t i = begin; i < end; ++i) visitor.add(i, visitor.step_of(i, z.row(i)));
}

}  // namespace manyclass::MANYCLASS_ISA
