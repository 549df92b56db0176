#pragma once
// Rows of X as dense rows, and products of rows with rows: out = A B^T. Both operands are
// contiguous along the sum. A tile of 4 x kColumns sums in registers therefore reads each of its
// vectors once, without packing.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

// `out` has `stride` > n_features numbers of a type that can represent T.
template <class T, class Out>
inline void pack_row(const Csr<T>& x, std::int64_t i, std::int64_t stride, Out* out) {
  const Row<T> row = x.row(i);
  if (x.is_dense) {
    std::copy_n(row.values, row.nnz, out);
    std::fill(out + row.nnz, out + stride, Out{0});
  } else {
    std::fill_n(out, stride, Out{0});
    for (std::int64_t p = 0; p < row.nnz; ++p) out[row.indices[p]] = row.values[p];
  }
  out[x.n_features] = row.bias;
}

// Prefetch the values of a row that is needed soon. Functions that only prefetch must be inlined:
// GCC treats them as functions without effect, and removes the calls.
template <class T>
[[gnu::always_inline]] inline void fetch_row(const Csr<T>& x, std::int64_t i) {
  const Row<T> row = x.row(i);
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t p = 0; p < row.nnz; p += kLine) __builtin_prefetch(row.values + p);
  __builtin_prefetch(row.values + row.nnz - 1);  // rows may begin within a cache line
}

// Sums that fit into the registers: 32 with AVX-512, else 16 (measured: at 256 to 768 features 70
// to 100 GFlop/s in float; OpenBLAS has 57 for 32 rows).
inline constexpr int kTileRows = 4;
inline constexpr int kTileColumns = kVectorBytes == 64 ? 6 : 3;

template <int R, int C, class T>
inline void product_tile(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                         std::int64_t n, T* out, std::int64_t out_stride) {
  Vector<T> sum[R][C] = {};
  for (std::int64_t j = 0; j < n; j += kLanes<T>) {
    Vector<T> x[R];
    for (int r = 0; r < R; ++r) x[r] = load(a + r * a_stride + j);
    for (int c = 0; c < C; ++c) {
      const Vector<T> y = load(b + c * b_stride + j);
      for (int r = 0; r < R; ++r) sum[r][c] += x[r] * y;
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) out[r * out_stride + c] = lane_total<T, kVectorBytes>(&sum[r][c]);
  }
}

template <int C, class T>
inline void product_columns(const T* a, std::int64_t n_a, std::int64_t a_stride, const T* b,
                            std::int64_t b_stride, std::int64_t n, T* out,
                            std::int64_t out_stride) {
  std::int64_t i = 0;
  for (; i + kTileRows <= n_a; i += kTileRows) {
    product_tile<kTileRows, C>(a + i * a_stride, a_stride, b, b_stride, n, out + i * out_stride,
                               out_stride);
  }
  for (; i < n_a; ++i) {
    product_tile<1, C>(a + i * a_stride, a_stride, b, b_stride, n, out + i * out_stride,
                       out_stride);
  }
}

// out[i * out_stride + c] = a_i . b_c over n numbers. n is a multiple of the lanes, rows are
// aligned to 64 bytes.
template <class T>
void row_product(const T* a, std::int64_t n_a, std::int64_t a_stride, const T* b, std::int64_t n_b,
                 std::int64_t b_stride, std::int64_t n, T* out, std::int64_t out_stride) {
  std::int64_t c = 0;
  for (; c + kTileColumns <= n_b; c += kTileColumns) {
    product_columns<kTileColumns>(a, n_a, a_stride, b + c * b_stride, b_stride, n, out + c,
                                  out_stride);
  }
  for (; c < n_b; ++c) {
    product_columns<1>(a, n_a, a_stride, b + c * b_stride, b_stride, n, out + c, out_stride);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
