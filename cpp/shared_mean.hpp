#pragma once
// What ranks that share the mean of their classes' weights tell one another: of the sum of all u_c,
//
//     sum_c u_c = sum_i sigma_i x_i,    sigma_i = sum_c v_ic z_ic,  v_ic = 1 for c = y_i, else -1,
//
// each knows its own part of sigma_i, one number for an example. Source: Alber et al. 2017, sec. 3
// (the mean apart; there the vector itself travels).
#include <cstdint>
#include <span>

#include "kernels.hpp"

namespace manyclass {

// What of z is in D but for the weights, and in the mean.
struct RowSums {
  double sigma = 0;
  double linear = 0;  // sum_c gamma_c z_ic [- z_ic^2 / (4 C_i): squared hinge]
};

template <class T, class Duals>
RowSums row_sums(const Examples<T>& examples, const Duals& z, std::int64_t i) {
  const Formulation& f = examples.formulation;
  const double ridge = f.squared ? 1 / (4 * examples.costs[i]) : 0;
  RowSums sums;
  z.each(i, [&](std::int32_t c, T value) {
    const bool own = c == examples.labels[i];
    const double v = static_cast<double>(value);
    sums.sigma += own ? v : -v;
    sums.linear += v * ((own ? f.gamma_own : f.gamma) - ridge * v);
  });
  return sums;
}

// Take sum_i steps_i x_i off every w_c: W's column k holds it, but for the intercepts. All examples
// move those, so the sum grows large, and in the column most digits of the difference would cancel.
template <class T>
void shift(const Csr<T>& x, const WeightsView<T>& w, std::span<const std::int32_t> rows,
           std::span<const double> steps) {
  T* const column = w.data + w.n_classes;
  double off = 0;
  for (std::size_t m = 0; m < rows.size(); ++m) {
    const T step = static_cast<T>(steps[m]);
    const Row<T> row = x.row(rows[m]);
    off += steps[m] * static_cast<double>(row.bias);
    if (step == 0) continue;
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      column[row.indices[p] * w.stride] += step * row.values[p];
    }
  }
  T* const intercepts = w.data + x.n_features * w.stride;
  for (std::int32_t c = 0; c < w.n_classes; ++c) intercepts[c] -= static_cast<T>(off);
}

}  // namespace manyclass
