// Bindings of multinomial logistic regression.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>

#include "bindings/bindings.hpp"
#include "data/check_problem.hpp"
#include "logistic/kernels.hpp"
#include "logistic/logistic_trainer.hpp"

namespace manyclass {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// Empty arrays mean no change.
ClassShift shift_of(std::int64_t n_classes, const Vector<const double>& leaves,
                    const Vector<const double>& enters) {
  if (leaves.size() == 0 && enters.size() == 0) return {};
  require(std::cmp_equal(leaves.size(), n_classes) && std::cmp_equal(enters.size(), n_classes),
          "there must be a share for every class");
  return {leaves.data(), enters.data()};
}

template <class T>
void bind_trainer(nb::module_& m, const char* name) {
  auto trainer = nb::class_<LogisticTrainer<T>>(m, name);
  bind_trainer_of<T>(trainer);
  trainer
      .def(
          "visit",
          [](LogisticTrainer<T>& t, Matrix<T> weights, Matrix<T> v, bool fresh, bool class_major,
             std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return t.visit(view_of(weights), view_of(v), fresh, class_major, seed);
          },
          "weights"_a, "v"_a, "fresh"_a, "class_major"_a, "seed"_a)
      .def(
          "gradient",
          [](LogisticTrainer<T>& t, Matrix<T> weights, Matrix<T> out, bool class_major) {
            const nb::gil_scoped_release release;
            return t.gradient(view_of(weights), view_of(out), class_major);
          },
          "weights"_a, "out"_a, "class_major"_a)
      .def(
          "curvature",
          [](LogisticTrainer<T>& t, Matrix<T> weights, Matrix<T> direction, Matrix<T> out,
             bool class_major) {
            const nb::gil_scoped_release release;
            t.curvature(view_of(weights), view_of(direction), view_of(out), class_major);
          },
          "weights"_a, "direction"_a, "out"_a, "class_major"_a)
      .def(
          "log_softmax",
          [](LogisticTrainer<T>& t, Matrix<T> weights, Matrix<T> v, bool class_major) {
            const nb::gil_scoped_release release;
            t.log_softmax(view_of(weights), view_of(v), class_major);
          },
          "weights"_a, "v"_a, "class_major"_a)
      .def(
          "inspect",
          [](LogisticTrainer<T>& t, Matrix<double> weights, Vector<const double> largest,
             std::optional<Matrix<T>> v, Vector<const double> leaves, Vector<const double> enters,
             std::optional<Matrix<double>> sums, Vector<double> left, bool class_major) {
            const ClassShift by = shift_of(t.problem().n_classes(), leaves, enters);
            const nb::gil_scoped_release release;
            MatrixView<T> duals{};
            MatrixView<double> into{};
            if (v) duals = view_of(*v);
            if (sums) into = view_of(*sums);
            return t.inspect(view_of(weights), view_of(largest), v ? &duals : nullptr, by,
                             sums ? &into : nullptr, view_of(left), class_major);
          },
          "weights"_a, "largest"_a, "v"_a.none(), "leaves"_a, "enters"_a, "sums"_a.none(), "left"_a,
          "class_major"_a)
      .def(
          "inspect_held",
          [](LogisticTrainer<T>& t, Matrix<T> weights, Matrix<T> v, Vector<const double> leaves,
             Vector<const double> enters) {
            const ClassShift by = shift_of(t.problem().n_classes(), leaves, enters);
            const nb::gil_scoped_release release;
            return t.inspect_held(view_of(weights), view_of(v), by);
          },
          "weights"_a, "v"_a, "leaves"_a, "enters"_a)
      .def(
          "dual_sums",
          [](LogisticTrainer<T>& t, Matrix<T> v, Vector<const double> leaves,
             Vector<const double> enters, std::optional<Matrix<double>> sums, Vector<double> left,
             bool class_major) {
            const ClassShift by = shift_of(t.problem().n_classes(), leaves, enters);
            const nb::gil_scoped_release release;
            MatrixView<double> into{};
            if (sums) into = view_of(*sums);
            t.dual_sums(view_of(v), by, sums ? &into : nullptr, view_of(left), class_major);
          },
          "v"_a, "leaves"_a, "enters"_a, "sums"_a.none(), "left"_a, "class_major"_a)
      .def("use_threads", &LogisticTrainer<T>::use_threads, "n_threads"_a);
}

}  // namespace

void bind_logistic(nb::module_& m) {
  nb::class_<LogisticSums>(m, "LogisticSums")
      .def_prop_ro("loss", [](const LogisticSums& found) { return found.loss.value(); })
      .def_prop_ro("gap", [](const LogisticSums& found) { return found.gap.value(); })
      .def_ro("loss_error", &LogisticSums::loss_error)
      .def_ro("moved_by_features", &LogisticSums::moved_by_features)
      .def_ro("moved_by_bias", &LogisticSums::moved_by_bias);
  bind_trainer<float>(m, "LogisticTrainer32");
  bind_trainer<double>(m, "LogisticTrainer64");
}

}  // namespace manyclass
