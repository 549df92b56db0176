#pragma once
// What the bindings of dense and of sparse W share: rows, scores and labels as arrays of Python's.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "prediction/kernels.hpp"
#include "simd/cpu_features.hpp"

namespace manyclass {

// What is held at a time when only labels are wanted: scores that stay in the second cache, of
// enough rows that W is read seldom.
inline constexpr std::int64_t kScoresAtOnce = 1 << 14;
inline constexpr std::int64_t kRowsAtOnce = 48;

template <class T>
const Predictors<T>& predictors_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::predictors<T>();
  if (name == "avx2") return avx2::predictors<T>();
#endif
  return baseline::predictors<T>();
}

template <class Array>
std::int64_t size(const Array& array, std::size_t axis) {
  return static_cast<std::int64_t>(array.shape(axis));
}

template <class T>
Csr<T> csr_of(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
              const Vector<const T>& values, std::int64_t n_features) {
  require(indptr.size() >= 1 && indices.size() == values.size(), "X is not a valid CSR matrix");
  const std::int64_t* begin = indptr.data();
  const std::int64_t* end = begin + indptr.size();
  require(*begin >= 0 && end[-1] <= size(indices, 0) && std::is_sorted(begin, end),
          "X is not a valid CSR matrix: its indptr is inconsistent");
  return {begin, indices.data(), values.data(), end - begin - 1, n_features, T{0}};
}

template <class T>
Csr<T> rows_of(const Csr<T>& x, std::int64_t begin, std::int64_t n) {
  return {x.indptr + begin, x.indices, x.values, n, x.n_features, x.bias};
}

template <class T>
void require_in_range(const Predictors<T>& kernels, const Csr<T>& x) {
  require(kernels.in_range(x), "X is not a valid CSR matrix: an index is out of range");
}

template <class T>
void require_scores(const Matrix<T>& out, std::int64_t n_rows, std::int64_t n_classes) {
  require(size(out, 0) == n_rows && size(out, 1) == n_classes,
          "the scores must be of shape (rows, classes)");
}

inline void require_labels(const Matrix<std::int64_t>& out, std::int64_t n_rows,
                           std::int64_t n_classes) {
  require(size(out, 0) == n_rows && 1 <= size(out, 1) && size(out, 1) <= n_classes,
          "the labels must be of shape (rows, from 1 to the number of classes)");
}

// The best labels of all rows, by scores of a few rows at a time: `score(begin, n, scores)`.
template <class T, class Score>
void label_rows(const Predictors<T>& kernels, std::int64_t k, const Matrix<std::int64_t>& out,
                Score score) {
  const std::int64_t top = size(out, 1), n_rows = size(out, 0);
  const std::int64_t at_once = std::max(kRowsAtOnce, kScoresAtOnce / k);
  std::vector<T> scores(static_cast<std::size_t>(std::min(at_once, n_rows) * k));
  std::vector<Ranked<T>> ranked(static_cast<std::size_t>(k));
  for (std::int64_t begin = 0; begin < n_rows; begin += at_once) {
    const std::int64_t n = std::min(at_once, n_rows - begin);
    score(begin, n, scores.data());
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t* labels = out.data() + (begin + i) * top;
      kernels.top_labels(scores.data() + i * k, k, top, ranked.data(), labels);
    }
  }
}

}  // namespace manyclass
