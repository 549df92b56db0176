#pragma once
// q_i = ||x_i||^2 of every row, in double, the appended constant feature included.
#include <cstdint>

#include "data/csr.hpp"
#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

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
