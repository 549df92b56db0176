// One instruction set's copy of the kernels of pairs; compiled once for each (CMakeLists.txt).
#include "pairs.hpp"

#include "pair_simplex.hpp"
#include "pair_sweep.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
const PairKernels<T>& pair_kernels() {
  static constexpr PairKernels<T> table = {
      pair_sweep<false, T>, pair_sweep<true, T>, own_scores<T>,   inspect_pair<T>,
      add_rows<T>,          trade_shares<T>,     survey_slacks<T>};
  return table;
}

template const PairKernels<float>& pair_kernels<float>();
template const PairKernels<double>& pair_kernels<double>();

}  // namespace manyclass::MANYCLASS_ISA
