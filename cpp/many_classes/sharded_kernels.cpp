// The kernels for W in shards. CMakeLists.txt compiles this file once per
// instruction set.
#include "many_classes/sharded_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "certificate/double_scores.hpp"
#include "certificate/gap.hpp"
#include "certificate/gap_sums.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "many_classes/shard_scores.hpp"
#include "many_classes/sharded_sweep.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"
#include "simd/vector.hpp"
#include "subproblem/root_finding.hpp"
#include "weights/hash_tables.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// Gap, loss and largest violation of rows [begin, end). `all` is memory for the scores of all
// classes, `some` for the classes of a shard.
template <class T>
GapSums inspect_shards(const Examples<T>& examples, const ShardedWeights<T>& w,
                       const DualLists<T>& z, const CertifiedWeights& at, double* all, double* some,
                       std::int64_t begin, std::int64_t end) {
  const GapCertificate<T> certify(examples, at);
  constexpr std::int64_t kL = kLanes<double>;
  const std::int64_t n = (w.n_classes + kL - 1) / kL * kL;
  GapSums result;
  for (std::int64_t i = begin; i < end; ++i) {
    for (int shard = 0; shard < w.size(); ++shard) {
      const HashTables<T>& tables = w.shards[shard];
      double_scores(tables, examples.x.row(i), some);
      std::copy_n(some, tables.n_classes(), all + w.first(shard));
    }
    std::fill(all + w.n_classes, all + n, -kInfinity);
    certify.add(i, z, all[examples.labels[i]], all, n, result);
  }
  return result;
}

template <class T>
struct TableOf<ShardKernels<T>> {
  static constexpr ShardKernels<T> value{score_shard<T>, inspect_shards<T>, solve_batch<T>,
                                         move_shard<T>};
};

template const ShardKernels<float>& kernel_table();
template const ShardKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
