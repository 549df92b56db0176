#pragma once
// The preconditioned conjugate gradient method for a Newton step (Hestenes, Stiefel 1952).
#include <algorithm>
#include <cmath>

#include "data/array_views.hpp"
#include "newton/arrays.hpp"

namespace manyclass {

template <class T>
class ConjugateGradients {
 public:
  using Array = typename NewtonArrays<T>::Array;

  explicit ConjugateGradients(const NewtonArrays<T>& arrays)
      : arrays_(arrays),
        residual_(arrays.numbers()),
        solved_(arrays.numbers()),
        direction_(arrays.numbers()),
        product_(arrays.numbers()) {}

  // step <- about -H^-1 gradient; false if nothing was found. multiply(p, out): out <- H p;
  // precondition(r, out): out <- about H^-1 r; is_spent(): whether the work budget is used up.
  template <class Multiply, class Precondition, class IsSpent>
  bool solve(const Array& gradient, const Array& step, Multiply multiply, Precondition precondition,
             IsSpent is_spent) {
    arrays_.clear(step);
    arrays_.clear(residual_);
    arrays_.axpy(-1, gradient, residual_);
    const double goal = kForcing * length(residual_);
    precondition(residual_, solved_);
    arrays_.copy(solved_, direction_);
    double rho = arrays_.dot(residual_, solved_);
    for (int turn = 0; turn < kMaxTurns; ++turn) {
      multiply(direction_, product_);
      const double curvature = arrays_.dot(direction_, product_);
      if (!(curvature > 0) || !std::isfinite(curvature)) return turn > 0;
      arrays_.axpy(rho / curvature, direction_, step);
      arrays_.axpy(-rho / curvature, product_, residual_);
      if (!(length(residual_) > goal) || is_spent()) return true;
      precondition(residual_, solved_);
      const double next = arrays_.dot(residual_, solved_);
      arrays_.axpy(next / rho, direction_, solved_);
      arrays_.copy(solved_, direction_);
      rho = next;
    }
    return true;
  }

 private:
  static constexpr double kForcing = 0.5;  // ends at this part of the gradient
  static constexpr int kMaxTurns = 200;

  double length(const Array& a) const { return std::sqrt(arrays_.dot(a, a)); }

  const NewtonArrays<T>& arrays_;
  Array residual_, solved_, direction_, product_;
};

}  // namespace manyclass
