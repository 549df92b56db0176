#pragma once
// The slacks of an example, xi_c = gamma_c - mu_c(x, y), from its scores s_c = w_c . x plus base
// scores (data/base_scores.hpp). dual/column_sweep.hpp computes single slacks without this file.
//
//   relative margins   mu_c = s_y - s_c
//   absolute margins   mu_c = -(s_c - shift) for c != y,  mu_y = s_y - shift
//
// The shift is subtracted from every score: the score of the mean of W, if it is stored separately.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "data/examples.hpp"
#include "data/loss.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/root_finding.hpp"

namespace manyclass {

class Slacks {
 public:
  [[gnu::always_inline]] Slacks(const Formulation& f, double s_y, double shift)
      : offset_(f.gamma - (f.relative ? s_y : shift)), own_(f.gamma_own - (s_y - shift)) {}

  // xi_c = offset + s_c for c != y.
  [[gnu::always_inline]] double offset() const { return offset_; }
  [[gnu::always_inline]] double other(double score) const { return offset_ + score; }
  // xi_y, for absolute margins.
  [[gnu::always_inline]] double own() const { return own_; }

 private:
  double offset_;
  double own_;
};

// The slacks for lanes of T: of c != y, and of y. `less` is s_y for relative margins, or the
// shift.
template <class T, class Lanes>
[[gnu::always_inline]] inline Lanes slacks_of_others(const Formulation& f, const Lanes& s, T less) {
  return s + static_cast<T>(f.gamma - static_cast<double>(less));
}
template <class T, class Lanes>
[[gnu::always_inline]] inline Lanes slack_of_own(const Formulation& f, const Lanes& s, T less) {
  return Lanes::all(static_cast<T>(f.gamma_own + static_cast<double>(less))) - s;
}

[[gnu::always_inline]] inline double largest_gamma(const Formulation& f) {
  return f.own ? std::max(f.gamma, f.gamma_own) : f.gamma;
}

}  // namespace manyclass

namespace manyclass::MANYCLASS_ISA {

// Summary of an example's coordinates and scores before its block is solved. "Others": the targets
// c != y with z = 0.
struct BlockSummary {
  std::size_t size = 0;           // coordinates in the block so far
  double offset = 0;              // xi_c = offset + s_c for c != y
  double xi_own = 0;              // xi_y, for absolute margins
  double sum_z = 0;               // sum_c z_c
  double sum_vz = 0;              // v^T z
  double z_dot_xi = 0;            // sum_c z_c xi_c
  double squares = 0;             // sum_c z_c^2, divided by the factor of c (data/examples.hpp)
  double xi_others = -kInfinity;  // largest xi of the others
  double xi_max = -kInfinity;     // largest xi of the targets
  double xi_min = kInfinity;      // smallest xi with z > 0
  double losses = 0;              // sum of the targets' losses, times their factors
  double violation = 0;           // largest violation of a coordinate (sum formulations)
};

// sum_c times(loss(s_c + offset), c); n is a multiple of the lanes.
template <class T, class Times>
inline double sum_of_losses_by(const T* s, std::size_t n, T offset, Loss loss, Times times) {
  Vector<T> sum = {};
  const Vector<T> zero = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    sum += times(loss.of_positive(maximum<T>(load(s + c) + offset, zero)), c);
  }
  double total = 0;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) total += static_cast<double>(sum[lane]);
  return total;
}

// sum_c loss(s_c + offset); n is a multiple of the lanes.
template <class T>
inline double sum_of_losses(const T* s, std::size_t n, T offset, Loss loss) {
  return sum_of_losses_by(s, n, offset, loss, [](const Vector<T>& l, std::size_t) { return l; });
}

// The sum with the factors of the classes, which need not be aligned.
template <class T>
inline double sum_of_losses(const T* s, std::size_t n, T offset, Loss loss, const T* factors) {
  return sum_of_losses_by(s, n, offset, loss, [factors](const Vector<T>& l, std::size_t c) {
    Vector<T> f;
    std::memcpy(&f, factors + c, sizeof(f));
    return l * f;
  });
}

}  // namespace manyclass::MANYCLASS_ISA
