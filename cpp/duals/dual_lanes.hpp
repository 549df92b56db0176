#pragma once
// The dual variables z as a dense matrix, for few classes. Each example has one row, padded like a
// row of W, so that a visit keeps it in registers (dual/lane_sweep.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"

namespace manyclass {

template <class T>
class DualLanes {
 public:
  static constexpr std::int32_t kBlock = 64 / sizeof(T);  // classes in 64 bytes
  static constexpr std::int32_t kMaxBlocks = 4;

  // `mean_apart`: W has an additional column.
  DualLanes(std::int64_t n_rows, std::int32_t n_classes, bool mean_apart = false)
      : n_rows_(n_rows),
        n_classes_(n_classes),
        stride_((n_classes + mean_apart + kBlock - 1) / kBlock * kBlock),
        data_(n_rows * stride_) {}
  DualLanes(const DualLanes&) = delete;
  DualLanes& operator=(const DualLanes&) = delete;

  std::int64_t n_rows() const { return n_rows_; }
  std::int32_t n_classes() const { return n_classes_; }
  std::int64_t stride() const { return stride_; }
  T* lanes(std::int64_t i) const { return data_.data() + i * stride_; }

  std::int64_t count() const {
    return n_rows_ * stride_ - std::count(data_.data(), data_.data() + n_rows_ * stride_, T{0});
  }
  std::int64_t n_bytes() const { return static_cast<std::int64_t>(data_.size() * sizeof(T)); }

  // Row i as a list, and back.
  std::vector<DualEntry<T>> row(std::int64_t i) const {
    std::vector<DualEntry<T>> entries;
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      if (lanes(i)[c] != 0) entries.push_back({c, lanes(i)[c]});
    }
    return entries;
  }
  void set(std::int64_t i, std::span<const DualEntry<T>> entries) {
    std::fill_n(lanes(i), stride_, T{0});
    for (const DualEntry<T>& entry : entries) lanes(i)[entry.label] = entry.value;
  }
  // Call f(c, z_ic) for the non-zero z of row i.
  template <class F>
  void each(std::int64_t i, F f) const {
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      if (lanes(i)[c] != 0) f(c, lanes(i)[c]);
    }
  }

 private:
  std::int64_t n_rows_;
  std::int32_t n_classes_;
  std::int64_t stride_;
  AlignedArray<T> data_;
};

}  // namespace manyclass
