#pragma once
// The interface of W to the kernels. A layout of W (dense, in hash tables, of a pair of class
// blocks) models these concepts; the kernels use nothing else of it.
#include <concepts>
#include <cstdint>
#include <span>

#include "data/csr.hpp"
#include "data/examples.hpp"

namespace manyclass {

// Scores of a row x. `Part` is empty, or names the part of the classes that is meant (the slot of a
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
//   add(row, step, zeros)                 w_c += step_c x for the classes of the step; `zeros` is
//                                         memory of a number for each class, zeros before and after
template <class W, class T, class... Part>
concept WeightAccess = WeightScores<W, T, Part...> &&
                       requires(const W& w, const Row<T>& row, std::span<const Step> step,
                                T* zeros) { w.add(row, step, zeros); };

}  // namespace manyclass
