#pragma once
// The block subproblem: all dual variables of one example, the others fixed.
//
// Crammer-Singer (v = 1, sigma = +1, simplex), after division by q = ||x||^2:
//
//     min_z  1/2 z^T (I + 1 1^T) z - b^T z     s.t.  z >= 0,  sum_c z_c <= cost
//
//   b = (I + 1 1^T) z_old + g / q,  g_c = 1 - (w_y - w_c) . x   (the ascent gradient)
//
// Given: b of the classes other than y, and cost = C_i > 0.
// Returns: z_c = max(0, b_c - theta), where theta is the one root of
//
//     sum_c max(0, b_c - theta) = min(theta, cost).
//
// Where the sum is free, theta = sum z; where it is at its bound, theta is that of the projection
// onto the simplex. Source: Keerthi et al. 2008, eq. 10, in the variables z_c = -alpha_c (c != y).
//
// Everything is measured from the largest b, so that a huge g / q loses no digit of a small cost.
#include <algorithm>
#include <cstdint>
#include <span>

#include "isa.hpp"
#include "kernels.hpp"

namespace manyclass::MANYCLASS_ISA {

// theta - b_max for a set of n coordinates above theta whose b (minus b_max) sum to `sum`.
inline double simplex_root_of(double sum, double n, double b_max, double cost) {
  return std::max((sum - b_max) / (n + 1), (sum - cost) / n);
}

// theta - b_max by Newton's method from the left: each step solves for the coordinates above the
// last value. Their number only falls (where rounding would let it rise, theta is exact already),
// so it ends after |block| steps at most, mostly after two.
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

}  // namespace manyclass::MANYCLASS_ISA
