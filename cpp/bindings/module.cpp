// The compiled core as Python sees it. Only this room knows Python.
#include "bindings/bindings.hpp"

NB_MODULE(_core, m) {
  manyclass::bind_dual(m);
  manyclass::bind_newton(m);
  manyclass::bind_many_classes(m);
  manyclass::bind_class_pairs(m);
  manyclass::bind_stochastic(m);
  manyclass::bind_svmlight(m);
  manyclass::bind_prediction(m);
  manyclass::bind_sparse_prediction(m);
  manyclass::bind_bus_errors(m);
}
