// Bindings of the methods that the papers compare with.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>

#include "bindings/bindings.hpp"
#include "comparison/comparison_trainer.hpp"
#include "comparison/kernels.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"

namespace manyclass {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// X by feature, checked here because the kernels do not check it.
template <class T>
Columns<T> checked(const ComparisonTrainer<T>& t, Vector<const std::int64_t> indptr,
                   Vector<const std::int32_t> rows, Vector<const T> values) {
  require(std::ssize(indptr) == t.problem().n_features() + 1,
          "indptr must have an entry for every feature, and one more");
  require(rows.size() == values.size(), "rows and values must have one length");
  const Csr<T> columns{indptr.data(),        rows.data(), values.data(), t.problem().n_features(),
                       t.problem().n_rows(), T{0}};
  require_none(flaw_of(columns, std::ssize(rows)));
  return {indptr.data(), rows.data(), values.data()};
}

template <class T>
void bind_trainer(nb::module_& m, const char* name) {
  auto trainer = nb::class_<ComparisonTrainer<T>>(m, name);
  bind_trainer_of<T>(trainer);
  trainer
      .def(
          "exponentiated_gradient",
          [](const ComparisonTrainer<T>& t, Matrix<T> weights, Matrix<T> log_u,
             Vector<double> rates, Vector<const std::int32_t> rows, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return t.exponentiated_gradient(view_of(weights), view_of(log_u), view_of(rates),
                                            view_of(rows), seed);
          },
          "weights"_a, "log_u"_a, "rates"_a, "rows"_a, "seed"_a)
      .def(
          "rebuild",
          [](const ComparisonTrainer<T>& t, Matrix<T> weights, const DualLists<T>& duals) {
            const nb::gil_scoped_release release;
            t.rebuild(view_of(weights), duals);
          },
          "weights"_a, "duals"_a)
      .def(
          "separate",
          [](const ComparisonTrainer<T>& t, Matrix<T> weights, DualLists<T>& duals) {
            const nb::gil_scoped_release release;
            return t.separate(view_of(weights), duals);
          },
          "weights"_a, "duals"_a)
      .def(
          "scores",
          [](const ComparisonTrainer<T>& t, Matrix<T> weights, Matrix<T> out, std::int64_t begin,
             std::int64_t end) {
            const nb::gil_scoped_release release;
            t.scores(view_of(weights), view_of(out), begin, end);
          },
          "weights"_a, "out"_a, "begin"_a, "end"_a)
      .def(
          "violations",
          [](const ComparisonTrainer<T>& t, Matrix<T> scores, const DualLists<T>& duals,
             Vector<double> out) {
            const nb::gil_scoped_release release;
            t.violations(view_of(scores), duals, view_of(out));
          },
          "scores"_a, "duals"_a, "out"_a)
      .def(
          "most_violating",
          [](const ComparisonTrainer<T>& t, Matrix<T> scores, DualLists<T>& duals,
             Vector<double> violations, Vector<const std::int64_t> indptr,
             Vector<const std::int32_t> rows, Vector<const T> values, std::int64_t n_steps) {
            const Columns<T> columns = checked<T>(t, indptr, rows, values);
            const nb::gil_scoped_release release;
            return t.most_violating(view_of(scores), duals, view_of(violations), columns, n_steps);
          },
          "scores"_a, "duals"_a, "violations"_a, "indptr"_a, "rows"_a, "values"_a, "n_steps"_a);
}

}  // namespace

void bind_comparison(nb::module_& m) {
  bind_trainer<float>(m, "ComparisonTrainer32");
  bind_trainer<double>(m, "ComparisonTrainer64");
}

}  // namespace manyclass
