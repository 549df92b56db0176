// Bindings of problems, of z in lists, and of the results of loops and certificates.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "certificate/gap_sums.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_arrays.hpp"
#include "duals/dual_lists.hpp"
#include "simd/compensated_sum.hpp"
#include "simd/dispatch.hpp"
#include "simd/vector.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

template <class T>
DualLists<T>* new_duals(std::int64_t n_rows, std::int32_t n_classes) {
  require(0 <= n_rows && n_rows <= kMaxCount, "n_rows is out of range");
  require(1 <= n_classes && n_classes <= kMaxCount, "n_classes is out of range");
  return new DualLists<T>(n_rows, n_classes);
}

Formulation* new_formulation(bool relative, bool others, bool own, bool maximum, bool centred,
                             const std::string& loss, double gamma, double gamma_own) {
  const Formulation f{relative, others, own, maximum, centred, Loss::named(loss), gamma, gamma_own};
  require_none(flaw_of(f));
  return new Formulation(f);
}

template <class T>
void bind_duals(nb::module_& m, const char* name) {
  using Duals = DualLists<T>;
  nb::class_<Duals>(m, name)
      .def(nb::new_(&new_duals<T>), "n_rows"_a, "n_classes"_a)
      .def("to_csr",
           [](const Duals& z) {
             CsrArrays<T> arrays = export_duals<T>(z);
             return to_numpy(std::move(arrays.indptr), std::move(arrays.labels),
                             std::move(arrays.values));
           })
      .def(
          "from_csr",
          [](Duals& z, Vector<const std::int64_t> indptr, Vector<const std::int32_t> labels,
             Vector<const T> values) {
            import_duals<T>(z, view_of(indptr), view_of(labels), view_of(values));
          },
          "indptr"_a, "labels"_a, "values"_a)
      .def(
          "add_entries",
          [](Duals& z, Vector<const std::int32_t> rows, Vector<const std::int32_t> labels,
             Vector<const T> values, Vector<const std::int32_t> columns) {
            import_entries<T>(z,
                              {view_of(rows), view_of(labels), view_of(values), view_of(columns)});
          },
          "rows"_a, "labels"_a, "values"_a, "columns"_a)
      .def_prop_ro("count", &Duals::count)
      .def_prop_ro("n_bytes", &Duals::n_bytes);
}

template <class U>
std::vector<U> copied(Vector<const U> numbers) {
  const std::span<const U> all = view_of(numbers);
  return {all.begin(), all.end()};
}

// Problems check the tree when they receive it.
TreeArrays* new_tree(Vector<const std::int32_t> parents, Vector<const std::int32_t> begins,
                     Vector<const std::int32_t> ends, Vector<const double> of_node,
                     Vector<const std::int32_t> nodes, Vector<const std::int32_t> classes,
                     Vector<const double> of_class, Vector<const double> of_true,
                     Vector<const double> own) {
  return new TreeArrays{copied(parents),  copied(begins),  copied(ends),
                        copied(of_node),  copied(nodes),   copied(classes),
                        copied(of_class), copied(of_true), copied(own)};
}

template <class T>
void bind_problem(nb::module_& m, const char* name) {
  using Held = HeldProblem<T>;
  nb::class_<Held>(m, name)
      .def(nb::init<const Formulation*, Vector<const std::int64_t>, Vector<const std::int32_t>,
                    Vector<const T>, std::int64_t, T, Vector<const std::int32_t>, std::int32_t,
                    Vector<const double>, const std::string&,
                    const std::optional<Matrix<const double>>&, OptionalRows,
                    std::optional<Vector<const std::uint64_t>>, std::int64_t, const TreeArrays*,
                    const std::optional<Matrix<const double>>&>(),
           "formulation"_a.none(), "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "bias"_a,
           "labels"_a, "n_classes"_a, "costs"_a, "instruction_set"_a, "base_table"_a = nb::none(),
           "base_rows"_a = nb::none(), "sets"_a = nb::none(), "rows_in_region"_a = 0,
           "base_tree"_a.none() = nb::none(), "factors"_a = nb::none())
      .def("squared_norms", [](const Held& p) { return to_numpy(p.norms()); })
      .def("stop", [](Held& p) { p.stop(); })
      .def(
          "order",
          [](const Held& p, Vector<const std::int32_t> rows, std::uint64_t seed) {
            return to_numpy(p.order(view_of(rows), seed));
          },
          "rows"_a, "seed"_a)
      .def(
          "sum_of_rows",
          [](const Held& p, Vector<const double> factors) {
            return to_numpy(p.sum_of_rows(view_of(factors)));
          },
          "factors"_a);
}

