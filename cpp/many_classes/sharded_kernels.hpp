#pragma once
// W cut into shards of neighbouring classes, one for each thread, and what the threads tell each
// other about a batch of examples:
//
//   look    every thread scores the batch on its own classes, and notes the scores of those with
//           z > 0 and of the few that violate most
//   step    every thread solves the blocks of the batch, all with the same result, and moves its
//           own classes
//
// Between the two all threads meet. The z of the batch's examples change one after the other: the
// scores that were noted are brought up to date by the inner products of the examples, so that
// every step is that of a visit by itself, for the classes that were noted
// (many_classes/sharded_sweep.hpp).
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "certificate/certified_weights.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/coordinate.hpp"
#include "subproblem/entering_classes.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {

inline constexpr std::size_t kBatch = 16;  // examples

// What one thread found for one example.
template <class T>
struct ShardScores {
  T own;          // w_y . x, if y is in the shard
  double losses;  // sum over the shard's classes with z = 0 (sum formulations)
  std::size_t n_entering;
  std::vector<Scored<T>> entering;  // those of them that violate most, the first most
};

// What the threads found for a batch; `support[b]` has the scores of the z > 0 of example b.
template <class T>
struct Batch {
  explicit Batch(const ShardedWeights<T>& w)
      : n_classes(w.n_classes),
        n_shards(w.size()),
        shard_size(w.shard_size),
        scores(kBatch * w.shards.size()),
        support(kBatch, std::vector<T>(static_cast<std::size_t>(w.n_classes))) {}
  ShardScores<T>& score(std::size_t b, int shard) {
    return scores[b * static_cast<std::size_t>(n_shards) + static_cast<std::size_t>(shard)];
  }
  // Room for what a shard's thread finds about rows with these lists.
  void prepare(const DualLists<T>& z, std::span<const std::int32_t> rows, int shard) {
    for (std::size_t b = 0; b < rows.size(); ++b) {
      score(b, shard).entering.resize(n_entering(z.row(rows[b]).size()));
    }
  }

  std::int32_t n_classes;
  int n_shards;
  std::int32_t shard_size;
  std::vector<ShardScores<T>> scores;
  std::vector<std::vector<T>> support;
};

// Memory of one thread. What a batch changes lies side by side: the steps of example b end at
// step_ends[b], its new z at dual_ends[b].
template <class T>
struct ShardScratch {
  Scratch<T> visit;        // for all classes; its scores for those of the largest shard
  double* moved;           // k zeros
  Step* steps;             // sum over the batch of (its z > 0) + n_entering + 2
  DualEntry<T>* duals;     // likewise
  std::size_t* step_ends;  // kBatch
  std::size_t* dual_ends;  // kBatch
  std::size_t* taken;      // a number for each shard
  bool* changed;           // kBatch; whether z did
  bool* active;            // kBatch; whether the example is worth visiting in the next shrunk loop
  T* carry;                // k; low digits of the intercepts, or null
};

template <class T>
struct ShardKernels {
  using Rows = std::span<const std::int32_t>;
  // Score the rows on all classes of a shard, or (shrunk) on those with z > 0.
  void (*score)(const Examples<T>&, const ShardedWeights<T>&, const DualLists<T>&, Rows,
                bool shrunk, int shard, Scratch<T>, Batch<T>&);
  // Gap, loss and largest violation of rows [begin, end), in double; nothing changes. `all` has
  // room for the scores of all classes, `some` for those of a shard, aligned to 64 bytes.
  SweepResult (*inspect)(const Examples<T>&, const ShardedWeights<T>&, const DualLists<T>&,
                         const CertifiedWeights&, double* all, double* some, std::int64_t begin,
                         std::int64_t end);
  // The steps and the new z of the rows.
  SweepResult (*solve)(const Examples<T>&, const DualLists<T>&, Rows, bool shrunk, double min_gap,
                       Batch<T>&, const ShardScratch<T>&);
  // Move a shard's weights by the steps.
  void (*move)(const Examples<T>&, ShardedWeights<T>&, Rows, int shard, const ShardScratch<T>&);
};

}  // namespace manyclass
