#pragma once
// Sparse W for prediction, a CSR matrix: a list of entries for each feature, in order of classes.
#include <cstdint>

namespace manyclass {

// Feature j has the entries [indptr[j], indptr[j + 1]).
template <class W>
struct CsrWeights {
  const std::int64_t* indptr;
  const std::int32_t* classes;
  const W* values;
  std::int64_t n_features;
  std::int64_t n_classes;
};

// The error in the structure of W, or nullptr. The kernels do not check W, so every W passes this
// check first.
template <class W>
const char* flaw_of(const CsrWeights<W>& w, std::int64_t n_entries) {
  if (w.indptr[0] != 0 || w.indptr[w.n_features] != n_entries) return "indptr is inconsistent";
  for (std::int64_t j = 0; j < w.n_features; ++j) {
    if (w.indptr[j] > w.indptr[j + 1]) return "indptr is inconsistent";
  }
  for (std::int64_t j = 0; j < w.n_features; ++j) {
    const std::int64_t begin = w.indptr[j], end = w.indptr[j + 1];
    if (begin == end) continue;
    int falls = 0;
    for (std::int64_t e = begin + 1; e < end; ++e) falls |= w.classes[e] <= w.classes[e - 1];
    if (falls != 0) return "the classes of a feature are not ascending";
    if (w.classes[begin] < 0 || w.classes[end - 1] >= w.n_classes) return "a class is out of range";
  }
  return nullptr;
}

template <class W>
bool all_finite(const W* values, std::int64_t n) {
  int odd = 0;
  for (std::int64_t e = 0; e < n; ++e) odd |= values[e] - values[e] != W{0};
  return odd == 0;
}

}  // namespace manyclass
