// The compiled core as a Python module. Only bindings/ includes Python.
#include <cstdint>

#include "bindings/bindings.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "threads/bus_errors.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_choice.hpp"
#include "weights/hash_tables.hpp"
#include "weights/weights_view.hpp"

namespace {

// Constants that the C++ and Python code must share.
void bind_constants(nanobind::module_& m) {
  using namespace manyclass;
  m.attr("BLOCK_BYTES") = kRowBlockBytes;
  m.attr("ELSEWHERE") = kElsewhere;
  m.attr("EXCLUDED") = kExcluded;
  m.attr("AT_BOUND32") = kAtBound<float>;
  m.attr("AT_BOUND64") = kAtBound<double>;
  m.attr("TABLE_ROW_BYTES") = sizeof(HashTables<float>::Row);
  m.attr("CALL_WORK") = static_cast<std::int64_t>(kWorkBetweenPolls);
  m.attr("MAX_COUNT") = kMaxCount;
  m.attr("MAX_THREADS") = kMaxThreads;
}

// The rule that reduces the number of threads, exposed for its tests.
void bind_thread_choice(nanobind::module_& m) {
  using manyclass::ThreadChoice;
  nanobind::class_<ThreadChoice>(m, "ThreadChoice")
      .def(nanobind::init<int>(), nanobind::arg("most"))
      .def_prop_ro("size", &ThreadChoice::size)
      .def_prop_ro("reduced", &ThreadChoice::reduced)
      .def("record", &ThreadChoice::record, nanobind::arg("work"), nanobind::arg("seconds"));
}

}  // namespace

NB_MODULE(_core, m) {
  bind_constants(m);
  bind_thread_choice(m);
  manyclass::bind_dual(m);
  manyclass::bind_engines(m);
  manyclass::bind_class_pairs(m);
  manyclass::bind_comparison(m);
  manyclass::bind_logistic(m);
  manyclass::bind_stochastic(m);
  manyclass::bind_svmlight(m);
  manyclass::bind_prediction(m);
  manyclass::bind_columns(m);
  m.def(
      "explain_bus_errors",
      [](nanobind::bytes text) { manyclass::explain_bus_errors({text.c_str(), text.size()}); },
      nanobind::arg("text"));
}
