#pragma once
// The tables of the kernels of prediction, and their arguments.
#include <cstdint>

#include "data/examples.hpp"
#include "weights/csr_weights.hpp"

namespace manyclass {

// A dense linear model: W (n_features x n_classes) without padding, and k intercepts.
template <class T>
struct LinearModel {
  const T* weights;
  const T* intercepts;
  std::int64_t n_features;
  std::int64_t n_classes;
};

// Rows with all their features, stored contiguously.
template <class T>
struct DenseRows {
  const T* values;
  std::int64_t n_rows;
  std::int64_t n_features;
};

// A class and its score.
template <class T>
struct Ranked {
  T score;
  std::int64_t label;
};

template <class T>
struct Predictors {
  // Whether all indices of these rows are numbers of features.
  bool (*in_range)(const Csr<T>&);
  // w_c . x + intercept_c for all rows and classes, (n_rows x n_classes).
  void (*csr_scores)(const LinearModel<T>&, const Csr<T>&, T* out);
  void (*dense_scores)(const LinearModel<T>&, const DenseRows<T>&, T* out);
  // The classes of the `top` largest of k scores, largest first, ties by class; `scratch` has room
  // for k classes.
  void (*top_labels)(const T* scores, std::int64_t k, std::int64_t top, Ranked<T>* scratch,
                     std::int64_t* labels);
};

// Scores of type T as above, for sparse W of type W.
template <class T, class W>
struct CsrWeightPredictors {
  void (*scores)(const CsrWeights<W>&, const T* intercepts, const Csr<T>& x, T* out);
};

}  // namespace manyclass
