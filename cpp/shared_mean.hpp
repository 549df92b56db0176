#pragma once
// What ranks that share the mean m of their classes' weights tell one another: of the sum of all
// u_c,
//
//     sum_c u_c = sum_i sigma_i x_i,    sigma_i = sum_c v_ic z_ic,  v_ic = 1 for c = y_i, else -1,
//
// each knows its own part of sigma_i, one number for an example. Source: Alber et al. 2017, sec. 3
// (the mean apart; there the vector itself travels).
#include <cstdint>
#include <span>

#include "kernels.hpp"

namespace manyclass {

template <class T, class Duals>
double sigma_of(const Examples<T>& examples, const Duals& z, std::int64_t i) {
  double sigma = 0;
  z.each(i, [&](std::int32_t c, T value) {
    sigma += (c == examples.labels[i] ? 1 : -1) * static_cast<double>(value);
  });
  return sigma;
}

// S = sum_c w_c of the classes here, shape (d + 1,): what -1/2 sum_c ||w_c||^2 changes by when one
// vector along x is taken off them all.
template <class T>
class ClassSum {
 public:
  ClassSum(const Examples<T>& examples, std::int32_t n_classes, double* sum)
      : x_(examples.x), n_classes_(n_classes), sum_(sum) {}

  double dot(std::int64_t i) const {
    const Row<T> row = x_.row(i);
    double total = static_cast<double>(row.bias) * sum_[x_.n_features];
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      total += static_cast<double>(row.values[p]) * sum_[row.indices[p]];
    }
    return total;
  }
  void add(std::int64_t i, double step) const {
    const Row<T> row = x_.row(i);
    sum_[x_.n_features] += step * static_cast<double>(row.bias);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      sum_[row.indices[p]] += step * static_cast<double>(row.values[p]);
    }
  }
  // Take step x_i off every w_c; the change of -1/2 sum_c ||w_c||^2, where q = ||x_i||^2.
  double take_off(std::int64_t i, double step, double q) const {
    const double gain = step * (dot(i) - 0.5 * n_classes_ * step * q);
    add(i, -n_classes_ * step);
    return gain;
  }

 private:
  const Csr<T>& x_;
  std::int32_t n_classes_;
  double* sum_;
};

// After visits that moved sigma of `rows` by `moved`, each m along with it by the drift, take
// steps_i x_i more off every w_c: W's column k holds it, but for the intercepts. All examples move
// those, so the sum grows large, and in the column most digits of the difference would cancel; what
// visits left there goes, too. Returns what D's part of these classes gains by all that moved m,
// beside what the visits say; keeps S.
template <class T>
double follow_mean(const Examples<T>& examples, const WeightsView<T>& w,
                   std::span<const std::int32_t> rows, const double* moved, const double* steps,
                   double* sum) {
  const Csr<T>& x = examples.x;
  const ClassSum<T> S(examples, w.n_classes, sum);
  const double drift = examples.formulation.drift;
  double gain = 0;
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (moved[m] == 0) continue;
    const double drifted = drift * moved[m], rest = moved[m] - w.n_classes * drifted;
    gain += drifted * (S.dot(rows[m]) + 0.5 * examples.norms[rows[m]] * rest);
    S.add(rows[m], rest);
  }
  T* const column = w.data + w.n_classes;
  T* const intercepts = w.data + x.n_features * w.stride;
  double off = static_cast<double>(intercepts[w.n_classes]);
  intercepts[w.n_classes] = 0;
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (steps[m] == 0) continue;
    gain += S.take_off(rows[m], steps[m], examples.norms[rows[m]]);
    const T step = static_cast<T>(steps[m]);
    const Row<T> row = x.row(rows[m]);
    off += steps[m] * static_cast<double>(row.bias);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      column[row.indices[p] * w.stride] += step * row.values[p];
    }
  }
  for (std::int32_t c = 0; c < w.n_classes; ++c) intercepts[c] -= static_cast<T>(off);
  return gain;
}

// Take the column off the classes; it is 0 then.
template <class T>
void fold_mean(const WeightsView<T>& w) {
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T* const row = w.data + j * w.stride;
    const T common = row[w.n_classes];
    if (common == 0) continue;
    for (std::int32_t c = 0; c < w.n_classes; ++c) row[c] -= common;
    row[w.n_classes] = 0;
  }
}

}  // namespace manyclass
