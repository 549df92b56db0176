// Bindings of engines, one class for all layouts and both number types, and of the Newton
// method on engines.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/any_arrays.hpp"
#include "bindings/bindings.hpp"
#include "certificate/gap_sums.hpp"
#include "data/check_problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "engines/engine.hpp"
#include "engines/weight_array.hpp"
#include "newton/newton.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

Storage storage_of(const std::string& name) {
  if (name == "dense") return Storage::kByFeature;
  if (name == "class_major") return Storage::kByClass;
  require(name == "tables", "storage must be dense, class_major or tables");
  return Storage::kTables;
}

template <class T>
void bind_constructor(nb::class_<HeldEngine>& engine) {
  engine.def(
      "__init__",
      [](HeldEngine* self, std::shared_ptr<const HeldProblem<T>> problem,
         const std::string& storage, int n_threads, bool lists,
         std::optional<Vector<const std::int32_t>> order, std::int64_t dense_from) {
        const EngineOptions options{
            .storage = storage_of(storage),
            .n_threads = n_threads,
            .lists = lists,
            .order = order ? view_of(*order) : std::span<const std::int32_t>{},
            .dense_from = dense_from};
        const nb::gil_scoped_release release;
        new (self) HeldEngine(make_engine<T>(std::move(problem), options));
      },
      "problem"_a, "storage"_a, "n_threads"_a, nb::kw_only(), "lists"_a = false,
      "order"_a = nb::none(), "dense_from"_a = 1);
}

