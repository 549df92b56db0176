#pragma once
// Dense W with one row per class, and a batch of examples as dense rows, as memory. A row of either
// is `stride` numbers, whole blocks of 64 bytes: d features, the intercept's weight or the bias,
// and zeros.
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"

namespace manyclass {

template <class T>
struct ClassMajorView {
  T* data;  // 64-byte aligned, n_classes x stride
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;

  T* of(std::int64_t c) const { return data + c * stride; }
};

// Examples that are visited together. More would read W less often, but correct more scores.
inline constexpr std::int64_t kBatchRows = 32;

// Numbers of a row of scores: whole blocks of 64 bytes.
template <class T>
std::int64_t score_stride(std::int32_t n_classes) {
  constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(T));
  return (n_classes + kBlock - 1) / kBlock * kBlock;
}

// A class's share of a batch's steps: w_c += delta x of the batch's row.
template <class T>
struct BatchStep {
  std::int32_t row;
  T delta;
};

// A batch between the copies of its rows and the update of W. The arrays are the caller's.
template <class T>
struct RowBatch {
  std::span<const std::int32_t> order;  // the examples, kBatchRows at most
  T* rows;                              // order.size() x stride of W
  T* gram;                              // kBatchRows x kBatchRows: x_b . x_j for j < b
  T* scores;                            // kBatchRows x score_stride; steps, after the visits
  Step* steps;                          // kBatchRows x (n_classes + 2), example after example
  std::size_t* ends;                    // kBatchRows: where the steps of each example end
  bool* is_dense;                       // kBatchRows: whether `scores` holds the example's step
  double* means;                        // kBatchRows: what the step takes off every class
  std::size_t* class_begins;            // n_classes + 1, into class_steps
  BatchStep<T>* class_steps;            // kBatchRows x n_classes
  T* mean_step;                         // stride: sum_b means_b x_b

  std::int64_t size() const { return std::ssize(order); }
};

// What the visits of a batch of a round note (dense_rows/round_visits.hpp). The arrays are the
// caller's.
template <class T>
struct RoundNotes {
  T* shifts;              // kBatchRows x score_stride: corrections of the scores
  DualEntry<T>* old;      // kBatchRows x n_classes: z before the visits, example after example
  std::size_t* old_ends;  // kBatchRows: where the old z of each example ends
  bool* moved;            // kBatchRows: whether the example's z moved
  double* slope;          // of D along the batch's step, at the W of the round
  double* ridge;          // what the squared hinge takes off D, quadratic in the step
};

}  // namespace manyclass
