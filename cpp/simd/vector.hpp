#pragma once
// Vectors of T with the width of the registers, by the vector extension of the compiler.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

template <class T>
inline constexpr std::int64_t kLanes = kVectorBytes / sizeof(T);

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes), may_alias));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T> load(const T* p) {
  return *reinterpret_cast<const Vector<T>*>(p);
}

template <class T>
inline void store(T* p, Vector<T> v) {
  *reinterpret_cast<Vector<T>*>(p) = v;
}

template <class T>
inline Vector<T> maximum(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}

// a + b rounded, and the rounding error (Knuth 1997, sec. 4.2.2); for numbers or vectors.
template <class V>
struct TwoSum {
  V sum;
  V rest;
};
template <class V>
inline TwoSum<V> two_sum(const V& a, const V& b) {
  const V sum = a + b;
  const V of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// w += delta, with low digits in *carry unless it is null.
template <class T>
inline void add_with_carry(T& w, T* carry, T delta) {
  if (!carry) {
    w += delta;
    return;
  }
  const auto [sum, rest] = two_sum<T>(w, *carry + delta);
  w = sum;
  *carry = rest;
}

// The sum and the maximum of the lanes of a vector, by halves.
template <class T, std::size_t Bytes>
inline T lane_total(const void* lanes) {
  if constexpr (Bytes == sizeof(T)) {
    return *static_cast<const T*>(lanes);
  } else {
    typedef T Half __attribute__((vector_size(Bytes / 2), may_alias));
    const Half* halves = static_cast<const Half*>(lanes);
    const Half sum = halves[0] + halves[1];
    return lane_total<T, Bytes / 2>(&sum);
  }
}
template <class T, std::size_t Bytes>
inline T largest_lane(const void* lanes) {
  if constexpr (Bytes == sizeof(T)) {
    return *static_cast<const T*>(lanes);
  } else {
    typedef T Half __attribute__((vector_size(Bytes / 2), may_alias));
    const Half* halves = static_cast<const Half*>(lanes);
    const Half best = halves[0] > halves[1] ? halves[0] : halves[1];
    return largest_lane<T, Bytes / 2>(&best);
  }
}

// The largest of n values; n is a multiple of the lanes, p is aligned.
template <class T>
inline T largest(const T* p, std::size_t n) {
  Vector<T> best = load(p);
  for (std::size_t c = kLanes<T>; c < n; c += kLanes<T>) best = maximum<T>(best, load(p + c));
  return largest_lane<T, kVectorBytes>(&best);
}

// Dot products and sums of arrays (BLAS level 1), aligned and in whole blocks of 64 bytes.

template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
  constexpr auto kLane = kLanes<T>;
  constexpr std::int64_t kPart =
      1024;  // numbers that are summed in T before the sum is added in double
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
  for (std::int64_t j = 0; j < n; j += kLanes<T>) {
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
