// The kernels for a pair of class blocks. CMakeLists.txt compiles this file once per
// instruction set.
#include "class_pairs/pair_kernels.hpp"

#include "class_pairs/crammer_singer.hpp"
#include "class_pairs/pair_certificate.hpp"
#include "class_pairs/weston_watkins.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class View>
struct TableOf<PairKernels<T, View>> {
  static constexpr PairKernels<T, View> value{pair_sweep<false, T, View>, pair_sweep<true, T, View>,
                                              own_scores<T, View>,        inspect_pair<T, View>,
                                              trade_shares<T, View>,      survey_slacks<T, View>};
};

template const PairKernels<float, PairView<float>>& kernel_table();
template const PairKernels<double, PairView<double>>& kernel_table();
template const PairKernels<float, TablePairView<float>>& kernel_table();
template const PairKernels<double, TablePairView<double>>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
