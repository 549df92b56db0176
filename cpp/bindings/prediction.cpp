// Python's view of the kernels of prediction for dense W.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/rows.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// A linear model with the kernels of one instruction set. Holds references to the caller's arrays.
// Several threads may call it, each with rows and results of its own.
template <class T>
class Predictor {
 public:
  Predictor(Matrix<const T> weights, Vector<const T> intercepts, const std::string& instruction_set)
      : weights_(weights),
        intercepts_(intercepts),
        kernels_(predictors_for<T>(instruction_set)),
        model_{weights.data(), intercepts.data(), size(weights, 0), size(weights, 1)} {
    require(size(intercepts, 0) == model_.n_classes, "there must be one intercept per class");
    require(model_.n_classes >= 1, "there must be a class");
  }

  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  void csr_scores(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                  Vector<const T> values, Matrix<T> out) const {
    const Csr<T> x = csr(indptr, indices, values);
    require_scores(out, x.n_rows, model_.n_classes);
    const nb::gil_scoped_release release;
    require_in_range(kernels_, x);
    kernels_.csr_scores(model_, x, out.data());
  }

  void csr_labels(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                  Vector<const T> values, Matrix<std::int64_t> out) const {
    const Csr<T> x = csr(indptr, indices, values);
    require_labels(out, x.n_rows, model_.n_classes);
    const nb::gil_scoped_release release;
    require_in_range(kernels_, x);
    const auto score = [&](std::int64_t begin, std::int64_t n, T* scores) {
      kernels_.csr_scores(model_, rows_of(x, begin, n), scores);
    };
    label_rows(kernels_, model_.n_classes, out, score);
  }

  // Whether the scores of every row are finite, as those of a row with NaN or infinity never are.
  bool dense_scores(Matrix<const T> rows, Matrix<T> out) const {
    const DenseRows<T> x = dense(rows);
    require_scores(out, x.n_rows, model_.n_classes);
    const nb::gil_scoped_release release;
    kernels_.dense_scores(model_, x, out.data());
    return are_finite(out.data(), x.n_rows);
  }

  bool dense_labels(Matrix<const T> rows, Matrix<std::int64_t> out) const {
    const DenseRows<T> x = dense(rows);
    require_labels(out, x.n_rows, model_.n_classes);
    const nb::gil_scoped_release release;
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
  Csr<T> csr(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
             const Vector<const T>& values) const {
    return csr_of(indptr, indices, values, model_.n_features);
  }

  DenseRows<T> dense(const Matrix<const T>& rows) const {
    require(size(rows, 1) == model_.n_features, "X has another number of features");
    return {rows.data(), size(rows, 0), model_.n_features};
  }

  // A feature that is not finite leaves no score of its row finite: one per row is looked at.
  bool are_finite(const T* scores, std::int64_t n_rows) const {
    bool finite = true;
    for (std::int64_t i = 0; i < n_rows; ++i) finite &= std::isfinite(scores[i * model_.n_classes]);
    return finite;
  }

  Matrix<const T> weights_;
  Vector<const T> intercepts_;
  const Predictors<T>& kernels_;
  LinearModel<T> model_;
};

template <class T>
void bind_predictor(nb::module_& m, const char* name) {
  nb::class_<Predictor<T>>(m, name)
      .def(nb::init<Matrix<const T>, Vector<const T>, const std::string&>(), "weights"_a,
           "intercepts"_a, "instruction_set"_a)
      .def("csr_scores", &Predictor<T>::csr_scores, "indptr"_a, "indices"_a, "values"_a, "out"_a)
      .def("csr_labels", &Predictor<T>::csr_labels, "indptr"_a, "indices"_a, "values"_a, "out"_a)
      .def("dense_scores", &Predictor<T>::dense_scores, "rows"_a, "out"_a)
      .def("dense_labels", &Predictor<T>::dense_labels, "rows"_a, "out"_a);
}

}  // namespace

void bind_prediction(nb::module_& m) {
  bind_predictor<float>(m, "Predictor32");
  bind_predictor<double>(m, "Predictor64");
}

}  // namespace manyclass
