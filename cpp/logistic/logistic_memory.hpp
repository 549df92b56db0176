#pragma once
// The memory that LogisticMemory points to (logistic/kernels.hpp).
#include <cstddef>
#include <vector>

#include "dense_rows/class_major.hpp"
#include "logistic/kernels.hpp"
#include "simd/aligned_array.hpp"

namespace manyclass {

template <class U>
class OwnedLogisticMemory {
 public:
  OwnedLogisticMemory(const LogisticWeights<U>& w, std::size_t longest_row)
      : rows_(w.class_major ? kRows * static_cast<std::size_t>(w.stride) : 0),
        gram_(kRows * kRows),
        scores_(kRows * static_cast<std::size_t>(score_stride<U>(w.n_classes))),
        other_(kRows * static_cast<std::size_t>(score_stride<U>(w.n_classes))),
        values_(longest_row) {}
  LogisticMemory<U> view() const {
    return {rows_.data(), gram_.data(), scores_.data(), other_.data(), values_.data()};
  }

 private:
  static constexpr auto kRows = static_cast<std::size_t>(kBatchRows);
  AlignedArray<U> rows_, gram_, scores_, other_, values_;
};

// Arrays of the shape of W, one per thread; the first is the caller's.
template <class U>
class ThreadSums {
 public:
  ThreadSums(const LogisticWeights<U>& first, int n_threads)
      : size_(static_cast<std::size_t>(
            first.stride * (first.class_major ? first.n_classes : first.n_features + 1))),
        of_(static_cast<std::size_t>(n_threads), first) {
    for (std::size_t m = 1; m < of_.size(); ++m) {
      of_[m].data = owned_.emplace_back(size_).data();
    }
  }
  const LogisticWeights<U>& of(int thread) const { return of_[static_cast<std::size_t>(thread)]; }

  // Add all to the caller's.
  void add_up() const {
    for (const AlignedArray<U>& part : owned_) {
      for (std::size_t j = 0; j < size_; ++j) of_[0].data[j] += part.data()[j];
    }
  }

 private:
  std::size_t size_;
  std::vector<LogisticWeights<U>> of_;
  std::vector<AlignedArray<U>> owned_;
};

}  // namespace manyclass
