#pragma once
// A row of X as a dense row: its values, the bias, and zeros up to the stride.
#include <algorithm>
#include <cstdint>

#include "data/csr.hpp"
#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

// `out` has `stride` > n_features numbers of a type that holds T.
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

// Prefetch the values of a row that comes soon.
template <class T>
inline void fetch_row(const Csr<T>& x, std::int64_t i) {
  const Row<T> row = x.row(i);
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t p = 0; p < row.nnz; p += kLine) __builtin_prefetch(row.values + p);
  __builtin_prefetch(row.values + row.nnz - 1);  // rows may begin within a cache line
}

}  // namespace manyclass::MANYCLASS_ISA
