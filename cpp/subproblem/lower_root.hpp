#pragma once
// Lower bounds of the roots in subproblem/root_finding.hpp, from the scores of all classes in whole
// vectors. The classes with b below such a bound stay at z = 0, and need not enter the block. A few
// of hundreds of classes remain.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/root_finding.hpp"
#include "subproblem/scratch.hpp"

namespace manyclass::MANYCLASS_ISA {

struct SumAbove {
  double sum;
  double n;
};

// The sum of s_c - from over the classes for which it exceeds t, and the number of classes; n is a
// multiple of the lanes.
template <class T>
inline SumAbove sum_above(const T* s, std::size_t n, T from, T t) {
  const Vector<T> zero = {}, one = zero + 1;
  Vector<T> sum = {}, count = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    const Vector<T> d = load(s + c) - from;
    sum += d > t ? d : zero;
    count += d > t ? one : zero;
  }
  return {static_cast<double>(lane_total<T, kVectorBytes>(&sum)),
          static_cast<double>(lane_total<T, kVectorBytes>(&count))};
}

// The scores of the classes with z = 0, in the subproblem of an example.
template <class T>
struct OtherScores {
  const T* s;     // n numbers, -inf for other classes
  std::size_t n;  // a multiple of the lanes
  double offset;  // xi_c = offset + s_c
  double q;       // ||x||^2
};

// Crammer-Singer: a lower bound of theta - b_max, for a block with known b and the other classes.
// Every step of Newton's method from the left solves for some coordinates. Its root is at most the
// root for all coordinates. A bound of the rounding error of the sums is subtracted from each root.
template <class T>
inline double lower_simplex_root(std::span<const Coordinate> block, const OtherScores<T>& others,
                                 const Reference& from, double b_max, double cost) {
  constexpr int kSteps = 8;
  constexpr double kFew = 4;  // coordinates that take no longer than another step
  constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const double q = others.q;
  const T s_from = static_cast<T>(from.xi - others.offset);
  const double terms = static_cast<double>(others.n / kLanes<T>) + 8;
  double theta = simplex_root_of(0, 1, b_max, cost);
  for (int step = 0; step < kSteps; ++step) {
    const double t = q * (theta + from.z);
    const SumAbove above = sum_above(others.s, others.n, s_from, static_cast<T>(t));
    double sum = above.sum / q - above.n * from.z, n = above.n;
    for (const Coordinate& c : block) {
      if (c.b <= theta) continue;
      sum += c.b;
      ++n;
    }
    const double size = std::max(std::abs(t), q * from.z);
    const double noise =
        kEpsilon * (terms * size + 2 * std::abs(from.xi) + 2 * std::abs(others.offset)) / q;
    const double next = simplex_root_of(sum, std::max(n, 1.0), b_max, cost) - noise;
    if (!(next > theta)) break;
    theta = next;
    if (above.n <= kFew) break;
  }
  return theta;
}

struct ClippedSum {
  double sum;
  double n_above;
  double n_free;
};

// The sum of clip(s_c - from, 0, top), the number of terms above 0, and the number between the
// bounds; n is a multiple of the lanes.
template <class T>
inline ClippedSum clipped_sum(const T* s, std::size_t n, T from, T top) {
  const Vector<T> zero = {}, one = zero + 1, most = zero + top;
  Vector<T> sum = {}, above = {}, free = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    const Vector<T> d = maximum<T>(load(s + c) - from, zero);
    sum += d < most ? d : most;
    above += d > zero ? one : zero;
    free += d < most ? one : zero;  // also terms of 0
  }
  const auto total = [](const Vector<T>& v) {
    return static_cast<double>(lane_total<T, kVectorBytes>(&v));
  };
  return {total(sum), total(above), total(free) - (static_cast<double>(n) - total(above))};
}

// The z of the other classes at x = q (t - sum_vz), times `scale`; n_free as in Box::free.
template <class T>
struct RestOfBox {
  RestOfBox(const Box& box, const OtherScores<T>& others)
      : others(others), scale(others.q * box.a), top(static_cast<T>(box.upper * scale)) {}

  ClippedSum at(double x) const {
    return clipped_sum(others.s, others.n, static_cast<T>(x - others.offset), top);
  }

  const OtherScores<T>& others;
  double scale;
  T top;
};

// The sum with factors of the classes: clip((s_c - from) / a_c, 0, top factor_c), with
// 1 / a_c = factor_c / (factor_c + ridge).
template <class T>
struct RestOfFactorBox {
  RestOfFactorBox(const FactorBox<T>& box, const OtherScores<T>& others)
      : others(others),
        scale(others.q),
        top(static_cast<T>(std::min(box.upper * others.q, kMost))),
        ridge(static_cast<T>(box.ridge)),
        factors(box.rounded) {}

  ClippedSum at(double x) const {
    const T from = static_cast<T>(x - others.offset);
    const Vector<T> zero = {}, one = zero + 1;
    Vector<T> sum = {}, above = {}, free = {};
    for (std::size_t c = 0; c < others.n; c += kLanes<T>) {
      const Vector<T> d = maximum<T>(load(others.s + c) - from, zero), f = load(factors + c);
      const Vector<T> share = f / (f + ridge), z = d * share, most = f * top;
      sum += z < most ? z : most;
      above += d > zero ? one : zero;
      free += (d > zero) & (z < most) ? share : zero;
    }
    const auto total = [](const Vector<T>& v) {
      return static_cast<double>(lane_total<T, kVectorBytes>(&v));
    };
    return {total(sum), total(above), total(free)};
  }

  static constexpr double kMost = static_cast<double>(std::numeric_limits<T>::max()) / 1e12;
  const OtherScores<T>& others;
  double scale;
  T top;
  T ridge;
  const T* factors;
};

template <class T>
RestOfBox<T> rest_of(const Box& box, const OtherScores<T>& others) {
  return {box, others};
}
template <class T>
RestOfFactorBox<T> rest_of(const FactorBox<T>& box, const OtherScores<T>& others) {
  return {box, others};
}

// Weston-Watkins (sigma = v = 1): a lower bound of t in box_root, for a block with known b and the
// other classes. h is decreasing, so t is such a bound if h(t) >= 0 by more than the rounding
// error. Given: a lower bound `t`.
template <class T, class AnyBox>
inline double lower_box_root(std::span<const Coordinate> block, const OtherScores<T>& others,
                             const AnyBox& box, double sum_vz, double t) {
  constexpr int kSteps = 8;
  constexpr double kFew = 4;
  constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const auto at_zero = rest_of(box, others);
  const double scale = at_zero.scale;
  const double terms = static_cast<double>(others.n / kLanes<T>) + 8;
  double proven = t;
  for (int step = 0; step < kSteps; ++step) {
    const double x = others.q * (t - sum_vz);
    const ClippedSum rest = at_zero.at(x);
    double sum = rest.sum / scale, n_free = rest.n_free;
    for (const Coordinate& c : block) {
      const double z = box.z(c, t);
      sum += z;
      n_free += box.free(c, z);
    }
    const double noise =
        kEpsilon * (terms * rest.sum + 2 * rest.n_above * (std::abs(x) + std::abs(others.offset))) /
        scale;
    const double h = sum - t - noise;
    if (!(h >= 0)) return proven;
    proven = t;
    if (rest.n_above <= kFew) return proven;
    t += h / (1 + box.curvature(n_free));
  }
  return proven;
}

}  // namespace manyclass::MANYCLASS_ISA
