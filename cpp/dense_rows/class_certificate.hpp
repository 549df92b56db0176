#pragma once
// The certificate (certificate/gap.hpp) and the rebuild (certificate/rebuild.hpp) of a class-major
// W, for dense rows. Both compute in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "certificate/coefficient_blocks.hpp"
#include "certificate/gap.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "dense_rows/row_product.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

// Scores in double; as in the returned model, an intercept is bias * w rounded to T.
template <class T>
void double_products(const ClassMajorView<T>& w, T bias, const InspectMemory& memory,
                     std::int64_t n_rows) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  for (std::int64_t c = 0; c < w.n_classes; c += kWidened) {
    const std::int64_t n = std::min<std::int64_t>(kWidened, w.n_classes - c);
    for (std::int64_t m = 0; m < n; ++m) {
      double* wide = memory.weights + m * w.stride;
      const T* weights = w.of(c + m);
      for (std::int64_t j = 0; j < w.stride; ++j) wide[j] = static_cast<double>(weights[j]);
      wide[w.n_features] = static_cast<double>(bias * weights[w.n_features]);
    }
    row_product(memory.rows, n_rows, w.stride, memory.weights, n, w.stride, w.stride,
                memory.scores + c, ld);
  }
}

// Gap, loss and largest violation of rows [begin, end).
template <class T>
GapSums inspect_rows(const Examples<T>& examples, const ClassMajorView<T>& w, const DualLists<T>& z,
                     const CertifiedWeights& at, const InspectMemory& memory, std::int64_t begin,
                     std::int64_t end) {
  const GapCertificate<T> certify(examples, at);
  const std::int64_t ld = score_stride<T>(w.n_classes);
  GapSums result;
  for (std::int64_t i = begin; i < end; i += kInspectedRows) {
    const std::int64_t n = std::min(kInspectedRows, end - i);
    for (std::int64_t b = 0; b < n; ++b) {
      double* row = memory.rows + b * w.stride;
      pack_row(examples.x, i + b, w.stride, row);
      row[w.n_features] = examples.x.bias != 0 ? 1 : 0;  // the bias is in the weights
    }
    double_products(w, examples.x.bias, memory, n);
    for (std::int64_t b = 0; b < n; ++b) {
      double* s = memory.scores + b * ld;
      const std::int32_t y = examples.labels[i + b];
      const double s_y = y == kElsewhere ? 0 : s[y];
      std::fill(s + w.n_classes, s + ld, -kInfinity);
      certify.add(i + b, z, s_y, s, ld, result);
    }
  }
  return result;
}

// w_c <- sum_i a_ic x_i, minus `common` unless it is null. `sums` has n_features + 1 numbers.
template <class T>
RebuildError rebuild_class(const Examples<T>& examples, std::span<const Coefficient> entries,
                           const double* common, const ClassMajorView<T>& w, std::int32_t c,
                           double* sums) {
  const Csr<T>& x = examples.x;
  RebuildError error;
  std::fill_n(sums, x.n_features + 1, 0.0);
  for (const Coefficient& a : entries) {
    const Row<T> row = x.row(a.row);
    if (x.is_dense) {
      for (std::int64_t j = 0; j < row.nnz; ++j) {
        sums[j] += a.value * static_cast<double>(row.values[j]);
      }
    } else {
      for (std::int64_t p = 0; p < row.nnz; ++p) {
        sums[row.indices[p]] += a.value * static_cast<double>(row.values[p]);
      }
    }
    sums[x.n_features] += a.value * static_cast<double>(row.bias);
    error.magnitude += std::abs(a.value) * std::sqrt(examples.norms[a.row]);
  }
  T* weights = w.of(c);
  for (std::int64_t j = 0; j <= x.n_features; ++j) {
    const double value = sums[j] - (common ? common[j] : 0);
    weights[j] = static_cast<T>(value);
    const double lost = value - static_cast<double>(weights[j]);
    error.squared += lost * lost;
  }
  return error;
}

}  // namespace manyclass::MANYCLASS_ISA
