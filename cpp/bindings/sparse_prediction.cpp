// Python's view of the kernels of prediction for sparse W.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/rows.hpp"
#include "weights/csr_weights.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

template <class T, class W>
SparseScores<T, W> sparse_kernel_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::sparse_kernel<T, W>();
  if (name == "avx2") return avx2::sparse_kernel<T, W>();
#endif
  return baseline::sparse_kernel<T, W>();
}

// Sparse W whose structure was looked at once. Holds references to the caller's arrays, which must
// not change from then on.
template <class W>
class CheckedCsrWeights {
 public:
  CheckedCsrWeights(Vector<const std::int64_t> indptr, Vector<const std::int32_t> classes,
                    Vector<const W> values, std::int64_t n_classes)
      : indptr_(indptr), classes_(classes), values_(values) {
    require(indptr.size() >= 1 && classes.size() == values.size() && n_classes >= 1,
            "the weights are no valid CSR matrix: shapes disagree");
    view_ = {indptr.data(), classes.data(), values.data(), size(indptr, 0) - 1, n_classes};
    const nb::gil_scoped_release release;
    const char* flaw = flaw_of(view_, size(values, 0));
    if (flaw != nullptr) {
      throw std::invalid_argument(std::string("the weights are no valid CSR matrix: ") + flaw);
    }
  }

  const CsrWeights<W>& view() const { return view_; }

  bool finite() const {
    const nb::gil_scoped_release release;
    return all_finite(view_.values, view_.indptr[view_.n_features]);
  }

 private:
  Vector<const std::int64_t> indptr_;
  Vector<const std::int32_t> classes_;
  Vector<const W> values_;
  CsrWeights<W> view_{};
};

// Scores of type T by sparse W of type W. Several threads may call it, each with rows and results
// of its own.
template <class T, class W>
class SparsePredictor {
 public:
  SparsePredictor(const CheckedCsrWeights<W>& weights, Vector<const T> intercepts,
                  const std::string& instruction_set)
      : weights_(weights.view()),
        intercepts_(intercepts),
        kernels_(predictors_for<T>(instruction_set)),
        kernel_(sparse_kernel_for<T, W>(instruction_set)) {
    require(size(intercepts, 0) == weights_.n_classes, "there must be one intercept per class");
  }

  void csr_scores(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                  Vector<const T> values, Matrix<T> out) const {
    const Csr<T> x = csr_of(indptr, indices, values, weights_.n_features);
    require_scores(out, x.n_rows, weights_.n_classes);
    const nb::gil_scoped_release release;
    require_in_range(kernels_, x);
    kernel_(weights_, intercepts_.data(), x, out.data());
  }

  void csr_labels(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                  Vector<const T> values, Matrix<std::int64_t> out) const {
    const Csr<T> x = csr_of(indptr, indices, values, weights_.n_features);
    require_labels(out, x.n_rows, weights_.n_classes);
    const nb::gil_scoped_release release;
    require_in_range(kernels_, x);
    const auto score = [&](std::int64_t begin, std::int64_t n, T* scores) {
      kernel_(weights_, intercepts_.data(), rows_of(x, begin, n), scores);
    };
    label_rows(kernels_, weights_.n_classes, out, score);
  }

 private:
  const CsrWeights<W>& weights_;
  Vector<const T> intercepts_;
  const Predictors<T>& kernels_;
  SparseScores<T, W> kernel_;
};

template <class W>
void bind_weights(nb::module_& m, const char* name) {
  nb::class_<CheckedCsrWeights<W>>(m, name)
      .def(nb::init<Vector<const std::int64_t>, Vector<const std::int32_t>, Vector<const W>,
                    std::int64_t>(),
           "indptr"_a, "classes"_a, "values"_a, "n_classes"_a)
      .def("finite", &CheckedCsrWeights<W>::finite);
}

template <class T, class W>
void bind_predictor(nb::module_& m, const char* name) {
  using Predictor = SparsePredictor<T, W>;
  nb::class_<Predictor>(m, name)
      .def(nb::init<const CheckedCsrWeights<W>&, Vector<const T>, const std::string&>(),
           "weights"_a, "intercepts"_a, "instruction_set"_a, nb::keep_alive<1, 2>())
      .def("csr_scores", &Predictor::csr_scores, "indptr"_a, "indices"_a, "values"_a, "out"_a)
      .def("csr_labels", &Predictor::csr_labels, "indptr"_a, "indices"_a, "values"_a, "out"_a);
}

}  // namespace

void bind_sparse_prediction(nb::module_& m) {
  bind_weights<float>(m, "SparseWeights32");
  bind_weights<double>(m, "SparseWeights64");
  bind_predictor<float, float>(m, "SparsePredictor32");
  bind_predictor<double, double>(m, "SparsePredictor64");
  bind_predictor<double, float>(m, "SparsePredictor64Of32");
}

}  // namespace manyclass
