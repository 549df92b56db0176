#pragma once
#include <nanobind/nanobind.h>

namespace manyclass {

void bind_training(nanobind::module_& m);
void bind_many_classes(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_slot_rows(nanobind::module_& m);
void bind_stochastic(nanobind::module_& m);
void bind_svmlight(nanobind::module_& m);
void bind_prediction(nanobind::module_& m);
void bind_sparse_prediction(nanobind::module_& m);
void bind_bus_errors(nanobind::module_& m);

}  // namespace manyclass
