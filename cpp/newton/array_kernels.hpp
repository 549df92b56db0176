#pragma once
// Vector operations on arrays of the size of W (BLAS level 1): dot products and sums.
#include <algorithm>
#include <cstdint>

#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
void centre_rows(const WeightsView<T>& w) {
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T* row = w.data + j * w.stride;
    double sum = 0;
    for (std::int32_t c = 0; c < w.n_classes; ++c) sum += static_cast<double>(row[c]);
    const T mean = static_cast<T>(sum / w.n_classes);
    for (std::int32_t c = 0; c < w.n_classes; ++c) row[c] -= mean;
  }
}

// Numbers in whole blocks of 64 bytes.
template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
  constexpr auto kLane = static_cast<std::int64_t>(kLanes<T>);
  constexpr std::int64_t kPart = 1024;  // rounding in T only within so many
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
