// One instruction set's copy of the kernels for W in shards; compiled once for each
// (CMakeLists.txt).
#include "many_classes/sharded_kernels.hpp"

#include "many_classes/sharded_sweep.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
const ShardKernels<T>& shard_kernels() {
  static constexpr ShardKernels<T> table{score_shard<T>, inspect_shards<T>, solve_batch<T>,
                                         move_shard<T>};
  return table;
}

template const ShardKernels<float>& shard_kernels<float>();
template const ShardKernels<double>& shard_kernels<double>();

}  // namespace manyclass::MANYCLASS_ISA
