#pragma once
// The common base of the trainers in Python: the arrays that they hold, their constructor.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "bindings/bindings.hpp"
#include "data/formulation.hpp"
#include "dual/trainer.hpp"

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
// reach the main thread only; other threads read `stop`.
inline void check_signals() {
  const nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// A trainer with the arrays that it refers to, which must not change.
template <class T, class Trainer>
class Bound : private HeldArrays<T>, public Trainer {
 public:
  Bound(const Formulation& formulation, Vector<const std::int64_t> indptr,
        Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features, T bias,
        Vector<const std::int32_t> labels, std::int32_t n_classes, Vector<const double> costs,
        const std::string& instruction_set)
      : HeldArrays<T>{indptr, indices, values, labels, costs},
        Trainer({formulation, view_of(indptr), view_of(indices), view_of(values), n_features, bias,
                 view_of(labels), n_classes, view_of(costs)},
                instruction_set, check_signals) {}
};

// The constructor and the methods of every trainer.
template <class T, class Trainer>
void bind_examples(nanobind::class_<Bound<T, Trainer>>& trainer) {
  using nanobind::literals::operator""_a;
  using Held = Bound<T, Trainer>;
  trainer
      .def(
          nanobind::init<const Formulation&, Vector<const std::int64_t>, Vector<const std::int32_t>,
                         Vector<const T>, std::int64_t, T, Vector<const std::int32_t>, std::int32_t,
                         Vector<const double>, const std::string&>(),
          "formulation"_a, "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "bias"_a,
          "labels"_a, "n_classes"_a, "costs"_a, "instruction_set"_a)
      .def("squared_norms", [](const Held& t) { return to_numpy(t.norms()); })
      .def("stop", [](Held& t) { t.stop(); });
}

}  // namespace manyclass
