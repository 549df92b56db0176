// One instruction set's copy of the stochastic kernels; compiled once for each (CMakeLists.txt).
#include "stochastic/kernels.hpp"

#include "stochastic/minibatch_step.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class Slice>
const StochasticKernels<T, Slice>& stochastic_kernels() {
  static constexpr StochasticKernels<T, Slice> table{look_stochastic<T, Slice>,
                                                     move_stochastic<T, Slice>};
  return table;
}

template const StochasticKernels<float, DenseSlice<float>>& stochastic_kernels();
template const StochasticKernels<float, TableSlice<float>>& stochastic_kernels();
template const StochasticKernels<double, DenseSlice<double>>& stochastic_kernels();
template const StochasticKernels<double, TableSlice<double>>& stochastic_kernels();

}  // namespace manyclass::MANYCLASS_ISA
