#pragma once
// The k classes of a row with the largest scores.
#include <algorithm>
#include <cstdint>

#include "prediction/kernels.hpp"
#include "prediction/packed_columns.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr std::int64_t kShortList = 32;

// A type of this instruction set's namespace, so that templates of the standard library are
// instantiated once per instruction set.
template <class T>
struct BetterRank {
  bool operator()(const Ranked<T>& a, const Ranked<T>& b) const {
    return a.score > b.score || (a.score == b.score && a.label < b.label);
  }
};

template <class T>
inline T largest_of(const T* scores, std::int64_t k) {
  using V = typename LanesOf<T, kLanes<T>>::type;
  constexpr auto kL = kLanes<T>;
  T result = scores[0];
  if (k < kL) {
    for (std::int64_t c = 1; c < k; ++c) result = scores[c] > result ? scores[c] : result;
    return result;
  }
  V best = unaligned<V>(scores + k - kL);
  for (std::int64_t c = 0; c + kL <= k; c += kL) {
    const V next = unaligned<V>(scores + c);
    best = next > best ? next : best;
  }
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
    result = best[lane] > result ? best[lane] : result;
  }
  return result;
}

template <class T>
inline std::int64_t first_largest(const T* scores, std::int64_t k) {
  const T best = largest_of(scores, k);
  for (std::int64_t c = 0; c < k; ++c) {
    if (scores[c] == best) return c;
  }
  return 0;  // all scores are NaN
}

// For short lists, this is much faster than the heap of the standard library.
template <class T>
inline void insert_top(const T* scores, std::int64_t k, std::int64_t top, Ranked<T>* best) {
  std::int64_t size = 0;
  for (std::int64_t c = 0; c < k; ++c) {
    if (size == top && !(scores[c] > best[top - 1].score)) continue;
    std::int64_t at = size < top ? size++ : top - 1;
    for (; at > 0 && scores[c] > best[at - 1].score; --at) best[at] = best[at - 1];
    best[at] = {scores[c], c};
  }
}

template <class T>
void top_labels(const T* scores, std::int64_t k, std::int64_t top, Ranked<T>* scratch,
                std::int64_t* labels) {
  if (top == 1) {
    labels[0] = first_largest(scores, k);
    return;
  }
  if (top <= kShortList) {
    insert_top(scores, k, top, scratch);
  } else {
    for (std::int64_t c = 0; c < k; ++c) scratch[c] = {scores[c], c};
    std::partial_sort(scratch, scratch + top, scratch + k, BetterRank<T>{});
  }
  for (std::int64_t t = 0; t < top; ++t) labels[t] = scratch[t].label;
}

}  // namespace manyclass::MANYCLASS_ISA
