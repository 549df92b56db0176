#pragma once
// The loops of rebuild.hpp: sums of examples in double, for as many classes as fill 64 bytes of W.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "feasible.hpp"
#include "kernels.hpp"
#include "lane_duals.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class Add>
inline void for_features(const Csr<T>& x, std::int64_t i, double* sums, Add add) {
  constexpr std::int64_t kWidth = kBlockClasses<T>;
  const Row<T> row = x.row(i);
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    add(sums + row.indices[p] * kWidth, static_cast<double>(row.values[p]));
  }
  if (row.bias != 0) add(sums + x.n_features * kWidth, static_cast<double>(row.bias));
}

template <class T>
double add_column(const Examples<T>& examples, std::span<const std::int32_t> rows,
                  const double* coefficients, std::int64_t c, double* sums) {
  double magnitude = 0;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const double a = coefficients[e];
    for_features(examples.x, rows[e], sums, [&](double* sum, double x) { sum[c] += a * x; });
    magnitude += std::abs(a) * std::sqrt(examples.norms[rows[e]]);
  }
  return magnitude;
}

template <class T>
double add_lanes(const Examples<T>& examples, const LaneDuals<T>& z, std::int64_t first,
                 double* sums) {
  constexpr std::int64_t kWidth = kBlockClasses<T>;
  double magnitude = 0;
  for (std::int64_t i = 0; i < examples.x.n_rows; ++i) {
    double a[kWidth] = {}, size = 0;
    each_coefficient(examples, z, i, [&](std::int32_t c, double value) {
      if (c < first || c >= first + kWidth) return;
      a[c - first] += value;
      size += std::abs(value);
    });
    if (size == 0) continue;
    magnitude += size * std::sqrt(examples.norms[i]);
    for_features(examples.x, i, sums, [&](double* __restrict sum, double x) {
      for (std::int64_t c = 0; c < kWidth; ++c) sum[c] += a[c] * x;
    });
  }
  return magnitude;
}

template <class T>
double store_block(const double* sums, const double* common, const WeightsView<T>& w,
                   std::int64_t first) {
  constexpr std::int64_t kWidth = kBlockClasses<T>;
  const std::int64_t n = std::clamp<std::int64_t>(w.n_classes - first, 0, kWidth);
  double error = 0;
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T* weights = w.data + j * w.stride + first;
    const double off = common ? common[j] : 0;
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const double value = c < n ? sums[j * kWidth + c] - off : 0;
      weights[c] = static_cast<T>(value);
      const double lost = value - static_cast<double>(weights[c]);
      error += lost * lost;
    }
  }
  return error;
}

}  // namespace manyclass::MANYCLASS_ISA
