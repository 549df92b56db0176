#pragma once
// Scores of rows, w_c . x + intercept_c, for sparse W (weights/csr_weights.hpp).
#include <cstdint>

#include "data/csr.hpp"
#include "simd/isa.hpp"
#include "weights/csr_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// The k scores of a row stay in the second-level cache, and entries are read in the order of the
// memory: runs of classes whose scores fit into the first cache, or gathers and scatters of whole
// vectors, were no faster with 16,551 and 27,875 classes.
template <class T, class W>
void sparse_scores(const CsrWeights<W>& w, const T* intercepts, const Csr<T>& x, T* out) {
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    T* scores = out + i * w.n_classes;
    __builtin_memcpy(scores, intercepts, static_cast<std::size_t>(w.n_classes) * sizeof(T));
    for (std::int64_t p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
      const T value = x.values[p];
      const std::int64_t end = w.indptr[x.indices[p] + 1];
      for (std::int64_t e = w.indptr[x.indices[p]]; e < end; ++e) {
        scores[w.classes[e]] += value * static_cast<T>(w.values[e]);
      }
    }
  }
}

}  // namespace manyclass::MANYCLASS_ISA
