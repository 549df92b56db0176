// The kernels of stochastic gradient descent. CMakeLists.txt compiles this file once per
// instruction set.
#include "stochastic/kernels.hpp"

#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"
#include "stochastic/minibatch_step.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class Shard>
struct TableOf<StochasticKernels<T, Shard>> {
  static constexpr StochasticKernels<T, Shard> value{score_batch<T, Shard>, step_batch<T, Shard>};
};

template const StochasticKernels<float, DenseShard<float>>& kernel_table();
template const StochasticKernels<float, TableShard<float>>& kernel_table();
template const StochasticKernels<double, DenseShard<double>>& kernel_table();
template const StochasticKernels<double, TableShard<double>>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
