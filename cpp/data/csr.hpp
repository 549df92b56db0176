#pragma once
// A view of the examples: a CSR matrix X (n x d) with one row per example. Of a dense X, all rows
// share the indices 0 to d - 1.
#include <cstdint>

namespace manyclass {

// Row i of X: nnz pairs (feature, value), and `bias`, the value of the appended constant
// feature d (0 = no intercept, nothing appended).
template <class T>
struct Row {
  const std::int32_t* indices;
  const T* values;
  std::int64_t nnz;
  T bias;
};

template <class T>
struct Csr {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  const T* values;
  std::int64_t n_rows;
  std::int64_t n_features;
  T bias;
  bool is_dense = false;

  [[gnu::always_inline]] Row<T> row(std::int64_t i) const {
    const std::int64_t begin = indptr[i];
    return {is_dense ? indices : indices + begin, values + begin, indptr[i + 1] - begin, bias};
  }
};

}  // namespace manyclass
