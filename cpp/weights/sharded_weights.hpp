#pragma once
// W in hash tables, divided into shards of neighboring classes, one for each thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/compensated_sum.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass {

template <class T>
struct ShardedWeights {
  // `clustered`: neighboring classes share features (hash_tables.hpp).
  ShardedWeights(std::int64_t n_rows, std::int32_t n_classes, int n_shards, std::size_t dense_from,
                 bool clustered = false)
      : n_classes(n_classes), shard_size(n_classes / n_shards + (n_classes % n_shards != 0)) {
    for (std::int32_t left = n_classes; left > 0; left -= std::min(left, shard_size)) {
      shards.emplace_back(n_rows, std::min(shard_size, left), dense_from, clustered);
    }
  }
  ShardedWeights(ShardedWeights&&) = default;
  std::int64_t n_rows() const { return shards[0].n_rows(); }
  int size() const { return static_cast<int>(shards.size()); }
  std::int32_t first(int shard) const { return shard * shard_size; }

  // Sum of measure(shard) over the shards.
  template <class Measure>
  auto total(Measure measure) const {
    decltype(measure(shards[0])) sum = 0;
    for (const HashTables<T>& shard : shards) sum += measure(shard);
    return sum;
  }
  double squared_norm() const {
    CompensatedSum sum;
    for (const HashTables<T>& shard : shards) shard.add_squares(sum);
    return sum.value();
  }
  // The non-zero weights of the last row, in any order.
  std::vector<T> intercepts() const {
    std::vector<T> found;
    for (const HashTables<T>& shard : shards) {
      shard.for_each(n_rows() - 1, [&](std::uint32_t, T weight) { found.push_back(weight); });
    }
    return found;
  }
  std::int64_t n_slots() const {
    return total([](const HashTables<T>& shard) { return shard.n_slots(); });
  }
  std::int64_t n_bytes() const {
    return total([](const HashTables<T>& shard) { return shard.n_bytes(); });
  }
  void clear() {
    for (HashTables<T>& shard : shards) shard.clear();
  }

  std::int32_t n_classes;
  std::int32_t shard_size;
  std::vector<HashTables<T>> shards;
};

}  // namespace manyclass