// A matrix whose rows or columns are contiguous.
template <class T>
using Strided = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T>
double squares_of(Strided<T> matrix) {
  if (matrix.size() == 0) return 0;
  const std::size_t along = matrix.stride(1) == 1 ? 1 : 0, across = 1 - along;
  require(matrix.stride(along) == 1 || matrix.shape(along) == 1,
          "numbers must be neighbors in rows or in columns");
  const nb::gil_scoped_release release;
  return sum_of_squares(matrix.data(), static_cast<std::int64_t>(matrix.shape(across)),
                        static_cast<std::int64_t>(matrix.shape(along)), matrix.stride(across));
}

// Two matrices whose rows are contiguous, or two whose columns are.
template <class T>
double squared_distance_of(Strided<T> one, Strided<double> other) {
  require(one.shape(0) == other.shape(0) && one.shape(1) == other.shape(1),
          "the matrices must have one shape");
  if (one.size() == 0) return 0;
  const std::size_t along = one.stride(1) == 1 ? 1 : 0, across = 1 - along;
  for (const std::int64_t stride : {one.stride(along), other.stride(along)}) {
    require(stride == 1 || one.shape(along) == 1,
            "numbers must be neighbors in rows or in columns of both");
  }
  const nb::gil_scoped_release release;
  return squared_distance(one.data(), one.stride(across), other.data(), other.stride(across),
                          static_cast<std::int64_t>(one.shape(across)),
                          static_cast<std::int64_t>(one.shape(along)));
}

constexpr const char* kSquaredDistance =
    "Squared Frobenius norm of the difference of two matrices, compensated.";
constexpr const char* kSumOfSquares = "Squared norm of a matrix, compensated.";

}  // namespace

void bind_dual(nb::module_& m) {
  m.def("instruction_sets", &instruction_sets,
        "Instruction sets that this build and this machine share, the fastest last.");
  nb::class_<Formulation>(m, "Formulation")
      .def(nb::new_(&new_formulation), "relative"_a, "others"_a, "own"_a, "maximum"_a, "centred"_a,
           "loss"_a, "gamma"_a, "gamma_own"_a);
  nb::class_<SweepResult>(m, "SweepResult")
      .def(nb::init<>())
      .def_ro("gap", &SweepResult::gap)
      .def_ro("loss", &SweepResult::loss)
      .def_ro("dual_gain", &SweepResult::dual_gain)
      .def_ro("max_violation", &SweepResult::max_violation)
      .def_ro("evaluations", &SweepResult::evaluations)
      .def_ro("steps", &SweepResult::steps)
      .def_ro("n_active", &SweepResult::n_active);
  nb::class_<GapSums>(m, "GapSums")
      .def_prop_ro("gap", [](const GapSums& found) { return found.gap.value(); })
      .def_prop_ro("loss", [](const GapSums& found) { return found.loss.value(); })
      .def_prop_ro("most_loss", [](const GapSums& found) { return found.most_loss.value(); })
      .def_ro("max_violation", &GapSums::max_violation);
  m.def("sum_of_squares", &squares_of<float>, "matrix"_a.noconvert(), kSumOfSquares);
  m.def("sum_of_squares", &squares_of<double>, "matrix"_a.noconvert(), kSumOfSquares);
  m.def("squared_distance", &squared_distance_of<float>, "one"_a.noconvert(), "other"_a.noconvert(),
        kSquaredDistance);
  m.def("squared_distance", &squared_distance_of<double>, "one"_a.noconvert(),
        "other"_a.noconvert(), kSquaredDistance);
  nb::class_<ShrunkGoal>(m, "ShrunkGoal")
      .def(nb::init<double, double, std::int64_t, double>(), "gap"_a, "violation"_a,
           "evaluations"_a, "min_gap"_a);
  nb::class_<ShrunkResult>(m, "ShrunkResult")
      .def_ro("dual_gain", &ShrunkResult::dual_gain)
      .def_ro("evaluations", &ShrunkResult::evaluations)
      .def_ro("n_active", &ShrunkResult::n_active)
      .def_ro("loops", &ShrunkResult::loops);
  nb::class_<TreeArrays>(m, "ClassTree")
      .def(nb::new_(&new_tree), "parents"_a, "begins"_a, "ends"_a, "of_node"_a, "nodes"_a,
           "classes"_a, "of_class"_a, "of_true"_a, "own"_a);
  bind_problem<float>(m, "Problem32");
  bind_problem<double>(m, "Problem64");
  bind_duals<float>(m, "Duals32");
  bind_duals<double>(m, "Duals64");
}

}  // namespace manyclass
