// One instruction set's copy of the kernels of prediction; compiled once for each
// (CMakeLists.txt).
#include "prediction.hpp"

#include "ranking.hpp"
#include "scores.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
const Predictors<T>& predictors() {
  static constexpr Predictors<T> table{in_range<T>, csr_scores<T>, dense_scores<T>, top_labels<T>};
  return table;
}

template const Predictors<float>& predictors<float>();
template const Predictors<double>& predictors<double>();

}  // namespace manyclass::MANYCLASS_ISA
