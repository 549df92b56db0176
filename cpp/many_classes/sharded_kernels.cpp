// The kernels for W in shards. CMakeLists.txt compiles this file once per
// instruction set.
#include "many_classes/sharded_kernels.hpp"

#include "many_classes/shard_scores.hpp"
#include "many_classes/sharded_certificate.hpp"
#include "many_classes/sharded_sweep.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<ShardKernels<T>> {
  static constexpr ShardKernels<T> value{score_shard<T>, inspect_shards<T>, solve_batch<T>,
                                         move_shard<T>};
};

template const ShardKernels<float>& kernel_table();
template const ShardKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
