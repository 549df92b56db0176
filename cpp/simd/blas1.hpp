#pragma once
// Dot products and sums of arrays (BLAS level 1), aligned and in whole blocks of 64 bytes.
#include <algorithm>
#include <cstdint>

#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
  constexpr auto kLane = static_cast<std::int64_t>(kLanes<T>);
  constexpr std::int64_t kPart =
      1024;  // numbers that are summed in T before the sum goes to double
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPart) {
    Vector<T> sum = {};
    for (std::int64_t j = begin; j < std::min(begin + kPart, n); j += kLane) {
      sum += load(a + j) * load(b + j);
    }
    for (std::int64_t lane = 0; lane < kLane; ++lane) total += static_cast<double>(sum[lane]);
  }
  return total;
}

template <class T>
void axpy(double factor, const T* a, T* b, std::int64_t n) {
  const T by = static_cast<T>(factor);
  for (std::int64_t j = 0; j < n; j += static_cast<std::int64_t>(kLanes<T>)) {
    store(b + j, load(b + j) + load(a + j) * by);
  }
}

template <class T>
void add_to_total(double factor, const T* a, double* total, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) total[j] += factor * static_cast<double>(a[j]);
}

template <class T>
void subtract(const double* a, const double* b, T* out, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(a[j] - b[j]);
}

}  // namespace manyclass::MANYCLASS_ISA
