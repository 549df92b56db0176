// The compiled core as Python sees it. Only this file and the bind_*.cpp files know Python.
#include "bindings/bindings.hpp"

NB_MODULE(_core, m) {
  manyclass::bind_training(m);
  manyclass::bind_many_classes(m);
  manyclass::bind_pairs(m);
  manyclass::bind_stochastic(m);
  manyclass::bind_svmlight(m);
  manyclass::bind_prediction(m);
  manyclass::bind_sparse_prediction(m);
  manyclass::bind_bus_errors(m);
}
