// Python's view of stochastic gradient descent.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bindings/bindings.hpp"
#include "data/array_views.hpp"
#include "data/examples.hpp"
#include "stochastic/kernels.hpp"
#include "stochastic/stochastic_trainer.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

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
  bind_trainer<float>(m, "StochasticTrainer32");
  bind_trainer<double>(m, "StochasticTrainer64");
}

}  // namespace manyclass
