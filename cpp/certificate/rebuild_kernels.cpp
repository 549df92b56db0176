// The kernels that rebuild W from z. CMakeLists.txt compiles this file once per
// instruction set.
#include "certificate/rebuild_kernels.hpp"

#include "certificate/rebuild_loops.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<RebuildKernels<T>> {
  static constexpr RebuildKernels<T> value{add_block<T>, store_block<T>};
};

template const RebuildKernels<float>& kernel_table();
template const RebuildKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
