#pragma once
// Visits of single pairs of an example and a class, for one-vs-rest: dual coordinate descent, with
// the weights of the class contiguous. If few z are free, this is faster than visits of
// all classes (dual/lane_sweep.hpp). Source: Hsieh et al. 2008, algorithm 1.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "dual/kernels.hpp"
#include "duals/dual_lanes.hpp"
#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

// w . x; several sums hide the latency of an addition.
template <class T>
double column_score(const Column<T>& w, const Row<T>& row) {
  T sums[4] = {};
  std::int64_t p = 0;
  for (; p + 4 <= row.nnz; p += 4) {
    for (int u = 0; u < 4; ++u) sums[u] += w.data[row.indices[p + u]] * row.values[p + u];
  }
  for (; p < row.nnz; ++p) sums[0] += w.data[row.indices[p]] * row.values[p];
  const T sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return static_cast<double>(sum) + *w.intercept * static_cast<double>(row.bias);
}

template <class T>
void add_to_column(const Column<T>& w, const Row<T>& row, double step) {
  const auto factor = static_cast<T>(step);
  for (std::int64_t p = 0; p < row.nnz; ++p) w.data[row.indices[p]] += factor * row.values[p];
  *w.intercept += step * static_cast<double>(row.bias);
}

// Visit the examples `order`; each visit updates only the z of the class of w.
template <class T>
SweepResult column_sweep(const Examples<T>& examples, const Column<T>& w, DualLanes<T>& duals,
                         std::span<const std::int32_t> order, double min_gap,
                         std::int32_t* active) {
  const Formulation& f = examples.formulation;
  SweepResult result;
  for (const std::int32_t i : order) {
    const Row<T> row = examples.x.row(i);
    const T* base = examples.base.of(i);
    const bool own = examples.owns(i, w.label);
    const double cost = examples.costs[i], q = examples.norms[i], sign = own ? 1 : -1;
    const double score = column_score(w, row) + (base ? static_cast<double>(base[w.label]) : 0.0);
    const double xi = (own ? f.gamma_own : f.gamma) - sign * score;
    const auto z = static_cast<double>(duals.lanes(i)[w.label]);
    const double gap = f.loss.term(z, xi, cost), slope = f.loss.gradient(z, xi, cost);
    const double bound = f.loss.upper(cost) * kAtBound<T>;
    const double violation = std::max(z < bound ? slope : 0.0, z > 0 ? -slope : 0.0);
    result.gap += gap;
    result.loss += cost * f.loss(xi);
    result.max_violation = std::max(result.max_violation, violation);
    if (gap < min_gap) continue;
    double moved = z;
    if (violation > 0) {
      const double best = (q * z + xi) / (q + f.loss.ridge(cost));
      const T kept = static_cast<T>(std::clamp(best, 0.0, f.loss.upper(cost)));
      moved = static_cast<double>(kept);
      const double delta = moved - z;
      duals.lanes(i)[w.label] = kept;
      add_to_column(w, row, sign * delta);
      result.dual_gain +=
          delta * (xi - 0.5 * q * delta) - f.loss.regularizer(moved * moved - z * z, cost);
      ++result.steps;
    }
    if (moved > 0 && moved < bound) active[result.n_active++] = i;
  }
  result.evaluations = std::ssize(order);
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
