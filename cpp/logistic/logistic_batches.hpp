#pragma once
// Memory for visits of multinomial logistic regression, and visits in batches of dense rows by a
// team of threads (dense_rows/batch_loop.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "logistic/kernels.hpp"
#include "simd/aligned_array.hpp"

namespace manyclass {

template <class U>
class OwnedLogisticMemory {
 public:
  OwnedLogisticMemory(const LogisticWeights<U>& w, std::size_t longest_row)
      : rows_(w.class_major ? kRows * w.stride : 0),
        gram_(kRows * kRows),
        scores_(kRows * score_stride<U>(w.n_classes)),
        other_((kRows + 1) * score_stride<U>(w.n_classes)),
        values_(longest_row) {}
  LogisticMemory<U> view() const {
    return {rows_.data(), gram_.data(), scores_.data(), other_.data(), values_.data()};
  }

 private:
  static constexpr auto kRows = kBatchRows;
  AlignedArray<U> rows_, gram_, scores_, other_, values_;
};

// Kernels of dense rows, and kernels of the formulation.
template <class T>
struct LogisticBatchKernels {
  const RowKernels<T>& rows;
  const LogisticKernels<T>& logistic;
};

// Callbacks of run_batches for the examples `order`. There is memory for the rows of three batches,
// the prepared data of two batches, and the scores of one batch.
template <class T>
class LogisticBatches {
 public:
  LogisticBatches(const Examples<T>& examples, const LogisticBatchKernels<T>& kernels,
                  const LogisticWeights<T>& w, T* v, bool fresh)
      : examples_(examples),
        kernels_(kernels),
        w_(w),
        class_major_{w.data, w.n_features, w.n_classes, w.stride},
        v_(v),
        fresh_(fresh),
        ld_(score_stride<T>(w.n_classes)),
        rows_(3 * kRows * w.stride),
        gram_(2 * kRows * kRows),
        scores_(kRows * ld_),
        other_(2 * (kRows + 1) * ld_) {}

  void begin(std::span<const std::int32_t> order) { order_ = order; }
  std::size_t size() const { return (order_.size() + kRows - 1) / kRows; }

  void copy(std::size_t t, std::int64_t first, std::int64_t last) {
    kernels_.rows.copy(examples_.x, batch(t), w_.stride, first, last);
  }
  void prepare(std::size_t t, std::int64_t first, std::int64_t last) {
    kernels_.rows.multiply(batch(t), w_.stride, first, last);
    kernels_.logistic.prepare(w_.n_classes, v_, fresh_, memory(t), rows_of(t), first, last);
  }
  void score(std::size_t t, std::int64_t first, std::int64_t last) {
    kernels_.rows.score(batch(t), class_major_, first, last);
  }
  bool visit(std::size_t t) {
    result_.add(
        kernels_.logistic.visit_batch(examples_, w_.n_classes, v_, fresh_, memory(t), rows_of(t)));
    return true;
  }
  void update(std::size_t t, std::int64_t first, std::int64_t last) {
    kernels_.logistic.update(w_, memory(t), std::ssize(rows_of(t)), first, last);
  }

  // Sums over all visits.
  const SweepResult& result() const { return result_; }

 private:
  static constexpr auto kRows = kBatchRows;

  std::span<const std::int32_t> rows_of(std::int64_t t) const {
    const std::int64_t begin = std::min(t * kRows, std::ssize(order_));
    return order_.subspan(begin, std::min(kRows, std::ssize(order_) - begin));
  }
  LogisticMemory<T> memory(std::size_t t) const {
    return {rows_.data() + t % 3 * kRows * w_.stride, gram_.data() + t % 2 * kRows * kRows,
            scores_.data(), other_.data() + t % 2 * (kRows + 1) * ld_, nullptr};
  }
  RowBatch<T> batch(std::size_t t) const {
    const LogisticMemory<T> memory = this->memory(t);
    RowBatch<T> found{};
    found.order = rows_of(t);
    found.rows = memory.rows;
    found.gram = memory.gram;
    found.scores = memory.scores;
    return found;
  }

  const Examples<T>& examples_;
  LogisticBatchKernels<T> kernels_;
  LogisticWeights<T> w_;
  ClassMajorView<T> class_major_;
  T* v_;
  bool fresh_;
  std::int64_t ld_;
  AlignedArray<T> rows_, gram_, scores_, other_;
  std::span<const std::int32_t> order_;
  SweepResult result_;
};

}  // namespace manyclass
