#pragma once
// Squared norms for certificates.
#include <algorithm>
#include <cstdint>

#include "simd/compensated_sum.hpp"

namespace manyclass {

// Numbers that are summed without compensation, in kSquareLanes sums: within 16 u of their sum.
inline constexpr std::int64_t kSquareBlock = 64, kSquareLanes = 8;

// Add the squares of n neighbouring numbers.
template <class T>
void add_squares(const T* p, std::int64_t n, CompensatedSum& sum) {
  for (std::int64_t begin = 0; begin < n; begin += kSquareBlock) {
    double lanes[kSquareLanes] = {};
    const T* part = p + begin;
    const std::int64_t size = std::min(kSquareBlock, n - begin);
    std::int64_t j = 0;
    for (; j + kSquareLanes <= size; j += kSquareLanes) {
      for (std::int64_t lane = 0; lane < kSquareLanes; ++lane) {
        const double x = static_cast<double>(part[j + lane]);
        lanes[lane] += x * x;
      }
    }
    for (; j < size; ++j)
      lanes[j % kSquareLanes] += static_cast<double>(part[j]) * static_cast<double>(part[j]);
    double total = 0;
    for (const double lane : lanes) total += lane;
    sum.add(total);
  }
}

// The squares of a matrix with neighbouring numbers in its rows.
template <class T>
double sum_of_squares(const T* p, std::int64_t n_rows, std::int64_t n_columns,
                      std::int64_t stride) {
  CompensatedSum sum;
  for (std::int64_t i = 0; i < n_rows; ++i) add_squares(p + i * stride, n_columns, sum);
  return sum.value();
}

}  // namespace manyclass
