// One instruction set's copy of the kernels for W in slices; compiled once for each
// (CMakeLists.txt).
#include "many_classes/sharded_kernels.hpp"

#include "many_classes/sharded_sweep.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
const SliceKernels<T>& slice_kernels() {
  static constexpr SliceKernels<T> table{look_at_rows<T>, inspect_rows<T>, solve_rows<T>,
                                         move_rows<T>};
  return table;
}

template const SliceKernels<float>& slice_kernels<float>();
template const SliceKernels<double>& slice_kernels<double>();

}  // namespace manyclass::MANYCLASS_ISA
