#pragma once
// Scores and steps of W of a pair of class blocks, dense or in hash tables. Models WeightAccess;
// a part is a slot. Labels are columns (class_pairs/pair_kernels.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "class_pairs/pair_kernels.hpp"
#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/entering_classes.hpp"
#include "weights/dense_weights.hpp"
#include "weights/hash_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class View>
class PairWeights;

template <class T>
class PairWeights<T, PairView<T>> {
 public:
  static constexpr bool kFewEnter = false;

  // `carry` has the low digits of the intercepts, or is null.
  PairWeights(const PairView<T>& pair, T* carry)
      : pair_(pair),
        both_{pair.w.data, pair.w.n_features, 2 * pair.width, pair.w.stride, pair.w.stride, carry} {
  }

  // out[m] = w_c . x for column c = m of the slot.
  void scores(const Row<T>& row, int slot, T* out) const {
    DenseWeights<T> w = both_;
    w.data += slot * pair_.width;
    w.width = pair_.width;
    w.scores(row, out);
  }
  // out[m] = w_c . x for the columns c = labels[m] of one slot.
  void scores_of(const Row<T>& row, int, std::span<const std::int32_t> labels, T* out) const {
    both_.scores_of(row, labels, out);
  }
  void add(const Row<T>& row, std::span<const Step> step, T* zeros) const {
    both_.add(row, step, zeros);
  }
  // Whether gathering `size` columns is cheaper than scoring the whole slot: if there are at most
  // as many columns as vectors in a row.
  bool gathers(std::size_t size) const {
    const std::int64_t vectors = pair_.width / kLanes<T>;
    return std::cmp_less_equal(
        size, std::min<std::int64_t>(std::max<std::int64_t>(vectors, 4), pair_.width));
  }

 private:
  const PairView<T>& pair_;
  DenseWeights<T> both_;
};

template <class T>
class PairWeights<T, TablePairView<T>> {
 public:
  static constexpr bool kFewEnter = true;

  PairWeights(const TablePairView<T>& pair, T* carry) : pair_(pair), carry_(carry) {}

  void scores(const Row<T>& row, int slot, T* out) const {
    HashWeights<T>(*pair_.slots[slot]).scores(row, out);
  }
  void scores_of(const Row<T>& row, int slot, std::span<const std::int32_t> labels, T* out) const {
    std::int32_t some[kSome];
    for (std::size_t at = 0; at < labels.size(); at += kSome) {
      const std::size_t size = std::min(kSome, labels.size() - at);
      for (std::size_t m = 0; m < size; ++m) some[m] = labels[at + m] - slot * pair_.width;
      HashWeights<T>(*pair_.slots[slot]).scores_of(row, {some, size}, out + at);
    }
  }
  void add(const Row<T>& row, std::span<const Step> step, T* zeros) const {
    for (int slot = 0; slot < 2; ++slot) {
      const std::int32_t first = slot * pair_.width;
      HashUpdates<T>(*pair_.slots[slot], first, carry_ ? carry_ + first : nullptr)
          .add(row, step, zeros);
    }
  }
  bool gathers(std::size_t) const { return true; }
  Scored<T>* best() const { return pair_.best; }

 private:
  static constexpr std::size_t kSome = 64;  // columns at a time

  const TablePairView<T>& pair_;
  T* carry_;
};

static_assert(WeightAccess<PairWeights<float, PairView<float>>, float, int>);
static_assert(WeightAccess<PairWeights<float, TablePairView<float>>, float, int>);

}  // namespace manyclass::MANYCLASS_ISA
