#pragma once
// Visits where two bundles of classes meet, for Weston-Watkins: z_{i,c} reads and changes w_{y_i}
// and w_c alone, so the z that the examples of the two bundles have in them can move while all
// other z are fixed. Each visit solves those of one example exactly (block.hpp). Given, changed and
// returned: as for dual_sweep.hpp. Sources: Alber et al. 2017, algorithms 3 and 4, there one class
// at a time.
#include <limits>

#include "dual_sweep.hpp"
#include "pairs.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class PairVisitor : public Visitor<T> {
 public:
  PairVisitor(const Examples<T>& examples, const PairView<T>& pair, Scratch<T> scratch)
      : Visitor<T>(examples, pair.w, scratch), pair_(pair) {}

  // All classes of the two bundles, y_i among them.
  Found look_at_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    this->w_.scores(examples_.x.row(i), scratch_.scores);
    return find(i, z, scratch_.scores[examples_.labels[i]]);
  }

  // The same for any y_i.
  Found look_from(std::int64_t i, std::span<const DualEntry<T>> z, T s_y) {
    this->w_.scores(examples_.x.row(i), scratch_.scores);
    return find(i, z, s_y);
  }

 private:
  using ExampleBlock<T>::examples_;
  using ExampleBlock<T>::scratch_;
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  Found find(std::int64_t i, std::span<const DualEntry<T>> z, T s_y) {
    T* s = scratch_.scores;
    const std::int32_t y = examples_.labels[i];
    if (y != kElsewhere) s[y] = kNone;
    std::fill(s + pair_.n_classes[0], s + pair_.width, kNone);
    std::fill(s + pair_.width + pair_.n_classes[1], s + 2 * pair_.width, kNone);
    Found found = this->begin(static_cast<double>(s_y), 0);
    for (const DualEntry<T>& entry : z) {
      this->add_other(entry, static_cast<double>(s[entry.label]), examples_.costs[i], found);
      s[entry.label] = kNone;
    }
    this->add_rest(static_cast<std::size_t>(pair_.w.stride), found);
    return found;
  }

  const PairView<T>& pair_;
};

template <bool kShrunk, class T>
SweepResult pair_sweep(const Examples<T>& examples, const PairView<T>& pair, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  PairVisitor<T> visitor(examples, pair, scratch);
  return sweep_by<kShrunk>(visitor, examples, pair.w, z, order, min_gap, active);
}

template <class T>
void own_scores(const Examples<T>& examples, const PairView<T>& pair,
                std::span<const std::int32_t> rows, T* out) {
  const DenseWeights<T> w{pair.w.data, pair.w.n_features, pair.w.n_classes, pair.w.stride};
  for (const std::int32_t i : rows) {
    w.scores_of(examples.x.row(i), std::span<const std::int32_t>(examples.labels + i, 1), out + i);
  }
}

template <class T>
SweepResult inspect_pair(const Examples<T>& examples, const PairView<T>& pair, const T* own_scores,
                         const DualLists<T>& z, Scratch<T> scratch, std::int64_t begin,
                         std::int64_t end) {
  PairVisitor<T> visitor(examples, pair, scratch);
  SweepResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    visitor.judge(i, visitor.look_from(i, z.row(i), own_scores[i]), result);
  }
  return result;
}

template <class T>
void add_rows(const Examples<T>& examples, const PairView<T>& pair, const DualLists<T>& a,
              Scratch<T> scratch, std::int64_t begin, std::int64_t end) {
  const DenseWeights<T> w{pair.w.data, pair.w.n_features, pair.w.n_classes, pair.w.stride};
  for (std::int64_t i = begin; i < end; ++i) {
    std::size_t size = 0;
    for (const DualEntry<T>& entry : a.row(i)) {
      scratch.step[size++] = {entry.label, static_cast<double>(entry.value)};
    }
    if (size > 0) w.add(examples.x.row(i), {scratch.step, size}, scratch.dense_step);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
