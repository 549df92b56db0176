#pragma once
// The slacks of an example, xi_c = gamma_c - mu_c(x, y), from its scores s_c = w_c . x. Only this
// file knows gamma.
//
//   relative margins   mu_c = s_y - s_c
//   absolute margins   mu_c = -(s_c - shift) for c != y,  mu_y = s_y - shift
//
// The shift is what is taken off every score: that of the mean of W, where it is stored separately.
#include <algorithm>

#include "data/formulation.hpp"

namespace manyclass {

class Slacks {
 public:
  [[gnu::always_inline]] Slacks(const Formulation& f, double s_y, double shift)
      : offset_(f.gamma - (f.relative ? s_y : shift)), own_(f.gamma_own - (s_y - shift)) {}

  // xi_c = offset + s_c for c != y.
  [[gnu::always_inline]] double offset() const { return offset_; }
  [[gnu::always_inline]] double other(double score) const { return offset_ + score; }
  // xi_y, of absolute margins.
  [[gnu::always_inline]] double own() const { return own_; }

 private:
  double offset_;
  double own_;
};

// The same for lanes of T: the slacks of c != y, and at y that of y. `less` is s_y of relative
// margins, or the shift.
template <class T, class Lanes>
[[gnu::always_inline]] inline Lanes slacks_of_others(const Formulation& f, const Lanes& s, T less) {
  return s + static_cast<T>(f.gamma - static_cast<double>(less));
}
template <class T, class Lanes>
[[gnu::always_inline]] inline Lanes slack_of_own(const Formulation& f, const Lanes& s, T less) {
  return Lanes::all(static_cast<T>(f.gamma_own + static_cast<double>(less))) - s;
}

[[gnu::always_inline]] inline double largest_gamma(const Formulation& f) {
  return std::max(f.gamma, f.gamma_own);
}

}  // namespace manyclass
