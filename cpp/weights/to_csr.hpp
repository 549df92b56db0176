#pragma once
// W in shards as a CSR matrix: a row per feature, with the original class numbers, ascending.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "threads/thread_team.hpp"
#include "weights/hash_tables.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {

// Row ends of the CSR matrix: the number of non-zero weights up to each feature.
template <class T>
std::vector<std::int64_t> row_ends(const ShardedWeights<T>& w) {
  const std::int64_t n_rows = w.shards[0].n_rows();
  std::vector<std::int64_t> ends(n_rows + 1);
  for (std::int64_t j = 0; j < n_rows; ++j) {
    std::int64_t size = 0;
    for (const HashTables<T>& shard : w.shards) {
      shard.for_each(j, [&](std::uint32_t, T) { ++size; });
    }
    ends[j + 1] = ends[j] + size;
  }
  return ends;
}

// Write rows [begin, end); class c of W has the number names[c].
template <class T>
void export_rows(const ShardedWeights<T>& w, const std::int32_t* names, std::int64_t begin,
                 std::int64_t end, std::span<const std::int64_t> ends, std::int32_t* labels,
                 T* values) {
  std::vector<std::pair<std::int32_t, T>> row;
  for (std::int64_t j = begin; j < end; ++j) {
    row.clear();
    for (int shard = 0; shard < w.size(); ++shard) {
      const std::int32_t first = w.first(shard);
      w.shards[shard].for_each(j, [&](std::uint32_t label, T weight) {
        row.emplace_back(names[first + static_cast<std::int32_t>(label)], weight);
      });
    }
    std::sort(row.begin(), row.end());
    auto at = ends[j];
    for (const auto& [label, weight] : row) {
      labels[at] = label;
      values[at++] = weight;
    }
  }
}

// Write all rows; each thread writes rows with about equally many weights.
template <class T>
CsrArrays<T> export_weights(const ShardedWeights<T>& w, std::span<const std::int32_t> names) {
  require(std::ssize(names) == w.n_classes, "every class must have a name");
  CsrArrays<T> out{.indptr = row_ends(w), .labels = {}, .values = {}};
  const std::vector<std::int64_t>& ends = out.indptr;
  out.labels.resize(ends.back());
  out.values.resize(ends.back());
  ThreadTeam team(w.size());
  const auto n_parts = std::ssize(team);
  const auto row_at = [&](std::int64_t part) {
    const auto row = std::lower_bound(ends.begin(), ends.end(), ends.back() * part / n_parts);
    return part == n_parts ? w.shards[0].n_rows() : static_cast<std::int64_t>(row - ends.begin());
  };
  team.run([&](int member) {
    export_rows(w, names.data(), row_at(member), row_at(member + 1), ends, out.labels.data(),
                out.values.data());
  });
  return out;
}

// W = a CSR matrix; its class c is class places[c] of W.
template <class T>
void load_csr(ShardedWeights<T>& w, std::span<const std::int64_t> indptr,
              std::span<const std::int32_t> labels, std::span<const T> values,
              std::span<const std::int32_t> places) {
  const std::int64_t n_rows = w.n_rows();
  const auto k = static_cast<std::int32_t>(places.size());
  require(k == w.n_classes, "every class must have a place");
  for (std::int32_t c = 0; c < k; ++c) {
    require(0 <= places.data()[c] && places.data()[c] < k, "place out of range");
  }
  require(std::ssize(indptr) == n_rows + 1, "another number of rows");
  require(labels.size() == values.size(), "labels and values must have one length");
  w.clear();
  for (std::int64_t j = 0; j < n_rows; ++j) {
    const std::int64_t begin = indptr.data()[j];
    const std::int64_t end = indptr.data()[j + 1];
    require(0 <= begin && begin <= end && end <= std::ssize(labels),
            "indptr is not that of a CSR matrix");
    std::int32_t last = -1;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int32_t label = labels.data()[p];
      require(last < label && label < k, "labels must be ascending and below n_classes");
      last = label;
      const std::int32_t place = places.data()[label];
      const std::int32_t shard = place / w.shard_size;
      const auto inside = static_cast<std::uint32_t>(place - w.first(shard));
      *w.shards[shard].insert(j, inside) = values.data()[p];
    }
  }
}

}  // namespace manyclass
