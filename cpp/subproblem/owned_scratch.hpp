#pragma once
// Owner of the memory of one visit.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/coordinate.hpp"

namespace manyclass {

// The memory that Scratch points to. The low digits of the intercepts last as long as this object.
template <class T>
class OwnedScratch {
 public:
  OwnedScratch(std::int32_t n_classes, std::int64_t stride)
      : block_(static_cast<std::size_t>(n_classes) + 1),
        step_(static_cast<std::size_t>(n_classes) + 2),
        labels_(static_cast<std::size_t>(n_classes) + 2),
        rows_(3 * static_cast<std::size_t>(stride)),
        exact_(static_cast<std::size_t>(stride)),
        view_{rows_.data(),
              rows_.data() + stride,
              block_.data(),
              step_.data(),
              labels_.data(),
              exact_.data(),
              sizeof(T) == 4 ? rows_.data() + 2 * stride : nullptr} {}
  Scratch<T> view() { return view_; }

 private:
  std::vector<Coordinate> block_;
  std::vector<Step> step_;
  std::vector<std::int32_t> labels_;
  AlignedArray<T> rows_;
  AlignedArray<double> exact_;
  Scratch<T> view_;
};

}  // namespace manyclass
