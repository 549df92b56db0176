// One instruction set's copy of the Newton kernels; compiled once for each (CMakeLists.txt).
#include "newton/proximal_kernels.hpp"

namespace manyclass::MANYCLASS_ISA {
namespace {

template <class T, int B>
constexpr NewtonKernels<T> table() {
  return {score_rows<T, B>,
          add_dual_rows<T, B>,
          respond_rows<T, B>,
          hessian_product<T, B>,
          slope_rows<T, B>,
          certify_rows<T, B>,
          gram_zone<T, B>,
          factor_panel<T>,
          solve_factor<T, B>,
          centre_rows<T>,
          dot<T>,
          axpy<T>,
          add_to_total<T>,
          subtract<T>};
}

}  // namespace

template <class T>
const NewtonKernels<T>& newton_kernels(std::int64_t blocks) {
  static constexpr NewtonKernels<T> kByBlocks[] = {table<T, 1>(), table<T, 2>(), table<T, 3>(),
                                                   table<T, 4>()};
  return kByBlocks[blocks - 1];
}

template const NewtonKernels<float>& newton_kernels<float>(std::int64_t);
template const NewtonKernels<double>& newton_kernels<double>(std::int64_t);

}  // namespace manyclass::MANYCLASS_ISA
