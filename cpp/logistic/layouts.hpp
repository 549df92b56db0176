#pragma once
// Scores of a batch of examples, and sums of their rows, for both layouts of W.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_product.hpp"
#include "logistic/kernels.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "weights/dense_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// Row i with values of type U; `values` is memory for them where X has another type.
template <class U, class T>
inline Row<U> row_as(const Csr<T>& x, std::int64_t i, U* values) {
  const Row<T> row = x.row(i);
  if constexpr (std::is_same_v<U, T>) {
    return row;
  } else {
    std::copy_n(row.values, row.nnz, values);
    return {row.indices, values, row.nnz, static_cast<U>(row.bias)};
  }
}

template <class U>
inline DenseWeights<U> by_feature(const LogisticWeights<U>& w) {
  return {w.data, w.n_features, w.n_classes, w.stride, w.stride};
}

// The dense rows of n examples, if W is class-major. `at(b)` is the number of the b-th one.
template <class U, class T, class At>
inline void pack_rows(const Csr<T>& x, const LogisticWeights<U>& w, const LogisticMemory<U>& memory,
                      std::int64_t n, At at) {
  if (!w.class_major) return;
  for (std::int64_t b = 0; b < n; ++b) {
    fetch_row(x, at(std::min(b + 2, n - 1)));
    pack_row(x, at(b), w.stride, memory.rows + b * w.stride);
  }
}

// out[b] <- the scores of the b-th example, a row of `ld` numbers.
template <class U, class T, class At>
inline void scores_of_rows(const Csr<T>& x, const LogisticWeights<U>& w,
                           const LogisticMemory<U>& memory, std::int64_t n, At at, U* out,
                           std::int64_t ld) {
  if (w.class_major) {
    return row_product(memory.rows, n, w.stride, w.data, w.n_classes, w.stride, w.stride, out, ld);
  }
  for (std::int64_t b = 0; b < n; ++b) {
    by_feature(w).scores(row_as(x, at(b), memory.values), out + b * ld);
  }
}

inline constexpr int kSumClasses = 4;
inline constexpr int kSumVectors = kVectorBytes == 64 ? 4 : 2;

// w_c += sum_b steps[b * ld + c] x_b for C classes and V vectors of features.
template <int C, int V, class U>
inline void add_tile(U* w, const U* rows, std::int64_t stride, std::int64_t n, const U* steps,
                     std::int64_t ld) {
  constexpr auto kL = kLanes<U>;
  Vector<U> sum[C][V];
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) sum[c][v] = load(w + c * stride + v * kL);
  }
  for (std::int64_t b = 0; b < n; ++b) {
    Vector<U> x[V];
    for (int v = 0; v < V; ++v) x[v] = load(rows + b * stride + v * kL);
    for (int c = 0; c < C; ++c) {
      const U by = steps[b * ld + c];
      for (int v = 0; v < V; ++v) sum[c][v] += by * x[v];
    }
  }
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) store(w + c * stride + v * kL, sum[c][v]);
  }
}

template <int V, class U>
inline void add_columns(const LogisticWeights<U>& w, const U* rows, std::int64_t n, const U* steps,
                        std::int64_t ld, std::int64_t j, std::int64_t first, std::int64_t last) {
  std::int64_t c = first;
  for (; c + kSumClasses <= last; c += kSumClasses) {
    add_tile<kSumClasses, V>(w.data + c * w.stride + j, rows + j, w.stride, n, steps + c, ld);
  }
  for (; c < last; ++c) {
    add_tile<1, V>(w.data + c * w.stride + j, rows + j, w.stride, n, steps + c, ld);
  }
}

// w_c += sum_b steps[b * ld + c] x_b for classes [first, last) of a class-major W.
template <class U>
inline void add_to_classes(const LogisticWeights<U>& w, const U* rows, std::int64_t n,
                           const U* steps, std::int64_t ld, std::int64_t first, std::int64_t last) {
  constexpr auto kL = kLanes<U>;
  std::int64_t j = 0;
  for (; j + kSumVectors * kL <= w.stride; j += kSumVectors * kL) {
    add_columns<kSumVectors>(w, rows, n, steps, ld, j, first, last);
  }
  for (; j < w.stride; j += kL) add_columns<1>(w, rows, n, steps, ld, j, first, last);
}

// W += sum_b x_b steps_b^T
template <class U, class T, class At>
inline void add_rows(const Csr<T>& x, const LogisticWeights<U>& w, const LogisticMemory<U>& memory,
                     std::int64_t n, At at, const U* steps, std::int64_t ld) {
  if (w.class_major) {
    return add_to_classes(w, memory.rows, n, steps, ld, 0, w.n_classes);
  }
  for (std::int64_t b = 0; b < n; ++b) {
    by_feature(w).add_vectors(row_as(x, at(b), memory.values), steps + b * ld);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
