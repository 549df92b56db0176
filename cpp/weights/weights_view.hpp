#pragma once
// Dense W as memory, and the interface of W for the kernels. Every layout of W (dense, in hash
// tables, of a pair of class blocks) models these concepts; the kernels use no other functions.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/examples.hpp"

namespace manyclass {

// Rows of W are padded to whole blocks of this many bytes: a cache line, and the widest vector.
inline constexpr std::size_t kRowBlockBytes = 64;

// weights/dense_weights.hpp describes the layout.
template <class T>
struct WeightsView {
  T* data;
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;
};

// Scores of a row x. `Part` is empty, or names a part of the classes (the slot of a
// pair).
//   scores(row, part..., out)             out[c] = w_c . x for every class, and 0 in the padding
//   scores_of(row, part..., labels, out)  out[m] = w_c . x for the classes c = labels[m]
template <class W, class T, class... Part>
concept WeightScores = requires(const W& w, const Row<T>& row, Part... part,
                                std::span<const std::int32_t> labels, T* out) {
  w.scores(row, part..., out);
  w.scores_of(row, part..., labels, out);
};

// Scores and steps.
//   add(row, step, zeros)                 w_c += step_c x for the classes of the step; `zeros` has
//                                         a number for each class, zero before and after
template <class W, class T, class... Part>
concept WeightAccess = WeightScores<W, T, Part...> &&
                       requires(const W& w, const Row<T>& row, std::span<const Step> step,
                                T* zeros) { w.add(row, step, zeros); };

}  // namespace manyclass
