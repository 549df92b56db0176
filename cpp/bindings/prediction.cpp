// Python's view of prediction with dense W.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "prediction/predictor.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

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
  nb::class_<Held>(m, name)
      .def(nb::init<Matrix<const T>, Vector<const T>, const std::string&>(), "weights"_a,
           "intercepts"_a, "instruction_set"_a)
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
          "indptr"_a, "indices"_a, "values"_a, "out"_a)
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
}

}  // namespace

void bind_prediction(nb::module_& m) {
  bind_predictor<float>(m, "Predictor32");
  bind_predictor<double>(m, "Predictor64");
}

}  // namespace manyclass
