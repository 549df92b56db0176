#pragma once
// The loss of a slack xi, with cost C, and the corresponding dual variable z.
//
//                    loss(xi)           bounds         ridge R(z)       best z at xi
//   hinge            max(0, xi)         0 <= z <= C    0                C if xi > 0
//   squared hinge    max(0, xi)^2       0 <= z         z^2 / (4 C)      2 C max(0, xi)
//
// D has -R(z); by the Fenchel-Young inequality, C loss(xi) - z xi + R(z) >= 0. Losses are defined
// here, in problem/formulations.py and, for devices, in arrays/smooth/losses.py and arrays/svm.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace manyclass {

class Loss {
 public:
  // Throws std::invalid_argument if there is no loss with this name.
  static Loss named(const std::string& name) {
    if (name != "hinge" && name != "squared_hinge") {
      throw std::invalid_argument("loss must be 'hinge' or 'squared_hinge'");
    }
    return Loss(name == "squared_hinge");
  }
  constexpr Loss() = default;  // hinge
  explicit constexpr Loss(bool squared) : squared_(squared) {}

  // Whether D has a ridge R(z). If it has, z has no upper bound.
  [[gnu::always_inline]] bool has_ridge() const { return squared_; }

  // The loss, given max(0, xi) as numbers, vectors or lanes.
  template <class V>
  [[gnu::always_inline]] V of_positive(const V& xi) const {
    return squared_ ? xi * xi : xi;
  }
  [[gnu::always_inline]] double operator()(double xi) const {
    return of_positive(std::max(0.0, xi));
  }

  // The best z at xi > 0.
  [[gnu::always_inline]] double slope(double xi, double cost) const {
    return squared_ ? 2 * cost * xi : cost;
  }

  // The upper bound of z, possibly infinite; `finite_upper` is a finite number of type T.
  [[gnu::always_inline]] double upper(double cost) const {
    return squared_ ? std::numeric_limits<double>::infinity() : cost;
  }
  template <class T>
  [[gnu::always_inline]] T finite_upper(double cost) const {
    return squared_ ? std::numeric_limits<T>::max() : static_cast<T>(cost);
  }

  // R'' = 1 / (2 C), or 0.
  [[gnu::always_inline]] double ridge(double cost) const { return squared_ ? 1 / (2 * cost) : 0; }
  // sum_c R(z_c) from sum_c z_c^2.
  [[gnu::always_inline]] double regularizer(double sum_of_squares, double cost) const {
    return squared_ ? sum_of_squares / (4 * cost) : 0;
  }

  // dD/dz = xi - R'(z).
  [[gnu::always_inline]] double gradient(double z, double xi, double cost) const {
    return squared_ ? xi - z / (2 * cost) : xi;
  }
  // For the lanes of an example (subproblem/lane_subproblem.hpp); z may differ from e.z.
  template <class Lanes, class View>
  [[gnu::always_inline]] Lanes gradient_of(const Lanes& z, const View& e) const {
    return squared_ ? e.xi - z * e.of_costs([this](double C) { return ridge(C); }) : e.xi;
  }

  // C loss(xi) - z xi + R(z), without cancellation.
  [[gnu::always_inline]] double term(double z, double xi, double cost) const {
    if (!squared_) return xi > 0 ? (cost - z) * xi : -z * xi;
    const double half = z / (2 * cost);
    return xi > 0 ? cost * (xi - half) * (xi - half) : z * (half / 2 - xi);
  }
  // The term for lanes, given max(0, xi), up to the rounding of its three parts.
  template <class Lanes, class View>
  [[gnu::always_inline]] Lanes term_of(const View& e, const Lanes& positive) const {
    const Lanes costs = e.of_costs([](double C) { return C; });
    const Lanes difference = of_positive(positive) * costs - e.z * e.xi;
    if (!squared_) return difference;
    return difference + e.z * e.z * e.of_costs([](double C) { return 1 / (4 * C); });
  }

 private:
  bool squared_ = false;
};

}  // namespace manyclass
