#pragma once
// Sums over the rows, feature by feature: where there are fewer rows than features, the steps of all
// rows stay in the caches, and an array like W is written once, from its first to its last row.
#include <algorithm>
#include <cstdint>

#include "logistic/kernels.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr std::int64_t kStepsAhead = 8;  // of a feature, whose steps are fetched

// out += sum_p x_p r_p for V vectors of classes, in the order of p; r_p are the steps of row(p).
template <int V, class RowAt, class ValueAt>
inline void add_entries(std::int64_t n, RowAt row, ValueAt value, const double* steps,
                        std::int64_t ld, double* out) {
  constexpr std::int64_t kL = kLanes<double>;
  Vector<double> sum[V];
  for (int v = 0; v < V; ++v) sum[v] = load(out + v * kL);
  for (std::int64_t p = 0; p < n; ++p) {
    if (p + kStepsAhead < n) {
      const double* next = steps + row(p + kStepsAhead) * ld;
      for (std::int64_t c = 0; c < V * kL; c += 8) __builtin_prefetch(next + c);
    }
    const double x = value(p);
    const double* r = steps + row(p) * ld;
    for (int v = 0; v < V; ++v) sum[v] += x * load(r + v * kL);
  }
  for (int v = 0; v < V; ++v) store(out + v * kL, sum[v]);
}

// The same for all `ld` classes.
template <class RowAt, class ValueAt>
inline void add_all_classes(std::int64_t n, RowAt row, ValueAt value, const double* steps,
                            std::int64_t ld, double* out) {
  constexpr std::int64_t kL = kLanes<double>;
  std::int64_t c = 0;
  for (; c + 8 * kL <= ld; c += 8 * kL) add_entries<8>(n, row, value, steps + c, ld, out + c);
  for (; c + 4 * kL <= ld; c += 4 * kL) add_entries<4>(n, row, value, steps + c, ld, out + c);
  for (; c + 2 * kL <= ld; c += 2 * kL) add_entries<2>(n, row, value, steps + c, ld, out + c);
  for (; c < ld; c += kL) add_entries<1>(n, row, value, steps + c, ld, out + c);
}

template <class T>
void logistic_add_columns(const Columns<T>& x, const LogisticWeights<double>& sums,
                          const double* steps, std::int64_t n_rows, const Range& features) {
  const std::int64_t ld = score_stride<double>(sums.n_classes), d = x.n_features;
  for (std::int64_t j = features.first; j < std::min(features.last, d); ++j) {
    const std::int32_t* rows = x.rows + x.begins[j];
    const T* values = x.values + x.begins[j];
    add_all_classes(
        x.begins[j + 1] - x.begins[j],
        [=](std::int64_t p) { return static_cast<std::int64_t>(rows[p]); },
        [=](std::int64_t p) { return static_cast<double>(values[p]); }, steps, ld,
        sums.data + j * sums.stride);
  }
  if (features.last <= d || x.bias == 0) return;
  const double bias = static_cast<double>(x.bias);
  add_all_classes(
      n_rows, [](std::int64_t i) { return i; }, [bias](std::int64_t) { return bias; }, steps, ld,
      sums.data + d * sums.stride);
}

}  // namespace manyclass::MANYCLASS_ISA
