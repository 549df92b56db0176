#pragma once
// The table of the kernels for W in shards of neighboring classes, one for each thread. A batch of
// examples takes two steps:
//
//   score   every thread scores the batch on its own classes, and stores the scores of the classes
//           with z > 0 and of the few classes with the largest violations
//   solve   every thread solves the blocks of the batch, all with the same result, and updates its
//           own classes
//
// A barrier separates the two steps. The z of the batch's examples change one after the other:
// inner products of the examples update the stored scores, so that every step equals a single
// visit over the stored classes (many_classes/sharded_sweep.hpp).
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "certificate/gap_sums.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/entering_classes.hpp"
#include "subproblem/scratch.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {

inline constexpr std::size_t kBatch = 16;  // examples

// The scores of one example on one shard.
template <class T>
struct ShardScores {
  T own;          // w_y . x, if y is in the shard
  double losses;  // sum over the shard's classes with z = 0 (sum formulations)
  std::size_t n_entering;
  std::vector<Scored<T>> entering;  // the classes with z = 0 that violate most, largest first
};

// The scores of a batch; `support[b]` has the scores of the classes with z > 0 of example b.
template <class T>
struct Batch {
  explicit Batch(const ShardedWeights<T>& w)
      : n_classes(w.n_classes),
        n_shards(w.size()),
        shard_size(w.shard_size),
        scores(kBatch * w.shards.size()),
        support(kBatch, std::vector<T>(w.n_classes)) {}
  ShardScores<T>& score(std::size_t b, int shard) { return scores[b * n_shards + shard]; }
  // Reserve room for the scores of these rows on a shard.
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

// Memory of one thread. The changes of a batch are contiguous: the steps of example b end at
// step_ends[b], its new z at dual_ends[b].
template <class T>
struct ShardScratch {
  Scratch<T> visit;        // for all classes; scores for the largest shard
  double* moved;           // k zeros
  Step* steps;             // sum over the batch of (its z > 0) + n_entering + 2
  DualEntry<T>* duals;     // the same size
  std::size_t* step_ends;  // kBatch
  std::size_t* dual_ends;  // kBatch
  std::size_t* taken;      // a number for each shard
  bool* changed;           // kBatch; whether z changed
  bool* active;            // kBatch; whether the example stays active
  T* carry;                // k; low digits of the intercepts, or null
};

template <class T>
struct ShardKernels {
  using Rows = std::span<const std::int32_t>;
  // Score the rows on all classes of a shard or, in shrunk loops, on the classes with z > 0.
  void (*score)(const Examples<T>&, const ShardedWeights<T>&, const DualLists<T>&, Rows,
                bool shrunk, int shard, Scratch<T>, Batch<T>&);
  // Gap, loss and largest violation of rows [begin, end), in double; changes nothing. `all` has
  // room for the scores of all classes, `some` for the scores of a shard, aligned to 64 bytes.
  GapSums (*inspect)(const Examples<T>&, const ShardedWeights<T>&, const DualLists<T>&,
                     const CertifiedWeights&, double* all, double* some, std::int64_t begin,
                     std::int64_t end);
  // The steps and the new z of the rows.
  SweepResult (*solve)(const Examples<T>&, const DualLists<T>&, Rows, bool shrunk, double min_gap,
                       Batch<T>&, const ShardScratch<T>&);
  // Update the weights of a shard by the steps.
  void (*move)(const Examples<T>&, ShardedWeights<T>&, Rows, int shard, const ShardScratch<T>&);
};

}  // namespace manyclass
