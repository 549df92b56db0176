#pragma once
// The verbs of weights/dense_weights.hpp for W of two class blocks, dense or in tables. Labels are
// columns (class_pairs/pair_kernels.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "class_pairs/pair_kernels.hpp"
#include "subproblem/top_scores.hpp"
#include "weights/dense_weights.hpp"
#include "weights/hash_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class View>
class PairWeights;

template <class T>
class PairWeights<T, PairView<T>> {
 public:
  static constexpr bool kFewEnter = false;

  explicit PairWeights(const PairView<T>& pair)
      : pair_(pair), both_{pair.w.data, pair.w.n_features, 2 * pair.width, pair.w.stride} {}

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
  void add(const Row<T>& row, std::span<const Step> step, Scratch<T> scratch) const {
    DenseWeights<T> w = both_;
    w.carry = scratch.carry;
    w.add(row, step, scratch.dense_step);
  }
  // Whether so many columns are gathered for less than the scores of a whole slot: while they
  // number no more than the vectors of a row.
  bool gathers(std::size_t size) const {
    const auto vectors = static_cast<std::size_t>(pair_.width) / kLanes<T>;
    return size <= std::max<std::size_t>(vectors, 4) &&
           size <= static_cast<std::size_t>(pair_.width);
  }

 private:
  const PairView<T>& pair_;
  DenseWeights<T> both_;
};

template <class T>
class PairWeights<T, TablePairView<T>> {
 public:
  static constexpr bool kFewEnter = true;

  explicit PairWeights(const TablePairView<T>& pair) : pair_(pair) {}

  void scores(const Row<T>& row, int slot, T* out) const {
    HashWeights<T>(*pair_.slots[slot]).scores(row, out);
  }
  void scores_of(const Row<T>& row, int slot, std::span<const std::int32_t> labels, T* out) const {
    std::uint32_t some[kSome];
    for (std::size_t at = 0; at < labels.size(); at += kSome) {
      const std::size_t size = std::min(kSome, labels.size() - at);
      for (std::size_t m = 0; m < size; ++m) some[m] = inside(labels[at + m], slot);
      std::fill_n(out + at, size, T{0});
      HashWeights<T>(*pair_.slots[slot]).scores_of(row, {some, size}, out + at);
    }
  }
  void add(const Row<T>& row, std::span<const Step> step, Scratch<T> scratch) const {
    for (int slot = 0; slot < 2; ++slot) {
      std::uint32_t labels[kSome];
      T deltas[kSome];
      std::size_t size = 0;
      T* const carry =
          scratch.carry ? scratch.carry + static_cast<std::ptrdiff_t>(slot) * pair_.width : nullptr;
      const auto flush = [&] {
        if (size > 0) {
          manyclass::MANYCLASS_ISA::add<T>(*pair_.slots[slot], row, {labels, size}, {deltas, size},
                                           carry);
        }
        size = 0;
      };
      for (const Step& s : step) {
        if (s.delta == 0 || s.label / pair_.width != slot) continue;
        labels[size] = inside(s.label, slot);
        deltas[size++] = static_cast<T>(s.delta);
        if (size == kSome) flush();
      }
      flush();
    }
  }
  bool gathers(std::size_t) const { return true; }
  Scored<T>* best() const { return pair_.best; }

 private:
  static constexpr std::size_t kSome = 64;  // columns at a time

  std::uint32_t inside(std::int32_t label, int slot) const {
    return static_cast<std::uint32_t>(label - slot * pair_.width);
  }

  const TablePairView<T>& pair_;
};

}  // namespace manyclass::MANYCLASS_ISA
