#pragma once
// Scores and best labels of rows by a linear model, with dense or sparse W, and checks of the
// arguments.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "prediction/kernels.hpp"
#include "simd/dispatch.hpp"
#include "weights/csr_weights.hpp"

namespace manyclass {

// Labels are computed for a few rows at a time, so that their scores stay in the second-level cache
// and W is read rarely.
inline constexpr std::int64_t kScoresAtOnce = 1 << 14;
inline constexpr std::int64_t kScoredRows = 48;

// A CSR matrix that was checked except for its indices.
template <class T>
Csr<T> csr_of(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
              std::span<const T> values, std::int64_t n_features) {
  require(indptr.size() >= 1 && indices.size() == values.size(), "X is not a valid CSR matrix");
  require(indptr.front() >= 0 && indptr.back() <= std::ssize(indices) &&
              std::is_sorted(indptr.begin(), indptr.end()),
          "X is not a valid CSR matrix: its indptr is inconsistent");
  return {indptr.data(), indices.data(), values.data(), std::ssize(indptr) - 1, n_features, T{0}};
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
void require_scores(const MatrixView<T>& out, std::int64_t n_rows, std::int64_t n_classes) {
  require(out.n_rows == n_rows && out.n_columns == n_classes,
          "the scores must be of shape (rows, classes)");
}

inline void require_labels(const MatrixView<std::int64_t>& out, std::int64_t n_rows,
                           std::int64_t n_classes) {
  require(out.n_rows == n_rows && 1 <= out.n_columns && out.n_columns <= n_classes,
          "the labels must be of shape (rows, from 1 to the number of classes)");
}

// The best labels of all rows, from scores of a few rows at a time: `score(begin, n, scores)`.
template <class T, class Score>
void label_rows(const Predictors<T>& kernels, std::int64_t k, const MatrixView<std::int64_t>& out,
                Score score) {
  const std::int64_t top = out.n_columns, n_rows = out.n_rows;
  const std::int64_t at_once = std::max(kScoredRows, kScoresAtOnce / k);
  std::vector<T> scores(std::min(at_once, n_rows) * k);
  std::vector<Ranked<T>> ranked(k);
  for (std::int64_t begin = 0; begin < n_rows; begin += at_once) {
    const std::int64_t n = std::min(at_once, n_rows - begin);
    score(begin, n, scores.data());
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t* labels = out.data + (begin + i) * top;
      kernels.top_labels(scores.data() + i * k, k, top, ranked.data(), labels);
    }
  }
}

// Dense W. Several threads may call it, each with its own rows and results.
template <class T>
class Predictor {
 public:
  Predictor(MatrixView<const T> weights, std::span<const T> intercepts,
            const std::string& instruction_set)
      : kernels_(kernels_for<Predictors<T>>(instruction_set)),
        model_{weights.data, intercepts.data(), weights.n_rows, weights.n_columns} {
    require(std::ssize(intercepts) == model_.n_classes, "there must be one intercept per class");
    require(model_.n_classes >= 1, "there must be a class");
  }

  std::int64_t n_features() const { return model_.n_features; }

  void csr_scores(const Csr<T>& x, MatrixView<T> out) const {
    require_scores(out, x.n_rows, model_.n_classes);
    require_in_range(kernels_, x);
    kernels_.csr_scores(model_, x, out.data);
  }

  void csr_labels(const Csr<T>& x, MatrixView<std::int64_t> out) const {
    require_labels(out, x.n_rows, model_.n_classes);
    require_in_range(kernels_, x);
    const auto score = [&](std::int64_t begin, std::int64_t n, T* scores) {
      kernels_.csr_scores(model_, rows_of(x, begin, n), scores);
    };
    label_rows(kernels_, model_.n_classes, out, score);
  }

  // Returns whether the scores of every row are finite. The scores of a row with NaN or infinity
  // are never finite.
  bool dense_scores(MatrixView<const T> rows, MatrixView<T> out) const {
    const DenseRows<T> x = dense(rows);
    require_scores(out, x.n_rows, model_.n_classes);
    kernels_.dense_scores(model_, x, out.data);
    return are_finite(out.data, x.n_rows);
  }

  bool dense_labels(MatrixView<const T> rows, MatrixView<std::int64_t> out) const {
    const DenseRows<T> x = dense(rows);
    require_labels(out, x.n_rows, model_.n_classes);
    bool finite = true;
    const auto score = [&](std::int64_t begin, std::int64_t n, T* scores) {
      const DenseRows<T> part{x.values + begin * x.n_features, n, x.n_features};
      kernels_.dense_scores(model_, part, scores);
      finite = finite && are_finite(scores, n);
    };
    label_rows(kernels_, model_.n_classes, out, score);
    return finite;
  }

 private:
  DenseRows<T> dense(const MatrixView<const T>& rows) const {
    require(rows.n_columns == model_.n_features, "X has another number of features");
    return {rows.data, rows.n_rows, model_.n_features};
  }

  // A feature that is not finite makes all scores of its row non-finite; checking one is enough.
  bool are_finite(const T* scores, std::int64_t n_rows) const {
    bool finite = true;
    for (std::int64_t i = 0; i < n_rows; ++i) finite &= std::isfinite(scores[i * model_.n_classes]);
    return finite;
  }

  const Predictors<T>& kernels_;
  LinearModel<T> model_;
};

// Scores of type T for sparse W of type W. Several threads may call it, each with its own rows and
// results.
template <class T, class W>
class SparsePredictor {
 public:
  SparsePredictor(const CsrWeights<W>& weights, std::span<const T> intercepts,
                  const std::string& instruction_set)
      : weights_(weights),
        intercepts_(intercepts.data()),
        kernels_(kernels_for<Predictors<T>>(instruction_set)),
        csr_kernels_(kernels_for<CsrWeightPredictors<T, W>>(instruction_set)) {
    require(std::ssize(intercepts) == weights.n_classes, "there must be one intercept per class");
  }

  std::int64_t n_features() const { return weights_.n_features; }

  void csr_scores(const Csr<T>& x, MatrixView<T> out) const {
    require_scores(out, x.n_rows, weights_.n_classes);
    require_in_range(kernels_, x);
    csr_kernels_.scores(weights_, intercepts_, x, out.data);
  }

  void csr_labels(const Csr<T>& x, MatrixView<std::int64_t> out) const {
    require_labels(out, x.n_rows, weights_.n_classes);
    require_in_range(kernels_, x);
    const auto score = [&](std::int64_t begin, std::int64_t n, T* scores) {
      csr_kernels_.scores(weights_, intercepts_, rows_of(x, begin, n), scores);
    };
    label_rows(kernels_, weights_.n_classes, out, score);
  }

 private:
  CsrWeights<W> weights_;
  const T* intercepts_;
  const Predictors<T>& kernels_;
  const CsrWeightPredictors<T, W>& csr_kernels_;
};

}  // namespace manyclass
