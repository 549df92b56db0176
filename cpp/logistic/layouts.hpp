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

// A row with values of type U; `values` is memory for the values if X has a different type.
template <class U, class T>
inline Row<U> row_as(const Row<T>& row, U* values) {
  if constexpr (std::is_same_v<U, T>) {
    return row;
  } else {
    std::copy_n(row.values, row.nnz, values);
    return {row.indices, values, row.nnz, static_cast<U>(row.bias)};
  }
}

// The part of a row, with ascending features, in a range of the d + 1 features.
template <class T>
inline Row<T> part_of(const Row<T>& row, const Range& features, std::int64_t d) {
  if (features.first == 0 && features.last > d) return row;
  const std::int32_t* end = row.indices + row.nnz;
  const auto at = [&](std::int64_t j) { return std::lower_bound(row.indices, end, j); };
  const auto first = at(features.first) - row.indices, last = at(features.last) - row.indices;
  const bool has_bias = features.first <= d && features.last > d;
  return {row.indices + first, row.values + first, last - first, has_bias ? row.bias : T{0}};
}

template <class U>
inline DenseWeights<U> by_feature(const LogisticWeights<U>& w) {
  return {w.data, w.n_features, w.n_classes, w.stride, w.stride};
}

// The dense rows of the examples [begin, end), if W is class-major.
template <class U, class T>
inline void pack_rows(const Csr<T>& x, const LogisticWeights<U>& w, const LogisticMemory<U>& memory,
                      std::int64_t begin, std::int64_t end) {
  if (!w.class_major) return;
  for (std::int64_t i = begin; i < end; ++i) {
    fetch_row(x, std::min(i + 2, end - 1));
    pack_row(x, i, w.stride, memory.rows + (i - begin) * w.stride);
  }
}

// out <- the scores of the examples [begin, end), one row each.
template <class U, class T>
inline void scores_of_rows(const Csr<T>& x, const LogisticWeights<U>& w,
                           const LogisticMemory<U>& memory, std::int64_t begin, std::int64_t end,
                           U* out) {
  const std::int64_t ld = score_stride<U>(w.n_classes);
  if (w.class_major) {
    return row_product(memory.rows, end - begin, w.stride, w.data, w.n_classes, w.stride, w.stride,
                       out, ld);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    by_feature(w).scores(row_as(x.row(i), memory.values), out + (i - begin) * ld);
  }
}

inline constexpr int kSumClasses = 4;
inline constexpr int kSumVectors = kVectorBytes == 64 ? 4 : 2;

// w_c += sum_b steps[b * ld + c] x_b for C classes and V vectors of features.
template <int C, int V, class U>
inline void add_tile(U* w, std::int64_t w_stride, const U* rows, std::int64_t stride,
                     std::int64_t n, const U* steps, std::int64_t ld) {
  constexpr auto kL = kLanes<U>;
  Vector<U> sum[C][V];
  for (int c = 0; c < C; ++c) {
    for (int v = 0; v < V; ++v) sum[c][v] = load(w + c * w_stride + v * kL);
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
    for (int v = 0; v < V; ++v) store(w + c * w_stride + v * kL, sum[c][v]);
  }
}

// The sum for n_classes.
template <int V, class U>
inline void add_columns(U* w, std::int64_t w_stride, const U* rows, std::int64_t stride,
                        std::int64_t n, const U* steps, std::int64_t ld, std::int64_t n_classes) {
  std::int64_t c = 0;
  for (; c + kSumClasses <= n_classes; c += kSumClasses) {
    add_tile<kSumClasses, V>(w + c * w_stride, w_stride, rows, stride, n, steps + c, ld);
  }
  for (; c < n_classes; ++c) {
    add_tile<1, V>(w + c * w_stride, w_stride, rows, stride, n, steps + c, ld);
  }
}

// w += steps^T rows, for n rows, n_classes and n_columns (whole vectors).
template <class U>
inline void add_product(U* w, std::int64_t w_stride, const U* rows, std::int64_t stride,
                        std::int64_t n, const U* steps, std::int64_t ld, std::int64_t n_classes,
                        std::int64_t n_columns) {
  constexpr auto kL = kLanes<U>;
  std::int64_t j = 0;
  for (; j + kSumVectors * kL <= n_columns; j += kSumVectors * kL) {
    add_columns<kSumVectors>(w + j, w_stride, rows + j, stride, n, steps, ld, n_classes);
  }
  for (; j < n_columns; j += kL) {
    add_columns<1>(w + j, w_stride, rows + j, stride, n, steps, ld, n_classes);
  }
}

// w_c += sum_b steps[b * ld + c] x_b for some classes and columns (whole vectors), class-major.
template <class U>
inline void add_to_classes(const LogisticWeights<U>& w, const U* rows, std::int64_t n,
                           const U* steps, const Range& columns, const Range& classes) {
  add_product(w.data + classes.first * w.stride + columns.first, w.stride, rows + columns.first,
              w.stride, n, steps + classes.first, score_stride<U>(w.n_classes),
              classes.last - classes.first, columns.last - columns.first);
}

// sums += sum_i x_i r_i^T over the examples [begin, end), with rows r_i of memory.other: a range of
// the d + 1 features of `sums` or, class-major, of its columns.
template <class U, class T>
inline void add_rows(const Csr<T>& x, const LogisticWeights<U>& sums,
                     const LogisticMemory<U>& memory, std::int64_t begin, std::int64_t end,
                     const Range& features) {
  const std::int64_t ld = score_stride<U>(sums.n_classes);
  if (sums.class_major) {
    for (std::int64_t b = 0; b < end - begin; b += kBatchRows) {
      add_to_classes(sums, memory.rows + b * sums.stride, std::min(kBatchRows, end - begin - b),
                     memory.other + b * ld, features, {0, sums.n_classes});
    }
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    const Row<T> row = part_of(x.row(i), features, x.n_features);
    by_feature(sums).add_vectors(row_as(row, memory.values), memory.other + (i - begin) * ld);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
