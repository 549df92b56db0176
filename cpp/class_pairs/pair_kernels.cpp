// One instruction set's copy of the kernels of pairs; compiled once for each (CMakeLists.txt).
#include "class_pairs/pair_kernels.hpp"

#include "class_pairs/crammer_singer.hpp"
#include "class_pairs/pair_certificate.hpp"
#include "class_pairs/weston_watkins.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class View>
const PairKernels<T, View>& pair_kernels() {
  static constexpr PairKernels<T, View> table = {
      pair_sweep<false, T, View>, pair_sweep<true, T, View>, own_scores<T, View>,
      inspect_pair<T, View>,      trade_shares<T, View>,     survey_slacks<T, View>};
  return table;
}

template const PairKernels<float, PairView<float>>& pair_kernels<float, PairView<float>>();
template const PairKernels<double, PairView<double>>& pair_kernels<double, PairView<double>>();
template const PairKernels<float, TablePairView<float>>&
pair_kernels<float, TablePairView<float>>();
template const PairKernels<double, TablePairView<double>>&
pair_kernels<double, TablePairView<double>>();

}  // namespace manyclass::MANYCLASS_ISA
