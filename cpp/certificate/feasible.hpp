#pragma once
// Feasible z for certificates. Rounded to T, z may exceed its bound, but the dual objective is a
// lower bound only at feasible z. W(z) and the gap therefore use z clipped in double.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "data/examples.hpp"
#include "simd/vector.hpp"

namespace manyclass {

// Call f(c, z_ic) for the z > 0 of row i.
template <class T, class Duals, class F>
void each_feasible(const Examples<T>& examples, const Duals& z, std::int64_t i, F f) {
  const Formulation& formulation = examples.formulation;
  const double cost = examples.costs[i];
  if (formulation.maximum) {
    double sum = 0;
    z.each(i, [&](std::int32_t, T value) { sum += static_cast<double>(value); });
    const double scale = sum > cost ? cost / sum : 1.0;
    z.each(i, [&](std::int32_t c, T value) { f(c, scale * static_cast<double>(value)); });
    return;
  }
  const ExampleCosts costs = examples.costs_of(i);
  z.each(i, [&](std::int32_t c, T value) {
    f(c, std::min(static_cast<double>(value), formulation.loss.upper(costs.of(c))));
  });
}

// sigma_i = sum_c v_ic z_ic for absolute margins: v_ic = 1 for c = y_i, else -1.
template <class T, class Duals>
double sigma_of(const Examples<T>& examples, const Duals& z, std::int64_t i) {
  double sigma = 0;
  each_feasible(examples, z, i, [&](std::int32_t c, double value) {
    sigma += examples.owns(i, c) ? value : -value;
  });
  return sigma;
}

// Call f(c, a_ic) for the coefficients of row i in W(z): w_c = sum_i a_ic x_i, before a mean is
// subtracted.
template <class T, class Duals, class F>
void each_coefficient(const Examples<T>& examples, const Duals& z, std::int64_t i, F f) {
  const std::int32_t y = examples.labels[i];
  const bool relative = examples.formulation.relative;
  double sum = 0;
  each_feasible(examples, z, i, [&](std::int32_t c, double value) {
    sum += value;
    f(c, !relative && examples.owns(i, c) ? value : -value);
  });
  if (relative && sum > 0) f(y, sum);
}

}  // namespace manyclass
