// The kernels of the proximal Newton method. CMakeLists.txt compiles this file once per
// instruction set.
#include "newton/proximal_kernels.hpp"

#include "newton/kernel_table.hpp"
#include "newton/preconditioner_kernels.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, int B, bool kFactors>
inline constexpr NewtonKernels<T> kTable{score_rows<T, B, kFactors>,
                                         add_dual_rows<T, B, kFactors>,
                                         respond_rows<T, B, kFactors>,
                                         hessian_product<T, B, kFactors>,
                                         slope_rows<T, B, kFactors>,
                                         estimate_rows<T, B, kFactors>,
                                         gram_zone<T, B, kFactors>,
                                         factor_panel<T>,
                                         solve_factor<T, B>,
                                         whole_hessian<T, B, kFactors>,
                                         factor_panel<double>,
                                         solve_whole,
                                         centre_rows<T>,
                                         dot<T>,
                                         axpy<T>,
                                         add_to_total<T>,
                                         subtract<T>};

template <class T>
struct TableOf<NewtonKernelsByBlocks<T>> {
  static constexpr NewtonKernelsByBlocks<T> value{
      {{kTable<T, 1, false>, kTable<T, 2, false>, kTable<T, 3, false>, kTable<T, 4, false>},
       {kTable<T, 1, true>, kTable<T, 2, true>, kTable<T, 3, true>, kTable<T, 4, true>}}};
};

template const NewtonKernelsByBlocks<float>& kernel_table();
template const NewtonKernelsByBlocks<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
