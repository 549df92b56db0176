#pragma once
// Non-owning views of arrays (one-dimensional ones are std::span), and the arrays of a CSR matrix.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace manyclass {

// A matrix in C order.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t n_rows;
  std::int64_t n_columns;

  bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(data) % 64 == 0; }
};

template <class T>
struct CsrArrays {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> labels;  // columns: classes
  std::vector<T> values;
};

}  // namespace manyclass
