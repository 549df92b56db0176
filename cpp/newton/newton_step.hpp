#pragma once
// The direction of a Newton step by the preconditioned conjugate gradient method (Hestenes, Stiefel
// 1952), and the slope of phi (newton/proximal_kernels.hpp) along it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/array_views.hpp"
#include "data/examples.hpp"
#include "newton/arrays.hpp"
#include "newton/kernel_table.hpp"
#include "newton/newton_team.hpp"

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

  // step <- about -H^-1 gradient; false if there is no step. multiply(p, out): out <- H p;
  // precondition(r, out): out <- about H^-1 r; is_spent(): whether the work budget is used up.
  template <class Multiply, class Precondition, class IsSpent>
  bool solve(const Array& gradient, const Array& step, int most_turns, Multiply multiply,
             Precondition precondition, IsSpent is_spent) {
    arrays_.clear(step);
    arrays_.clear(residual_);
    arrays_.axpy(-1, gradient, residual_);
    const double goal = kForcing * length(residual_);
    precondition(residual_, solved_);
    arrays_.copy(solved_, direction_);
    double rho = arrays_.dot(residual_, solved_);
    for (int turn = 0; turn < most_turns; ++turn) {
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
  static constexpr double kForcing = 0.5;  // the residual at the end, relative to the gradient

  double length(const Array& a) const { return std::sqrt(arrays_.dot(a, a)); }

  const NewtonArrays<T>& arrays_;
  Array residual_, solved_, direction_, product_;
};

// Contribution of the examples to d phi / dt at W + t step.
template <class T>
class ExamplesSlope {
 public:
  ExamplesSlope(const Examples<T>& examples, const NewtonKernels<T>& kernels, NewtonTeam<T>& team)
      : kernels_(kernels), team_(team), near_(examples.x.n_rows), scrap_(near_.size()) {
    for (std::int64_t i = 0; i < examples.x.n_rows; ++i) {
      if (examples.norms[i] > 0) rows_.push_back(static_cast<std::int32_t>(i));
    }
  }

  // all: over all examples; stores the examples that count up to t. Otherwise over these examples:
  // slacks are linear in t, so an example with no z > 0 at 0 or at the far end has none between.
  double at(const Proximal<T>& problem, double t, bool all, double row_work) {
    const std::vector<std::int32_t>& rows = all ? rows_ : near_;
    const std::int64_t n = all ? std::ssize(rows_) : n_near_;
    std::vector<std::int32_t>& found = all ? near_ : scrap_;
    if (all) n_near_ = 0;
    double slope = 0;
    std::vector<SlopeResult> parts(team_.size());
    team_.in_chunks(
        n, row_work,
        [&](int member, std::int64_t begin, std::int64_t end) {
          parts[member] = kernels_.slope(problem, t, {rows.data() + begin, rows.data() + end},
                                         found.data() + begin);
        },
        [&](std::int64_t begin, std::int64_t end) {
          for (const SlopeResult& part : parts) slope += part.slope;
          if (all) collect(parts, begin, end);
        });
    return slope;
  }

 private:
  // Join the members' lists of near examples.
  void collect(const std::vector<SlopeResult>& parts, std::int64_t begin, std::int64_t end) {
    for (std::size_t member = 0; member < parts.size(); ++member) {
      const std::int64_t from = team_.cut(begin, end, static_cast<int>(member));
      std::copy_n(near_.data() + from, parts[member].n_near, near_.data() + n_near_);
      n_near_ += parts[member].n_near;
    }
  }

  const NewtonKernels<T>& kernels_;
  NewtonTeam<T>& team_;
  std::vector<std::int32_t> near_, scrap_, rows_;
  std::int64_t n_near_ = 0;
};

}  // namespace manyclass
