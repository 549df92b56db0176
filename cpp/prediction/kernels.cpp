// The kernels of prediction. CMakeLists.txt compiles this file once per
// instruction set.
#include "prediction/kernels.hpp"

#include "prediction/scores.hpp"
#include "prediction/top_k.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<Predictors<T>> {
  static constexpr Predictors<T> value{in_range<T>, csr_scores<T>, dense_scores<T>, top_labels<T>};
};

template <class T, class W>
struct TableOf<CsrWeightPredictors<T, W>> {
  static constexpr CsrWeightPredictors<T, W> value{sparse_scores<T, W>};
};

template const Predictors<float>& kernel_table();
template const Predictors<double>& kernel_table();
template const CsrWeightPredictors<float, float>& kernel_table();
template const CsrWeightPredictors<double, double>& kernel_table();
template const CsrWeightPredictors<double, float>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
