// Python's view of the kernels of prediction.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "instruction_sets.hpp"
#include "prediction.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

template <class T>
const Predictors<T>& predictors_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::predictors<T>();
  if (name == "avx2") return avx2::predictors<T>();
#endif
  return baseline::predictors<T>();
}

// What is held at a time when only labels are wanted: scores that stay in the second cache, of
// enough rows that W is read seldom.
constexpr std::int64_t kScoresAtOnce = 1 << 14;
constexpr std::int64_t kRowsAtOnce = 48;

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
    require_scores(out, x.n_rows);
    const nb::gil_scoped_release release;
    require_in_range(x);
    kernels_.csr_scores(model_, x, out.data());
  }

  void csr_labels(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                  Vector<const T> values, Matrix<std::int64_t> out) const {
    const Csr<T> x = csr(indptr, indices, values);
    require_labels(out, x.n_rows);
    const nb::gil_scoped_release release;
    require_in_range(x);
    label_rows(out, [&](std::int64_t begin, std::int64_t n, T* scores) {
      const Csr<T> part{x.indptr + begin, x.indices, x.values, n, x.n_features, x.bias};
      kernels_.csr_scores(model_, part, scores);
    });
  }

  // Whether the scores of every row are finite, as those of a row with NaN or infinity never are.
  bool dense_scores(Matrix<const T> rows, Matrix<T> out) const {
    const DenseRows<T> x = dense(rows);
    require_scores(out, x.n_rows);
    const nb::gil_scoped_release release;
    kernels_.dense_scores(model_, x, out.data());
    return are_finite(out.data(), x.n_rows);
  }

  bool dense_labels(Matrix<const T> rows, Matrix<std::int64_t> out) const {
    const DenseRows<T> x = dense(rows);
    require_labels(out, x.n_rows);
    const nb::gil_scoped_release release;
    bool finite = true;
    label_rows(out, [&](std::int64_t begin, std::int64_t n, T* scores) {
      const DenseRows<T> part{x.values + begin * x.n_features, n, x.n_features};
      kernels_.dense_scores(model_, part, scores);
      finite = finite && are_finite(scores, n);
    });
    return finite;
  }

 private:
  template <class Array>
  static std::int64_t size(const Array& array, std::size_t axis) {
    return static_cast<std::int64_t>(array.shape(axis));
  }

  Csr<T> csr(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
             const Vector<const T>& values) const {
    require(indptr.size() >= 1 && indices.size() == values.size(), "X is not a valid CSR matrix");
    const std::int64_t* begin = indptr.data();
    const std::int64_t* end = begin + indptr.size();
    require(*begin >= 0 && end[-1] <= size(indices, 0) && std::is_sorted(begin, end),
            "X is not a valid CSR matrix: its indptr is inconsistent");
    return {begin, indices.data(), values.data(), end - begin - 1, model_.n_features, T{0}};
  }

  void require_in_range(const Csr<T>& x) const {
    require(kernels_.in_range(x), "X is not a valid CSR matrix: an index is out of range");
  }

  DenseRows<T> dense(const Matrix<const T>& rows) const {
    require(size(rows, 1) == model_.n_features, "X has another number of features");
    return {rows.data(), size(rows, 0), model_.n_features};
  }

  void require_scores(const Matrix<T>& out, std::int64_t n_rows) const {
    require(size(out, 0) == n_rows && size(out, 1) == model_.n_classes,
            "the scores must be of shape (rows, classes)");
  }

  void require_labels(const Matrix<std::int64_t>& out, std::int64_t n_rows) const {
    require(size(out, 0) == n_rows && 1 <= size(out, 1) && size(out, 1) <= model_.n_classes,
            "the labels must be of shape (rows, from 1 to the number of classes)");
  }

  // A feature that is not finite leaves no score of its row finite: one per row is looked at.
  bool are_finite(const T* scores, std::int64_t n_rows) const {
    bool finite = true;
    for (std::int64_t i = 0; i < n_rows; ++i) finite &= std::isfinite(scores[i * model_.n_classes]);
    return finite;
  }

  // The best labels of all rows, by scores of a few rows at a time.
  template <class Score>
  void label_rows(const Matrix<std::int64_t>& out, Score score) const {
    const std::int64_t k = model_.n_classes, top = size(out, 1), n_rows = size(out, 0);
    const std::int64_t at_once = std::max(kRowsAtOnce, kScoresAtOnce / k);
    std::vector<T> scores(static_cast<std::size_t>(std::min(at_once, n_rows) * k));
    std::vector<Ranked<T>> ranked(static_cast<std::size_t>(k));
    for (std::int64_t begin = 0; begin < n_rows; begin += at_once) {
      const std::int64_t n = std::min(at_once, n_rows - begin);
      score(begin, n, scores.data());
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t* labels = out.data() + (begin + i) * top;
        kernels_.top_labels(scores.data() + i * k, k, top, ranked.data(), labels);
      }
    }
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
