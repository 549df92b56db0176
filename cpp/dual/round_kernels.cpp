// The kernels of rounds of the sequential dual method. CMakeLists.txt compiles this file once per
// instruction set; apart from dual/kernels.cpp, whose visits stay as the compiler makes them alone.
#include "dual/kernels.hpp"
#include "dual/round_sweep.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<RoundKernels<T>> {
  static constexpr RoundKernels<T> value{round_sweep<false, T>, round_sweep<true, T>,
                                         add_measured<T>};
};

template const RoundKernels<float>& kernel_table();
template const RoundKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
