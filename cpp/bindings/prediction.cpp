// Bindings of prediction with dense and sparse W.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "bindings/bindings.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "prediction/predictor.hpp"
#include "weights/csr_weights.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// Scores and labels of CSR rows.
template <class T, class Held>
void bind_csr_methods(nb::class_<Held>& predictor) {
  predictor
      .def(
          "csr_scores",
          [](const Held& p, Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
             Vector<const T> values, Matrix<T> out) {
            const nb::gil_scoped_release release;
            p.csr_scores(csr_of(view_of(indptr), view_of(indices), view_of(values), p.n_features()),
                         view_of(out));
          },
          "indptr"_a, "indices"_a, "values"_a, "out"_a)
      .def(
          "csr_labels",
          [](const Held& p, Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
             Vector<const T> values, Matrix<std::int64_t> out) {
            const nb::gil_scoped_release release;
            p.csr_labels(csr_of(view_of(indptr), view_of(indices), view_of(values), p.n_features()),
                         view_of(out));
          },
          "indptr"_a, "indices"_a, "values"_a, "out"_a);
}

// A predictor with the arrays that it refers to.
template <class T>
struct HeldPredictor : Predictor<T> {
  HeldPredictor(Matrix<const T> weights_, Vector<const T> intercepts_,
                const std::string& instruction_set)
      : Predictor<T>(view_of(weights_), view_of(intercepts_), instruction_set),
        weights(weights_),
        intercepts(intercepts_) {}
  HeldPredictor(const HeldPredictor&) = delete;
  HeldPredictor& operator=(const HeldPredictor&) = delete;

  Matrix<const T> weights;
  Vector<const T> intercepts;
};

template <class T>
void bind_predictor(nb::module_& m, const char* name) {
  using Held = HeldPredictor<T>;
  auto predictor = nb::class_<Held>(m, name);
  predictor
      .def(nb::init<Matrix<const T>, Vector<const T>, const std::string&>(), "weights"_a,
           "intercepts"_a, "instruction_set"_a)
      .def(
          "dense_scores",
          [](const Held& p, Matrix<const T> rows, Matrix<T> out) {
            const nb::gil_scoped_release release;
            return p.dense_scores(view_of(rows), view_of(out));
          },
          "rows"_a, "out"_a)
      .def(
          "dense_labels",
          [](const Held& p, Matrix<const T> rows, Matrix<std::int64_t> out) {
            const nb::gil_scoped_release release;
            return p.dense_labels(view_of(rows), view_of(out));
          },
          "rows"_a, "out"_a);
  bind_csr_methods<T>(predictor);
}

// Sparse W whose structure was checked once. It refers to the caller's arrays, which must
// not change afterwards.
template <class W>
class CheckedCsrWeights {
 public:
  CheckedCsrWeights(Vector<const std::int64_t> indptr, Vector<const std::int32_t> classes,
                    Vector<const W> values, std::int64_t n_classes)
      : indptr_(indptr), classes_(classes), values_(values) {
    require(indptr.size() >= 1 && classes.size() == values.size() && n_classes >= 1,
            "the weights are no valid CSR matrix: shapes disagree");
    view_ = {indptr.data(), classes.data(), values.data(), std::ssize(view_of(indptr)) - 1,
             n_classes};
    const nb::gil_scoped_release release;
    const char* flaw = flaw_of(view_, std::ssize(view_of(values)));
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

// A predictor with the array that it refers to; keep_alive keeps the weights.
template <class T, class W>
struct HeldSparsePredictor : SparsePredictor<T, W> {
  HeldSparsePredictor(const CheckedCsrWeights<W>& weights, Vector<const T> intercepts_,
                      const std::string& instruction_set)
      : SparsePredictor<T, W>(weights.view(), view_of(intercepts_), instruction_set),
        intercepts(intercepts_) {}

  Vector<const T> intercepts;
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
void bind_sparse_predictor(nb::module_& m, const char* name) {
  using Held = HeldSparsePredictor<T, W>;
  auto predictor = nb::class_<Held>(m, name);
  predictor.def(nb::init<const CheckedCsrWeights<W>&, Vector<const T>, const std::string&>(),
                "weights"_a, "intercepts"_a, "instruction_set"_a, nb::keep_alive<1, 2>());
  bind_csr_methods<T>(predictor);
}

}  // namespace

void bind_prediction(nb::module_& m) {
  bind_predictor<float>(m, "Predictor32");
  bind_predictor<double>(m, "Predictor64");
  bind_weights<float>(m, "SparseWeights32");
  bind_weights<double>(m, "SparseWeights64");
  bind_sparse_predictor<float, float>(m, "SparsePredictor32");
  bind_sparse_predictor<double, double>(m, "SparsePredictor64");
  bind_sparse_predictor<double, float>(m, "SparsePredictor64Of32");
}

}  // namespace manyclass
