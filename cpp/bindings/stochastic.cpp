// Bindings of stochastic gradient descent, and of the hash tables that can store its W.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "stochastic/kernels.hpp"
#include "stochastic/stochastic_trainer.hpp"
#include "weights/sharded_weights.hpp"
#include "weights/to_csr.hpp"

namespace manyclass {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

template <class T>
ShardedWeights<T> new_weights(std::int64_t n_rows, std::int32_t n_classes, int n_shards,
                              std::int32_t dense_from) {
  require(1 <= n_rows && n_rows <= kMaxCount && 1 <= n_classes && n_classes <= kMaxCount,
          "there must be a feature and a class, and less than 2^31");
  require(1 <= n_shards && n_shards <= std::min(n_classes, kMaxThreads),
          "shards must be from 1 to n_classes");
  require(dense_from >= 1, "dense_from must be positive");
  return {n_rows, n_classes, n_shards, static_cast<std::size_t>(dense_from)};
}

template <class T>
auto export_csr(const ShardedWeights<T>& w, Vector<const std::int32_t> names) {
  CsrArrays<T> found;
  {
    const nb::gil_scoped_release release;
    found = export_weights(w, view_of(names));
  }
  return to_numpy(std::move(found.indptr), std::move(found.labels), std::move(found.values));
}

template <class T>
void bind_weights(nb::module_& m, const char* name) {
  using Weights = ShardedWeights<T>;
  nb::class_<Weights>(m, name)
      .def_static("zeros", &new_weights<T>, "n_rows"_a, "n_classes"_a, "n_shards"_a, "dense_from"_a)
      .def("to_csr", &export_csr<T>, "names"_a)
      .def(
          "load_csr",
          [](Weights& w, Vector<const std::int64_t> indptr, Vector<const std::int32_t> labels,
             Vector<const T> values, Vector<const std::int32_t> places) {
            load_csr<T>(w, view_of(indptr), view_of(labels), view_of(values), view_of(places));
          },
          "indptr"_a, "labels"_a, "values"_a, "places"_a)
      .def("squared_norm", &Weights::squared_norm)
      .def("intercepts", [](const Weights& w) { return to_numpy(w.intercepts()); })
      .def("clear", &Weights::clear)
      .def_prop_ro("n_slots", &Weights::n_slots)
      .def_prop_ro("n_bytes", &Weights::n_bytes);
}

template <class T>
void bind_trainer(nb::module_& m, const char* name) {
  auto trainer = nb::class_<StochasticTrainer<T>>(m, name);
  bind_trainer_of<T>(trainer);
  trainer
      .def(
          "steps",
          [](const StochasticTrainer<T>& t, Matrix<T> weights, std::optional<Matrix<T>> average,
             StochasticClock& clock, const Passage& passage, Vector<const std::int32_t> rows,
             std::optional<Vector<std::int32_t>> moved) {
            const MatrixView<T> u = average ? view_of(*average) : MatrixView<T>{};
            const auto labels = moved ? view_of(*moved) : std::span<std::int32_t>{};
            const nb::gil_scoped_release release;
            return t.steps(view_of(weights), average ? &u : nullptr, clock, passage, view_of(rows),
                           labels);
          },
          "weights"_a, "average"_a.none(), "clock"_a, "passage"_a, "rows"_a, "moved"_a = nb::none())
      .def(
          "table_steps",
          [](const StochasticTrainer<T>& t, ShardedWeights<T>& weights, ShardedWeights<T>* average,
             StochasticClock& clock, const Passage& passage, Vector<const std::int32_t> rows) {
            const nb::gil_scoped_release release;
            return t.table_steps(weights, average, clock, passage, view_of(rows));
          },
          "weights"_a, "average"_a.none(), "clock"_a, "passage"_a, "rows"_a);
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  nb::enum_<StochasticLoss>(m, "StochasticLoss")
      .value("hinge", StochasticLoss::kHinge)
      .value("log_loss", StochasticLoss::kLogLoss)
      .value("perceptron", StochasticLoss::kPerceptron);
  nb::class_<Passage>(m, "Passage")
      .def(nb::init<StochasticLoss, std::size_t, int>(), "loss"_a, "batch_size"_a, "n_threads"_a);
  nb::class_<StochasticClock>(m, "StochasticClock")
      .def(nb::init<>())
      .def_rw("alpha", &StochasticClock::alpha)
      .def_rw("seen", &StochasticClock::seen)
      .def_rw("steps", &StochasticClock::steps)
      .def_rw("reach", &StochasticClock::reach)
      .def_rw("average_from", &StochasticClock::average_from)
      .def_rw("rising", &StochasticClock::rising)
      .def_rw("average_steps", &StochasticClock::average_steps)
      .def_rw("average_weight", &StochasticClock::average_weight);
  bind_weights<float>(m, "ShardedWeights32");
  bind_weights<double>(m, "ShardedWeights64");
  bind_trainer<float>(m, "StochasticTrainer32");
  bind_trainer<double>(m, "StochasticTrainer64");
}

}  // namespace manyclass
