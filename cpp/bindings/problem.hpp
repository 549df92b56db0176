#pragma once
// Problems with the arrays that they refer to, and what the trainers that Python sees have in
// common.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <string>

#include "bindings/bindings.hpp"
#include "data/formulation.hpp"
#include "dual/problem.hpp"

namespace manyclass {

template <class T>
struct HeldArrays {
  Vector<const std::int64_t> indptr;
  Vector<const std::int32_t> indices;
  Vector<const T> values;
  Vector<const std::int32_t> labels;
  Vector<const double> costs;
};

// Throws what the handlers of Python's pending signals raise, such as KeyboardInterrupt. Signals
// reach the main thread only; `stop` ends the others.
inline void check_signals() {
  const nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// A problem and its arrays, which must not change. Stochastic methods need no formulation.
template <class T>
class HeldProblem : private HeldArrays<T>, public Problem<T> {
 public:
  HeldProblem(const Formulation* formulation, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
              T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
              Vector<const double> costs, const std::string& instruction_set)
      : HeldArrays<T>{indptr, indices, values, labels, costs},
        Problem<T>({formulation ? *formulation : Formulation{}, view_of(indptr), view_of(indices),
                    view_of(values), n_features, bias, view_of(labels), n_classes, view_of(costs)},
                   instruction_set, check_signals) {}
};

// The constructor of every trainer, and its problem.
template <class T, class Trainer>
void bind_trainer_of(nanobind::class_<Trainer>& trainer) {
  using nanobind::literals::operator""_a;
  trainer.def(nanobind::init<std::shared_ptr<const HeldProblem<T>>>(), "problem"_a)
      .def_prop_ro(
          "problem",
          [](const Trainer& t) -> const HeldProblem<T>& {
            return static_cast<const HeldProblem<T>&>(t.problem());
          },
          nanobind::rv_policy::reference_internal);
}

}  // namespace manyclass
