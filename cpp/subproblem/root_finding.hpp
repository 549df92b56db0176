#pragma once
// The block subproblem: the dual variables of one example, with all others fixed. For every
// formulation, after division by q = ||x||^2,
//
//     min_z  1/2 z^T (a I + sigma v v^T) z - b^T z     s.t.  z in a box or a simplex
//
//                      v                      sigma   set (hinge)
//   WW / CS            1 (c != y)             +1      0 <= z <= cost / z >= 0, sum z <= cost
//   LLW / ADM          -1 (c != y)            -1/k    likewise
//   ATS, RM / ATM      +1 at y, -1 elsewhere  -1/k    likewise
//   MMR                +1 at y                -1/k    0 <= z <= cost
//   OVR                +1 at y, -1 elsewhere  0       0 <= z <= cost
//
//   b = (I + sigma v v^T) z_old + xi / q,  xi_c = gamma_c - mu_c(x, y). a = 1, or for the squared
//   hinge 1 + 1 / (2 cost q), without upper bound. With factors of the classes (ExampleCosts in
//   data/examples.hpp), the box of WW and the a of each coordinate use the cost of the coordinate.
//
// Sources: Keerthi et al. 2008, eq. 10 and 21 (CS, WW); Dogan, Glasmachers, Igel 2016 (the family);
// Wang, Scott 2021 (the exact WW step).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "simd/isa.hpp"
#include "subproblem/scratch.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// theta - b_max for a set of n coordinates above theta whose b (minus b_max) have the sum `sum`.
inline double simplex_root_of(double sum, double n, double b_max, double cost) {
  return std::max((sum - b_max) / (n + 1), (sum - cost) / n);
}

// Crammer-Singer: z_c = max(0, b_c - theta) with the one root theta of
//     sum_c max(0, b_c - theta) = min(theta, cost).
// If the sum is free, theta = sum z; if it is at its bound, theta belongs to the projection onto
// the simplex. All numbers are relative to the largest b, so that a huge xi / q does not remove
// digits of a small cost: the b of the block are minus b_max; theta - b_max is returned. Newton's
// method from the left: each step solves for the coordinates above the last value. Their number
// decreases (if rounding increases it, theta is exact already), so there are at most |block| steps,
// usually two.
inline double simplex_root(std::span<const Coordinate> block, double b_max, double cost) {
  double theta = simplex_root_of(0, 1, b_max, cost);  // the largest b alone: a lower bound
  for (std::size_t previous = block.size() + 1;;) {
    double sum = 0;
    std::size_t above = 0;
    for (const Coordinate& c : block) {
      if (c.b > theta) {
        sum += c.b;
        ++above;
      }
    }
    if (above >= previous || above == 0) return theta;
    previous = above;
    theta = simplex_root_of(sum, static_cast<double>(above), b_max, cost);
  }
}

// theta of the projection of b onto {z >= 0, sum z = total}: sum max(0, b_c - theta) = total, over
// the coordinates with v < 0, whose largest b is 0.
inline double projection_root(std::span<const Coordinate> block, double total) {
  double theta = -total;
  for (std::size_t previous = block.size() + 1;;) {
    double sum = 0;
    std::size_t above = 0;
    for (const Coordinate& c : block) {
      if (c.b > theta && c.v < 0) {
        sum += c.b;
        ++above;
      }
    }
    if (above >= previous || above == 0) return theta;
    previous = above;
    theta = (sum - total) / static_cast<double>(above);
  }
}

// The box: z_c = clip((b_c - sigma v_c t) / a, 0, upper), t = v^T z.
struct Box {
  static constexpr bool has_classes = false;
  double sigma;
  double a;
  double upper;

  double z(const Coordinate& c, double t) const {
    return std::clamp((c.b - sigma * c.v * t) / a, 0.0, upper);
  }
  // sum_c 1 / a over the free z is n / a. Returns the part of n of a coordinate, given its z.
  double free(const Coordinate&, double z) const { return z > 0 && z < upper ? 1 : 0; }
  double curvature(double n) const { return sigma * n / a; }
};

// The box with factors of the classes: a = 1 + ridge / factor, upper times factor.
template <class T>
struct FactorBox {
  static constexpr bool has_classes = true;
  double sigma;
  double ridge;
  double upper;
  const double* factors;
  const T* rounded;  // factors rounded to T