void bind_loops(nb::class_<HeldEngine>& engine) {
  engine
      .def(
          "full_loop",
          [](const HeldEngine& e, Vector<const std::int32_t> rows, Vector<std::int32_t> active,
             double min_gap, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return e->full_loop(view_of(rows), view_of(active), min_gap, seed);
          },
          "rows"_a, "active"_a, "min_gap"_a, "seed"_a,
          "Visit rows over all classes; write those that still move to `active`.")
      .def(
          "shrunk_loops",
          [](const HeldEngine& e, Vector<std::int32_t> active, std::int64_t n_active,
             const ShrunkGoal& goal, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return e->shrunk_loops(view_of(active), n_active, goal, seed);
          },
          "active"_a, "n_active"_a, "goal"_a, "seed"_a,
          "Visit the active rows over their non-zero z until the goal is met.")
      .def(
          "effort",
          [](const HeldEngine& e, std::int64_t n_rows, std::int64_t n_active,
             std::int64_t n_epochs) { return e->effort({n_rows, n_active, n_epochs}); },
          "n_rows"_a, "n_active"_a, "n_epochs"_a,
          "Scores that the shrunk loops of an epoch may compute.")
      .def_prop_ro("negligible", [](const HeldEngine& e) { return e->negligible(); })
      .def(
          "rebuild", [](const HeldEngine& e) { return e->rebuild(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "W <- W(z); return an upper bound of the distance that rounding leaves.")
      .def(
          "gap_sums",
          [](const HeldEngine& e, Vector<const double> common, double norm, const Weights* other) {
            const nb::gil_scoped_release release;
            return e->gap_sums(other, view_of(common), norm);
          },
          "common"_a, "norm"_a, "other"_a = nb::none(),
          "Gap, loss and violation of all examples, in parts.")
      .def(
          "constant_loss", [](const HeldEngine& e) { return e->constant_loss(); },
          "D(0): the loss of the examples with x_i = 0. W and z must be 0.")
      .def(
          "stop", [](const HeldEngine& e) { e->stop(); },
          "End the loop that another thread runs, between two visits.");
}

void bind_arrays(nb::class_<HeldEngine>& engine) {
  engine
      .def(
          "set_duals",
          [](const HeldEngine& e, Vector<const std::int64_t> indptr,
             Vector<const std::int32_t> labels, Vector<const double> values) {
            e->set_duals(view_of(indptr), view_of(labels), view_of(values));
          },
          "indptr"_a, "labels"_a, "values"_a, "Take over z, a CSR matrix.")
      .def(
          "export_duals", [](const HeldEngine& e) { return as_object(e->duals()); },
          nb::sig("def export_duals(self) -> " MANYCLASS_CSR), "z, a CSR matrix.")
      .def(
          "copy_weights", [](const HeldEngine& e) { return as_object(e->copy_weights()); },
          nb::sig("def copy_weights(self) -> " MANYCLASS_ARRAY " | " MANYCLASS_CSR), "A copy of W.")
      .def(
          "release_weights", [](const HeldEngine& e) { return as_object(e->release_weights()); },
          nb::sig("def release_weights(self) -> " MANYCLASS_ARRAY " | " MANYCLASS_CSR),
          "W in the engine's memory; the engine has none afterwards.")
      .def_prop_ro("n_weights", [](const HeldEngine& e) { return e->n_weights(); })
      .def_prop_ro("n_duals", [](const HeldEngine& e) { return e->n_duals(); });
}

// Methods for dense W, then for W in tables.
void bind_storages(nb::class_<HeldEngine>& engine) {
  engine
      .def_prop_ro(
          "few_classes",
          [](const HeldEngine& e) {
            const auto* dense = dynamic_cast<const AnyDenseEngine*>(&*e);
            return dense != nullptr && dense->few_classes();
          },
          "Whether a visit holds all classes at once, and the Newton phase takes the engine.")
      .def_prop_ro(
          "W",
          [](const HeldEngine& e) {
            auto* dense = dynamic_cast<AnyDenseEngine*>(&*e);
            return dense ? &dense->weights() : nullptr;
          },
          nb::rv_policy::reference_internal, nb::sig("def W(self) -> Weights | None"))
      .def(
          "new_weights", [](const HeldEngine& e) { return e.dense().new_weights(); },
          "Zeros laid out like W.")
      .def(
          "take", [](const HeldEngine& e, const Weights& w) { e.dense().assign(w); }, "weights"_a,
          "Set W to another one.")
      .def_prop_ro(
          "lists",
          [](nb::handle self) {
            return std::visit(
                [&](auto* lists) {
                  return nb::cast(lists, nb::rv_policy::reference_internal, self);
                },
                nb::cast<HeldEngine&>(self).dense().lists());
          },
          nb::sig("def lists(self) -> Duals64"), "z, where it is held in lists.")
      .def(
          "newton", [](const HeldEngine& e) { return make_newton(*e); }, nb::keep_alive<0, 1>(),
          "The proximal Newton method on W and z, of few classes.")
      .def("squared_norm", [](const HeldEngine& e) { return e.sparse().squared_norm(); })
      .def(
          "intercepts", [](const HeldEngine& e) { return as_object(e.sparse().intercepts()); },
          nb::sig("def intercepts(self) -> " MANYCLASS_ARRAY));
}

void bind_mean_engine(nb::class_<HeldMeanEngine, HeldEngine>& engine) {
  engine
      .def(
          "visit",
          [](const HeldMeanEngine& e, Vector<const std::int32_t> rows, bool shrunk,
             Vector<std::uint8_t> active, Vector<double> sigma, Vector<double> moved) {
            const nb::gil_scoped_release release;
            return e.shared_mean().visit(view_of(rows), shrunk, view_of(active), view_of(sigma),
                                         view_of(moved));
          },
          "rows"_a, "shrunk"_a, "active"_a, "sigma"_a, "moved"_a,
          "Visit those of `rows` that are active; `moved` becomes the change of their sigma.")
      .def(
          "follow_mean",
          [](const HeldMeanEngine& e, Vector<const std::int32_t> rows, Vector<const double> moved,
             Vector<const double> steps, double relaxation) {
            const nb::gil_scoped_release release;
            return e.shared_mean().follow_mean(view_of(rows), view_of(moved), view_of(steps),
                                               relaxation);
          },
          "rows"_a, "moved"_a, "steps"_a, "relaxation"_a,
          "Move m towards the mean of all u_c; return what D gains.")
      .def(
          "settle_mean", [](const HeldMeanEngine& e) { return e.shared_mean().settle_mean(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Set m to the mean of all u_c; return what D gains.")
      .def(
          "drift", [](const HeldMeanEngine& e, double drift) { e.shared_mean().drift(drift); },
          "drift"_a, "From now on a visit moves m by so much of the sum of its step.")
      .def(
          "rebuild_less",
          [](const HeldMeanEngine& e, Vector<const double> mean) {
            const nb::gil_scoped_release release;
            return e.shared_mean().rebuild_less(view_of(mean));
          },
          "mean"_a, "W <- W(z) - mean; ``restart_mean`` must follow.")
      .def(
          "restart_mean",
          [](const HeldMeanEngine& e, Vector<const double> sum) {
            e.shared_mean().restart_mean(view_of(sum));
          },
          "sum"_a)
      .def_prop_ro(
          "sum_of_classes",
          [](const HeldMeanEngine& e) { return to_numpy(e.shared_mean().sum_of_classes()); },
          nb::rv_policy::move)
      .def(
          "row_sums",
          [](const HeldMeanEngine& e, Vector<const std::int32_t> rows, Vector<double> sigma) {
            e.shared_mean().row_sums(view_of(rows), view_of(sigma));
          },
          "rows"_a, "sigma"_a);
}

template <class T>
void bind_mean_constructor(nb::class_<HeldMeanEngine, HeldEngine>& engine) {
  engine.def(
      "__init__",
      [](HeldMeanEngine* self, std::shared_ptr<const HeldProblem<T>> problem) {
        new (self) HeldMeanEngine(make_mean_engine<T>(std::move(problem)));
      },
      "problem"_a);
}

void bind_newton(nb::module_& m) {
  nb::class_<NewtonRound>(m, "NewtonRound")
      .def_ro("primal", &NewtonRound::primal)
      .def_ro("gap", &NewtonRound::gap)
      .def_ro("max_violation", &NewtonRound::max_violation)
      .def_ro("steps", &NewtonRound::steps)
      .def_ro("n_zone", &NewtonRound::n_zone)
      .def_ro("evaluations", &NewtonRound::evaluations);
  const nb::call_guard<nb::gil_scoped_release> release;
  nb::class_<Newton>(m, "ProximalNewton")
      .def("rebuild", &Newton::rebuild, "anew"_a, release)
      .def("respond", &Newton::respond, "epsilon"_a, release)
      .def("direction", &Newton::direction, "budget"_a, release)
      .def(
          "slopes",
          [](Newton& newton, const std::vector<double>& lengths) {
            require(!lengths.empty(), "there must be a length");
            return std::vector<double>{newton.slope(lengths[0])};
          },
          "lengths"_a, release, "The slope at the first length.")
      .def("advance", &Newton::advance, "length"_a, release)
      .def("move", &Newton::move, "length"_a, release)
      .def("read_weights", &Newton::read_weights, "out"_a)
      .def("write_weights", &Newton::write_weights, "weights"_a)
      .def("squared_duals", &Newton::squared_duals)
      .def("read_gradient", &Newton::read_gradient, "out"_a)
      .def("hessian_times", &Newton::hessian_times, "p"_a, "out"_a)
      .def("preconditioned", &Newton::preconditioned, "p"_a, "whole"_a, "out"_a)
      .def(
          "response", [](const Newton& newton) { return as_object(newton.response()); },
          nb::sig("def response(self) -> " MANYCLASS_CSR));
}

}  // namespace

void bind_engines(nb::module_& m) {
  nb::class_<Weights>(m, "Weights")
      .def_prop_ro(
          "matrix", [](const Weights& w) { return as_object(w.matrix()); },
          nb::sig("def matrix(self) -> " MANYCLASS_ARRAY),
          "W, shape (n_features + 1, n_classes), in its memory.")
      .def_prop_ro(
          "padded", [](const Weights& w) { return as_object(w.padded()); },
          nb::sig("def padded(self) -> " MANYCLASS_ARRAY), "The memory, as trainers take it.");
  bind_newton(m);
  m.def(
      "fits_lanes",
      [](bool maximum, bool relative, std::int32_t n_classes, std::size_t itemsize) {
        Formulation f{};
        f.maximum = maximum, f.relative = relative;
        return itemsize == sizeof(float) ? fits_lanes<float>(f, n_classes)
                                         : fits_lanes<double>(f, n_classes);
      },
      "maximum"_a, "relative"_a, "n_classes"_a, "itemsize"_a,
      "Whether a visit holds all classes in registers.");
  auto engine = nb::class_<HeldEngine>(m, "Engine");
  bind_constructor<float>(engine);
  bind_constructor<double>(engine);
  bind_loops(engine);
  bind_arrays(engine);
  bind_storages(engine);
  auto mean_engine = nb::class_<HeldMeanEngine, HeldEngine>(m, "MeanEngine");
  bind_mean_constructor<float>(mean_engine);
  bind_mean_constructor<double>(mean_engine);
  bind_mean_engine(mean_engine);
}

}  // namespace manyclass
