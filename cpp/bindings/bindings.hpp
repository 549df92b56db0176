#pragma once
// The parts of the module; each file of this room defines one.
#include <nanobind/nanobind.h>

namespace manyclass {

void bind_dual(nanobind::module_& m);
void bind_newton(nanobind::module_& m);
void bind_many_classes(nanobind::module_& m);
void bind_class_pairs(nanobind::module_& m);
void bind_comparison(nanobind::module_& m);
void bind_logistic(nanobind::module_& m);
void bind_stochastic(nanobind::module_& m);
void bind_svmlight(nanobind::module_& m);
void bind_prediction(nanobind::module_& m);

}  // namespace manyclass
