#pragma once
// Dense W as memory: rows of features or classes, padded with zeros to whole blocks of 64 bytes,
// and the matrix (n_features + 1) x n_classes in this memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

struct WeightLayout {
  std::int64_t n_features;
  std::int32_t n_classes;
  bool by_class = false;    // a row for each class instead of each feature
  bool mean_apart = false;  // the row of a feature has one more number, subtracted from every class

  std::int64_t n_rows() const { return by_class ? n_classes : n_features + 1; }
  std::int64_t n_columns() const { return by_class ? n_features + 1 : n_classes + mean_apart; }
};

// Zeros; the system allocates their pages when they are first used.
template <class T>
class ZeroedMemory {
 public:
  explicit ZeroedMemory(std::int64_t size) : data_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~ZeroedMemory() { std::free(data_); }
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;

  T* data() const { return data_; }
  T* aligned() const {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(data_) % kRowBlockBytes;
    return data_ + (past == 0 ? 0 : (kRowBlockBytes - past) / sizeof(T));
  }
  // Free the memory after the first `size` numbers.
  void shrink(std::int64_t size) {
    const auto bytes = (std::max<std::int64_t>(size, 1)) * sizeof(T);
    if (void* smaller = std::realloc(data_, bytes)) data_ = static_cast<T*>(smaller);
  }

 private:
  T* data_;
};

// A matrix with any strides, counted in numbers, and the owner of its memory.
template <class T>
struct OwnedMatrix {
  std::shared_ptr<ZeroedMemory<T>> owner;
  T* data;
  std::int64_t n_rows, n_columns;
  std::int64_t row_stride, column_stride;
};
using AnyMatrix = std::variant<OwnedMatrix<float>, OwnedMatrix<double>>;

template <class T>
class WeightArray {
 public:
  explicit WeightArray(const WeightLayout& layout)
      : layout_(layout),
        stride_((layout.n_columns() + kBlock - 1) / kBlock * kBlock),
        memory_(std::make_shared<ZeroedMemory<T>>(size() + kBlock)) {}

  // The rows, with their padding.
  MatrixView<T> rows() const { return {first(), layout_.n_rows(), stride_}; }
  // The rows of weights that must have the layout of `other`.
  MatrixView<T> rows_like(const WeightArray& other) const {
    require(other.layout_.n_rows() == layout_.n_rows() && other.stride_ == stride_,
            "weights must be laid out like the engine's");
    return rows();
  }
  OwnedMatrix<T> padded() const {
    return {memory_, first(), layout_.n_rows(), stride_, stride_, 1};
  }
  // The matrix, in this memory. A mean in a separate column is not subtracted.
  OwnedMatrix<T> matrix() const { return matrix_at(first(), stride_); }

  void assign(const WeightArray& other) {
    std::copy_n(other.rows_like(*this).data, size(), first());
  }
  WeightArray copy() const {
    WeightArray other(layout_);
    other.assign(*this);
    return other;
  }
  // The matrix without padding, in this memory if nothing else refers to it. The array is empty
  // afterwards.
  OwnedMatrix<T> release() {
    if (memory_.use_count() > 1) *this = copy();
    OwnedMatrix<T> found = layout_.by_class ? matrix() : packed();
    memory_.reset();
    return found;
  }

 private:
  static constexpr auto kBlock = static_cast<std::int64_t>(kRowBlockBytes / sizeof(T));

  std::int64_t size() const { return layout_.n_rows() * stride_; }
  T* first() const {
    require(memory_ != nullptr, "W has been released");
    return memory_->aligned();
  }
  OwnedMatrix<T> matrix_at(T* data, std::int64_t stride) const {
    return {.owner = memory_,
            .data = data,
            .n_rows = layout_.n_features + 1,
            .n_columns = layout_.n_classes,
            .row_stride = layout_.by_class ? 1 : stride,
            .column_stride = layout_.by_class ? stride : 1};
  }
  // For rows of features.
  OwnedMatrix<T> packed() {
    const std::int64_t n_rows = layout_.n_rows();
    const std::int32_t k = layout_.n_classes;
    T* to = memory_->data();
    const T* from = first();
    for (std::int64_t j = 0; j < n_rows; ++j, from += stride_, to += k) {
      std::copy_n(from, k, to);  // `to` is never after `from`
      if (!layout_.mean_apart) continue;
      const T mean = from[k];
      for (std::int32_t c = 0; c < k; ++c) to[c] -= mean;
    }
    memory_->shrink(n_rows * k);
    return matrix_at(memory_->data(), k);
  }

  WeightLayout layout_;
  std::int64_t stride_;
  std::shared_ptr<ZeroedMemory<T>> memory_;
};

// W of floats or doubles, in the layout of the engine that created it.
class Weights {
 public:
  template <class T>
  explicit Weights(WeightArray<T> array) : array_(std::move(array)) {}

  AnyMatrix matrix() const {
    return std::visit([](const auto& array) { return AnyMatrix(array.matrix()); }, array_);
  }
  AnyMatrix padded() const {
    return std::visit([](const auto& array) { return AnyMatrix(array.padded()); }, array_);
  }
  template <class T>
  const WeightArray<T>& of() const {
    const auto* array = std::get_if<WeightArray<T>>(&array_);
    require(array != nullptr, "weights must have the type of X");
    return *array;
  }
  template <class T>
  WeightArray<T>& of() {
    return const_cast<WeightArray<T>&>(std::as_const(*this).of<T>());
  }

 private:
  std::variant<WeightArray<float>, WeightArray<double>> array_;
};

}  // namespace manyclass
