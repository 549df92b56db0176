// Python's view of the proximal Newton method.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "bindings/bindings.hpp"
#include "data/check_problem.hpp"
#include "newton/proximal_newton.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

template <class T>
void bind_newton_of(nb::module_& m, const char* name) {
  using Newton = ProximalNewton<T>;
  const auto at = [](const Newton& newton, const Matrix<T>& weights) {
    require(static_cast<std::int64_t>(weights.size()) == newton.n_weights(),
            "weights must be as many as the trainer's");
    return weights.data();
  };
  nb::class_<Newton>(m, name)
      .def("rebuild", &Newton::rebuild, "anew"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("round", &Newton::round, "epsilon"_a, "budget"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "read_weights",
          [at](const Newton& newton, Matrix<T> out) { newton.read_weights(at(newton, out)); },
          "out"_a)
      .def(
          "write_weights",
          [at](Newton& newton, Matrix<T> weights) { newton.write_weights(at(newton, weights)); },
          "weights"_a)
      .def_prop_ro("squared_duals", &Newton::squared_duals)
      .def(
          "gradient_at",
          [at](Newton& newton, Matrix<T> weights, double epsilon, Matrix<T> out) {
            newton.gradient_at(at(newton, weights), epsilon, at(newton, out));
          },
          "weights"_a, "epsilon"_a, "out"_a)
      .def(
          "hessian_times",
          [at](Newton& newton, Matrix<T> p, Matrix<T> out) {
            newton.hessian_times(at(newton, p), at(newton, out));
          },
          "p"_a, "out"_a)
      .def(
          "preconditioned",
          [at](Newton& newton, Matrix<T> p, Matrix<T> out) {
            newton.preconditioned(at(newton, p), at(newton, out));
          },
          "p"_a, "out"_a)
      .def_prop_ro("response", &Newton::response_duals, nb::rv_policy::reference_internal);
}

}  // namespace

void bind_newton(nb::module_& m) {
  nb::class_<NewtonRound>(m, "NewtonRound")
      .def_ro("primal", &NewtonRound::primal)
      .def_ro("gap", &NewtonRound::gap)
      .def_ro("max_violation", &NewtonRound::max_violation)
      .def_ro("steps", &NewtonRound::steps)
      .def_ro("n_zone", &NewtonRound::n_zone)
      .def_ro("evaluations", &NewtonRound::evaluations);
  bind_newton_of<float>(m, "ProximalNewton32");
  bind_newton_of<double>(m, "ProximalNewton64");
}

}  // namespace manyclass
