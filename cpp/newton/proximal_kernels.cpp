// The kernels of the proximal Newton method. CMakeLists.txt compiles this file once per
// instruction set.
#include "newton/proximal_kernels.hpp"

#include "newton/kernel_table.hpp"
#include "newton/preconditioner_kernels.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, int B>
inline constexpr NewtonKernels<T> kTable{score_rows<T, B>,
                                         add_dual_rows<T, B>,
                                         respond_rows<T, B>,
                                         hessian_product<T, B>,
                                         slope_rows<T, B>,
                                         estimate_rows<T, B>,
                                         gram_zone<T, B>,
                                         factor_panel<T>,
                                         solve_factor<T, B>,
                                         whole_hessian<T, B>,
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
      {kTable<T, 1>, kTable<T, 2>, kTable<T, 3>, kTable<T, 4>}};
};

template const NewtonKernelsByBlocks<float>& kernel_table();
template const NewtonKernelsByBlocks<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