  double a(std::int32_t c) const { return 1 + ridge / factors[c]; }
  double z(const Coordinate& c, double t) const {
    return std::clamp((c.b - sigma * c.v * t) / a(c.label), 0.0, upper * factors[c.label]);
  }
  double free(const Coordinate& c, double z) const {
    return z > 0 && z < upper * factors[c.label] ? 1 / a(c.label) : 0;
  }
  double curvature(double n) const { return sigma * n; }
};

// t, the one root of h(t) = v^T clip((b - sigma v t) / a, 0, upper) - t. h is decreasing and
// piecewise linear: Newton's method, with bisection in a bracket.
template <class AnyBox>
inline double box_root(std::span<const Coordinate> block, const AnyBox& box, double t) {
  double low = -kInfinity;
  double high = kInfinity;
  double stride = 0;
  for (int step = 0; step < 200; ++step) {
    double sum = 0;
    double n_free = 0;
    for (const Coordinate& c : block) {
      const double z = box.z(c, t);
      sum += c.v * z;
      n_free += box.free(c, z);
    }
    const double h = sum - t;
    if (h == 0) return t;
    (h > 0 ? low : high) = t;
    const double slope = 1 + box.curvature(n_free);
    double next = t + h / slope;
    if (slope < 1e-12) {  // ATS, RM with every coordinate free: flat up to a bound
      stride = 2 * std::max(stride, std::abs(h));
      next = t + std::copysign(stride, h);
    }
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (next == t || !std::isfinite(next) || !(low < high)) return t;
    t = next;
  }
  return t;
}

// ATM with an active sum: z_y = u, the others are the projection of their b onto sum = cost - u.
// The derivative in u, u - b_y + 2 sigma (2 u - cost) + theta(cost - u), is increasing.
inline double own_share(std::span<const Coordinate> block, double b_own, double sigma,
                        double cost) {
  double low = 0;
  double high = cost;
  for (int step = 0; step < 100 && high - low > 0; ++step) {
    const double u = 0.5 * (low + high);
    if (u == low || u == high) break;
    const double theta = projection_root(block, cost - u);
    const double derivative = u - b_own + 2 * sigma * (2 * u - cost) + theta;
    (derivative < 0 ? low : high) = u;
  }
  return 0.5 * (low + high);
}

// Maximum formulations with absolute margins: if the solution of the box violates sum z <= cost,
// the sum is at its bound. As in simplex_root, b is relative to the largest b (of coordinates with
// v < 0).
inline void cap_sum(std::span<Coordinate> block, double sum_vz, double sigma, double q,
                    double cost) {
  double sum = 0;
  const Coordinate* own = nullptr;
  const Coordinate* largest = nullptr;
  for (const Coordinate& c : block) {
    sum += c.z_new;
    if (c.v > 0) own = &c;
    if (c.v < 0 && (!largest || c.b > largest->b)) largest = &c;
  }
  if (sum <= cost) return;
  const double z_ref = largest->z;
  const double xi_ref = largest->xi;
  for (Coordinate& c : block) {
    c.b = (c.z - z_ref) + (c.xi - xi_ref) / q + (c.v > 0 ? 2 * sigma * sum_vz : 0);
  }
  const double u = own ? own_share(block, own->b, sigma, cost) : 0;
  const double theta = projection_root(block, cost - u);
  for (Coordinate& c : block) c.z_new = c.v > 0 ? u : std::max(0.0, c.b - theta);
}

// Crammer-Singer: the z and xi of a coordinate. b is relative to the largest b = z + xi / q.
struct Reference {
  double z;
  double xi;
};

// The coordinate with the largest b, in the block and for a coordinate with z = 0 and `xi_zero`.
inline Reference largest_b(std::span<const Coordinate> block, double xi_zero, double q) {
  Reference best{0, xi_zero};
  for (const Coordinate& c : block) {
    if (!((c.z - best.z) + (c.xi - best.xi) / q <= 0)) best = {c.z, c.xi};
  }
  return best;
}

inline void set_b(std::span<Coordinate> block, const Reference& from, double q) {
  for (Coordinate& c : block) c.b = (c.z - from.z) + (c.xi - from.xi) / q;
}

inline void project(std::span<Coordinate> block, double theta) {
  for (Coordinate& c : block) c.z_new = std::max(0.0, c.b - theta);
}

}  // namespace manyclass::MANYCLASS_ISA
