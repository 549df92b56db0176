#pragma once
// Numbers that training adds to the scores of its examples, s_c = w_c . x + b_c, for all classes
// including y. For costs of mistakes Delta, these numbers are:
//
//   Delta(y, c) - (w_y . x - w_c . x) = gamma - (s_y - s_c),    b_c = Delta(y, c) - gamma, b_y = 0
//
// A class with the number kExcluded is not a target of the example: its slack is never positive.
// Source: Tsochantaridis et al. 2005, sec. 2.2.2 (margin rescaling).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/class_tree.hpp"
#include "simd/aligned_array.hpp"

namespace manyclass {

inline constexpr double kExcluded = -1e30;  // also safe for calculations in float

// Either a table and the row of each example in it, or a tree and the class of each example.
// Without both, nothing is added. A row of the table has `stride` numbers in whole blocks of
// 64 bytes, with padding after the classes.
template <class T>
struct BaseScores {
  const T* table = nullptr;
  const double* exact = nullptr;  // the table before rounding to T
  const std::int32_t* rows = nullptr;
  std::int64_t stride = 0;
  std::int32_t n_classes = 0;
  double largest = 0;  // at least the largest absolute value of the numbers that are not kExcluded
  bool has_tree = false;
  TreeView<T> tree{};

  explicit operator bool() const { return table || has_tree; }
  // The base scores of example i in the table, or null.
  [[gnu::always_inline]] const T* of(std::int64_t i) const {
    return table ? table + rows[i] * stride : nullptr;
  }
  [[gnu::always_inline]] const double* exact_of(std::int64_t i) const {
    return exact ? exact + rows[i] * stride : nullptr;
  }
};

// The memory that BaseScores points to, except the rows. Whole vectors may be loaded from any
// class, because another block follows the last row.
template <class T>
class BaseTable {
 public:
  // `numbers`: n_rows x n_classes.
  BaseTable(std::span<const double> numbers, std::int32_t n_classes, double padding = 0)
      : BaseTable(std::ssize(numbers) / n_classes, n_classes, padding) {
    fill([&](std::int64_t r, std::int32_t c) { return numbers[r * n_classes + c]; });
  }
  // A table of some classes in a given order: column p is column order[p] of `other`, or padding if
  // order[p] is negative.
  BaseTable(const BaseTable& other, std::span<const std::int32_t> order)
      : BaseTable(other.n_rows_, static_cast<std::int32_t>(order.size()), other.padding_) {
    fill([&](std::int64_t r, std::int32_t c) {
      return order[c] < 0 ? padding_ : other.exact_.data()[r * other.stride_ + order[c]];
    });
  }

  std::int64_t n_rows() const { return n_rows_; }
  BaseScores<T> view(const std::int32_t* rows) const {
    return {table(), exact_.data(), rows, stride_, n_classes_, largest_};
  }

 private:
  static constexpr std::int64_t kBlock = 64 / sizeof(T);

  BaseTable(std::int64_t n_rows, std::int32_t n_classes, double padding)
      : n_classes_(n_classes),
        padding_(padding),
        n_rows_(n_rows),
        stride_((n_classes + kBlock - 1) / kBlock * kBlock),
        exact_(n_rows * stride_ + kBlock),
        rounded_(sizeof(T) == sizeof(double) ? 0 : n_rows * stride_ + kBlock) {}

  // value(r, c)
  template <class Value>
  void fill(Value value) {
    for (std::int64_t r = 0; r < n_rows_; ++r) {
      for (std::int32_t c = 0; c < n_classes_; ++c) put(r * stride_ + c, value(r, c));
      for (std::int64_t c = n_classes_; c < stride_; ++c) put(r * stride_ + c, padding_);
    }
  }

  void put(std::int64_t at, double value) {
    exact_.data()[at] = value;
    if constexpr (sizeof(T) != sizeof(double)) rounded_.data()[at] = static_cast<T>(value);
    if (value > kExcluded) largest_ = std::max(largest_, std::abs(value));
  }
  const T* table() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return exact_.data();
    } else {
      return rounded_.data();
    }
  }

  std::int32_t n_classes_;
  double padding_;  // padding of the rows after the classes
  std::int64_t n_rows_;
  std::int64_t stride_;
  AlignedArray<double> exact_;
  AlignedArray<T> rounded_;
  double largest_ = 0;
};

}  // namespace manyclass
