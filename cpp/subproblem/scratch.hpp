#pragma once
// One coordinate of the subproblem of an example, and the memory that a visit needs.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"
#include "simd/aligned_array.hpp"

namespace manyclass {

// One dual variable of the block subproblem (subproblem/root_finding.hpp).
struct Coordinate {
  std::int32_t label;  // the class c
  double z;            // before the step
  double xi;           // gamma_c - mu_c(x, y)
  double v;            // +1 or -1
  double b;
  double z_new;  // after the step
};

// Memory for one visit at a time; k is the number of classes.
template <class T>
struct Scratch {
  T* scores;                // stride, aligned to 64 bytes
  T* dense_step;            // stride zeros, aligned to 64 bytes
  Coordinate* block;        // k + 1
  Step* step;               // k + 2
  std::int32_t* labels;     // k + 2
  double* exact = nullptr;  // stride, aligned to 64 bytes; for certificates
  T* carry = nullptr;  // stride; low digits of the intercepts (weights/dense_weights.hpp), or null
};

// The memory that Scratch points to. It stores the low digits of the intercepts between visits.
template <class T>
class OwnedScratch {
 public:
  OwnedScratch(std::int32_t n_classes, std::int64_t stride)
      : block_(n_classes + 1),
        step_(n_classes + 2),
        labels_(n_classes + 2),
        rows_(3 * stride),
        exact_(stride),
        view_{.scores = rows_.data(),
              .dense_step = rows_.data() + stride,
              .block = block_.data(),
              .step = step_.data(),
              .labels = labels_.data(),
              .exact = exact_.data(),
              .carry = sizeof(T) == 4 ? rows_.data() + 2 * stride : nullptr} {}
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
