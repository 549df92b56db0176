// The kernels of multinomial logistic regression. CMakeLists.txt compiles this file once per
// instruction set.
#include "logistic/kernels.hpp"

#include "logistic/passes.hpp"
#include "logistic/round_visits.hpp"
#include "logistic/visits.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<LogisticKernels<T>> {
  static constexpr LogisticKernels<T> value{
      logistic_visits<T>,      logistic_prepare<T>,     logistic_visit_batch<T>,
      logistic_update<T>,      logistic_visit_apart<T>, logistic_add_round<T>,
      logistic_shorten<T>,     logistic_gradient<T>,    logistic_curvature<T>,
      logistic_log_softmax<T>, logistic_inspect,        logistic_inspect,
      logistic_dual_sums<T>,   logistic_add<T>,         logistic_add_totals<T>,
      logistic_add_columns<T>};
};

template const LogisticKernels<float>& kernel_table();
template const LogisticKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
