// One instruction set's copy of the stochastic kernels; compiled once for each (CMakeLists.txt).
#include "stochastic/kernels.hpp"

#include "stochastic/minibatch_step.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class Shard>
const StochasticKernels<T, Shard>& stochastic_kernels() {
  static constexpr StochasticKernels<T, Shard> table{score_batch<T, Shard>, step_batch<T, Shard>};
  return table;
}

template const StochasticKernels<float, DenseShard<float>>& stochastic_kernels();
template const StochasticKernels<float, TableShard<float>>& stochastic_kernels();
template const StochasticKernels<double, DenseShard<double>>& stochastic_kernels();
template const StochasticKernels<double, TableShard<double>>& stochastic_kernels();

}  // namespace manyclass::MANYCLASS_ISA
