#pragma once
// Softmax of the scores of one example, and its block of the dual: u in the unit simplex, stored as
// v = log u. Arrays are whole vectors, padded with kNoClass and kNoLog.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "simd/exp.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

// Finite, so that 0 times them is 0; exp of either is 0.
template <class T>
inline constexpr T kNoClass = static_cast<T>(-1e30);
template <class T>
inline constexpr T kNoLog = -1000;

template <class T>
inline double total(const Vector<T>& lanes) {
  return static_cast<double>(lane_total<T, kVectorBytes>(&lanes));
}

// p <- softmax of n scores (may be the same memory); returns log sum_c exp(s_c).
template <class T>
inline double softmax(const T* s, std::size_t n, T* p) {
  const T best = largest(s, n);
  Vector<T> sum = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    const Vector<T> e = exponential<T>(load(s + c) - best);
    store(p + c, e);
    sum += e;
  }
  const double all = total<T>(sum);
  const T share = static_cast<T>(1 / all);
  for (std::size_t c = 0; c < n; c += kLanes<T>) store(p + c, load(p + c) * share);
  return static_cast<double>(best) + std::log(all);
}

// log sum_c exp(s_c)
template <class T>
inline double log_sum_exp(const T* s, std::size_t n) {
  const T best = largest(s, n);
  Vector<T> sum = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) sum += exponential<T>(load(s + c) - best);
  return static_cast<double>(best) + std::log(total<T>(sum));
}

// Newton's method for v_c + a exp(v_c) = r_c - theta, sum_c exp(v_c) = 1, in v and theta jointly,
// starting at the given v; then v is normalized, and u = exp(v). With h_c = 1 / (1 + a u_c) and
// e_c = r_c - v_c - a u_c: theta = (sum u h e + sum u - 1) / sum u h, v_c += h_c (e_c - theta).
template <class T>
inline void solve_log_simplex(const T* r, T a, std::size_t n, T* v, T* u) {
  constexpr int kSteps = 12;
  constexpr T kLongest = 3;  // longest change of v: its exponential is far from linear
  constexpr T kNear = sizeof(T) == 4 ? static_cast<T>(1e-2) : static_cast<T>(1e-5);
  const Vector<T> zero = {}, one = zero + 1, longest = zero + kLongest;
  Vector<T> left = {};
  for (int step = 0; step < kSteps; ++step) {
    Vector<T> weight = {}, residual = {}, mass = {};
    for (std::size_t c = 0; c < n; c += kLanes<T>) {
      const Vector<T> uc = load(u + c), h = one / (one + a * uc);
      residual += uc * h * (load(r + c) - load(v + c) - a * uc);
      weight += uc * h;
      mass += uc;
    }
    const T theta = static_cast<T>((total<T>(residual) + total<T>(mass) - 1) / total<T>(weight));
    Vector<T> moved = {};
    left = zero;
    for (std::size_t c = 0; c < n; c += kLanes<T>) {
      const Vector<T> uc = load(u + c), vc = load(v + c), h = one / (one + a * uc);
      Vector<T> by = h * (load(r + c) - vc - a * uc - theta);
      by = by > longest ? longest : (by < -longest ? -longest : by);
      const Vector<T> u_new = exponential<T>(vc + by);
      store(v + c, vc + by);
      store(u + c, u_new);
      left += u_new;
      moved = maximum<T>(moved, maximum<T>(u_new, uc) * (by < zero ? -by : by));
    }
    if (largest_lane<T, kVectorBytes>(&moved) <= kNear) break;
  }
  const double sum = total<T>(left);
  const T less = static_cast<T>(std::log(sum)), share = static_cast<T>(1 / sum);
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    store(v + c, load(v + c) - less);
    store(u + c, load(u + c) * share);
  }
}

// sum_c u_c log(u_c / p_c) for u = exp(v) and p = exp(w), both with sum 1: terms u_c (t - 1) + p_c
// with t = v_c - w_c, all non-negative, computed by a series if t is small.
template <class T>
inline double divergence(const T* u, const T* v, const T* p, const T* w, std::size_t n) {
  const Vector<T> zero = {}, small = zero + static_cast<T>(0.25);
  Vector<T> sum = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    const Vector<T> uc = load(u + c), t = load(v + c) - load(w + c);
    const Vector<T> far = uc * (t - 1) + load(p + c);
    const Vector<T> tail = static_cast<T>(1.0 / 24) - t * static_cast<T>(1.0 / 120);
    const Vector<T> near =
        uc * t * t * (static_cast<T>(0.5) - t * (static_cast<T>(1.0 / 6) - t * tail));
    sum += (t < zero ? -t : t) < small ? near : far;
  }
  return total<T>(sum);
}

}  // namespace manyclass::MANYCLASS_ISA
