#pragma once
// What a training run is judged by: W rebuilt from z, and one pass that changes nothing.
#include <algorithm>

#include "dual_sweep.hpp"

namespace manyclass::MANYCLASS_ISA {

// Gap, loss and largest violation of rows [begin, end).
template <class T>
SweepResult inspect(const Examples<T>& examples, const WeightsView<T>& w, const DualLists<T>& z,
                    Scratch<T> scratch, std::int64_t begin, std::int64_t end) {
  Visitor<T> visitor(examples, w, scratch);
  SweepResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    visitor.judge(i, visitor.look_at_all(i, z.row(i)), result);
  }
  return result;
}

// W += W(z) of rows [begin, end).
template <class T>
void add_duals(const Examples<T>& examples, const WeightsView<T>& w, const DualLists<T>& z,
               Scratch<T> scratch, std::int64_t begin, std::int64_t end) {
  const Visitor<T> visitor(examples, w, scratch);
  for (std::int64_t i = begin; i < end; ++i) visitor.add_duals(i, z.row(i));
}

// q_i = ||x_i||^2, the appended constant feature included.
template <class T>
void squared_norms(const Csr<T>& x, double* norms) {
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    const Row<T> row = x.row(i);
    double q = static_cast<double>(row.bias) * static_cast<double>(row.bias);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      q += static_cast<double>(row.values[p]) * static_cast<double>(row.values[p]);
    }
    norms[i] = q;
  }
}

}  // namespace manyclass::MANYCLASS_ISA
