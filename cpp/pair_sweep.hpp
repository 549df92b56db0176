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
  PairVisitor(const Examples<T>& examples, const PairView<T>& pair, Scratch<T> scratch,
              Against against = {true, true})
      : Visitor<T>(examples, pair.w, scratch), pair_(pair), against_(against) {}

  // All classes of the two bundles, or of one of them.
  Found look_at_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    T* s = scratch_.scores;
    this->w_.scores(examples_.x.row(i), s);
    const std::int32_t y = examples_.labels[i];
    const double s_y = static_cast<double>(s[y]);
    s[y] = kNone;
    const int own = y < pair_.width ? 0 : 1;
    hide(s, own, against_.own ? pair_.n_classes[own] : 0);
    hide(s, 1 - own, against_.other ? pair_.n_classes[1 - own] : 0);
    Found found = this->begin(s_y, 0);
    for (const DualEntry<T>& entry : z) {
      this->add_other(entry, static_cast<double>(s[entry.label]), examples_.costs[i], found);
      s[entry.label] = kNone;
    }
    this->add_rest(static_cast<std::size_t>(pair_.w.stride), found);
    return found;
  }

 private:
  using ExampleBlock<T>::examples_;
  using ExampleBlock<T>::scratch_;
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  // The columns of a slot from `first` on count for nothing.
  void hide(T* s, int slot, std::int32_t first) const {
    T* columns = s + slot * pair_.width;
    std::fill(columns + first, columns + pair_.width, kNone);
  }

  const PairView<T>& pair_;
  Against against_;
};

template <bool kShrunk, class T>
SweepResult pair_sweep(const Examples<T>& examples, const PairView<T>& pair, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  PairVisitor<T> visitor(examples, pair, scratch);
  return sweep_by<kShrunk>(visitor, examples, pair.w, z, order, min_gap, active);
}

template <class T>
SweepResult inspect_pair(const Examples<T>& examples, const PairView<T>& pair, Against against,
                         const DualLists<T>& z, Scratch<T> scratch,
                         std::span<const std::int32_t> rows) {
  PairVisitor<T> visitor(examples, pair, scratch, against);
  SweepResult result;
  for (const std::int32_t i : rows) {
    visitor.judge(i, visitor.look_at_all(i, z.row(i)), result);
  }
  return result;
}

template <class T>
void add_pair(const Examples<T>& examples, const PairView<T>& pair, const DualLists<T>& z,
              Scratch<T> scratch, std::span<const std::int32_t> rows) {
  const PairVisitor<T> visitor(examples, pair, scratch);
  for (const std::int32_t i : rows) visitor.add_duals(i, z.row(i));
}

}  // namespace manyclass::MANYCLASS_ISA
