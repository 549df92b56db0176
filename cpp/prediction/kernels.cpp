// One instruction set's copy of the kernels of prediction; compiled once for each
// (CMakeLists.txt).
#include "prediction/kernels.hpp"

#include "prediction/scores.hpp"
#include "prediction/sparse_scores.hpp"
#include "prediction/top_k.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
const Predictors<T>& predictors() {
  static constexpr Predictors<T> table{in_range<T>, csr_scores<T>, dense_scores<T>, top_labels<T>};
  return table;
}

template const Predictors<float>& predictors<float>();
template const Predictors<double>& predictors<double>();

template <class T, class W>
SparseScores<T, W> sparse_kernel() {
  return sparse_scores<T, W>;
}

template SparseScores<float, float> sparse_kernel<float, float>();
template SparseScores<double, double> sparse_kernel<double, double>();
template SparseScores<double, float> sparse_kernel<double, float>();

}  // namespace manyclass::MANYCLASS_ISA
