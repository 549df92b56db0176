#pragma once
// The scores of a batch of examples on the classes of one shard: the first half of a visit
// (many_classes/sharded_kernels.hpp).
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "many_classes/sharded_kernels.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/base_rows.hpp"
#include "subproblem/entering_classes.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/hash_tables.hpp"
#include "weights/hash_weights.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class ShardScorer {
 public:
  ShardScorer(const Examples<T>& examples, const ShardedWeights<T>& w, int shard,
              Scratch<T> scratch)
      : examples_(examples),
        w_(w),
        weights_(w.shards[shard]),
        first_(w.first(shard)),
        scratch_(scratch) {}

  // All classes of the shard.
  void score_all(std::int64_t i, std::span<const DualEntry<T>> z, T* support,
                 ShardScores<T>& score) const {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    T* s = scratch_.scores;
    const Row<T> row = examples_.x.row(i);
    HashWeights<T>(weights_).scores(row, s);
    const std::size_t n = weights_.stride();
    const auto n_classes = weights_.n_classes();
    const BaseScores<T>& base = examples_.base;
    add_base(base, i, first_, first_ + n_classes, s);
    for (std::size_t c = n_classes; c < n; ++c) s[c] = kNone;
    for (std::size_t m = 0; m < z.size(); ++m) {
      if (has(z[m].label)) take(s[z[m].label - first_], support[m]);
    }
    const std::int32_t y = examples_.labels[i];
    if (has(y)) take(s[y - first_], score.own);
    score.n_entering = largest_scores(s, n, first_, score.entering.size(), score.entering.data());
    const Formulation& f = examples_.formulation;
    if (f.maximum) return;
    const T s_y = has(y) ? score.own : own_score(row, y) + base_of(base, i, y);
    const Slacks slacks(f, static_cast<double>(s_y), 0);
    const T offset = static_cast<T>(slacks.offset()), *factors = examples_.factors.of(i);
    score.losses = factors ? sum_of_losses(s, n, offset, f.loss, factors + first_)
                           : sum_of_losses(s, n, offset, f.loss);
  }

  // The scores of the shard's classes with z > 0, and of y.
  void score_support(std::int64_t i, std::span<const DualEntry<T>> z, T* support,
                     ShardScores<T>& score) const {
    std::int32_t* labels = scratch_.labels;
    T* s = scratch_.scores;
    std::size_t size = 0;
    const auto want = [&](std::int32_t c) {
      if (!has(c)) return;
      labels[size++] = c - first_;
    };
    for (const DualEntry<T>& entry : z) want(entry.label);
    const std::int32_t y = examples_.labels[i];
    want(y);
    HashWeights<T>(weights_).scores_of(examples_.x.row(i), {labels, size}, s);
    if (examples_.base) {
      for (std::size_t m = 0; m < size; ++m) s[m] += base_of(examples_.base, i, first_ + labels[m]);
    }
    std::size_t at = 0;
    for (std::size_t m = 0; m < z.size(); ++m) {
      if (has(z[m].label)) support[m] = s[at++];
    }
    if (has(y)) score.own = s[at];
    score.n_entering = 0;
    score.losses = 0;
  }

 private:
  bool has(std::int32_t c) const { return first_ <= c && c < first_ + weights_.n_classes(); }

  static void take(T& score, T& to) {
    to = score;
    score = -std::numeric_limits<T>::infinity();
  }

  // The score of a class of a different shard.
  T own_score(const Row<T>& row, std::int32_t y) const {
    const int shard = y / w_.shard_size;
    const std::int32_t label = y - w_.first(shard);
    T score = 0;
    HashWeights<T>(w_.shards[shard]).scores_of(row, {&label, 1}, &score);
    return score;
  }

  const Examples<T>& examples_;
  const ShardedWeights<T>& w_;
  const HashTables<T>& weights_;
  std::int32_t first_;
  Scratch<T> scratch_;
};

template <class T>
void score_shard(const Examples<T>& examples, const ShardedWeights<T>& w, const DualLists<T>& z,
                 std::span<const std::int32_t> rows, bool shrunk, int shard, Scratch<T> scratch,
                 Batch<T>& batch) {
  const ShardScorer<T> at(examples, w, shard, scratch);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    T* support = batch.support[b].data();
    ShardScores<T>& score = batch.score(b, shard);
    if (shrunk) {
      at.score_support(rows[b], z.row(rows[b]), support, score);
    } else {
      at.score_all(rows[b], z.row(rows[b]), support, score);
    }
  }
}

}  // namespace manyclass::MANYCLASS_ISA
