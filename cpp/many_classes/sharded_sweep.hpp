#pragma once
// The kernels of many_classes/sharded_kernels.hpp: batches of visits for relative margins
// (Crammer-Singer, Weston-Watkins), with W in tables.
//
// Input and output are the same as in dual/dense_sweep.hpp. A visit of all classes adds only the
// few classes with the largest xi to the block; the others wait for the next loop. Source: Keerthi
// et al. 2008, sec. 2; the list of active classes is the one of its shrinking heuristic.
#include <algorithm>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "many_classes/sharded_kernels.hpp"
#include "simd/isa.hpp"
#include "subproblem/entering_classes.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/hash_weights.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// x . x' of rows with ascending features.
template <class T>
inline double inner_product(const Row<T>& a, const Row<T>& b) {
  double sum = static_cast<double>(a.bias) * static_cast<double>(b.bias);
  for (std::int64_t p = 0, q = 0; p < a.nnz && q < b.nnz;) {
    const std::int32_t left = a.indices[p], right = b.indices[q];
    if (left == right) sum += static_cast<double>(a.values[p]) * static_cast<double>(b.values[q]);
    p += left <= right;
    q += right <= left;
  }
  return sum;
}

// The visits of a batch after all threads have computed its scores.
template <class T>
class BatchVisitor : public ExampleSubproblem<T> {
 public:
  BatchVisitor(const Examples<T>& examples, std::span<const std::int32_t> rows, Batch<T>& batch,
               const ShardScratch<T>& scratch)
      : ExampleSubproblem<T>(examples, batch.n_classes, scratch.visit),
        rows_(rows),
        batch_(batch),
        shard_size_(batch.shard_size),
        scratch_(scratch) {}

  // The summary of example b, with scores updated by the steps before it.
  BlockSummary summarize(std::size_t b, std::span<const DualEntry<T>> z) {
    const std::int64_t i = rows_[b];
    const ExampleCosts costs = this->examples_.costs_of(i);
    const std::int32_t y = this->examples_.labels[i];
    const T own = batch_.score(b, y / shard_size_).own;
    BlockSummary found = this->begin(static_cast<double>(own) + scratch_.moved[y], 0);
    for (std::size_t m = 0; m < z.size(); ++m) {
      const double score = static_cast<double>(batch_.support[b][m]) + scratch_.moved[z[m].label];
      this->add_other(z[m], score, costs, found);
    }
    const double losses = found.losses;
    enter(b, n_entering(z.size()), costs, found);
    found.losses = losses;
    for (int shard = 0; shard < batch_.n_shards; ++shard) {
      found.losses += batch_.score(b, shard).losses;
    }
    return found;
  }

  // scratch.moved[c] = the change of the scores by the steps before example b; `forget` clears it.
  void bring_up_to_date(std::size_t b) {
    const Row<T> row = this->examples_.x.row(rows_[b]);
    for (std::size_t e = 0; e < b; ++e) {
      const std::span<const Step> steps = steps_of(e);
      if (steps.empty()) continue;
      const double product = inner_product(row, this->examples_.x.row(rows_[e]));
      if (product == 0) continue;
      for (const Step& s : steps) scratch_.moved[s.label] += product * s.delta;
    }
  }
  void forget(std::size_t b) {
    const std::size_t end = b == 0 ? 0 : scratch_.step_ends[b - 1];
    for (std::size_t s = 0; s < end; ++s) scratch_.moved[scratch_.steps[s].label] = 0;
  }

  // Solve the block of example b; returns the gain of the dual objective.
  double visit(std::size_t b, const BlockSummary& found) {
    const std::int64_t i = rows_[b];
    const std::span<const Coordinate> block = this->solve(i, found);
    for (const Coordinate& c : block) {
      if (c.z_new > 0) scratch_.duals[n_duals_++] = {c.label, static_cast<T>(c.z_new)};
    }
    const BlockStep solved = this->step(i, block);
    for (const Step& s : solved.step) scratch_.steps[n_steps_++] = s;
    return solved.gain;
  }

  void end(std::size_t b, bool changed) {
    scratch_.step_ends[b] = n_steps_;
    scratch_.dual_ends[b] = n_duals_;
    scratch_.changed[b] = changed;
  }
  std::span<const DualEntry<T>> duals_of(std::size_t b) const {
    const std::size_t begin = b == 0 ? 0 : scratch_.dual_ends[b - 1];
    return {scratch_.duals + begin, scratch_.dual_ends[b] - begin};
  }

 private:
  std::span<const Step> steps_of(std::size_t b) const {
    const std::size_t begin = b == 0 ? 0 : scratch_.step_ends[b - 1];
    return {scratch_.steps + begin, scratch_.step_ends[b] - begin};
  }

  // Add the classes with the largest violations, of all shards.
  void enter(std::size_t b, std::size_t wanted, const ExampleCosts& costs, BlockSummary& found) {
    for (int shard = 0; shard < batch_.n_shards; ++shard) scratch_.taken[shard] = 0;
    for (std::size_t n = 0; n < wanted; ++n) {
      const Scored<T>* best = nullptr;
      int of = 0;
      for (int shard = 0; shard < batch_.n_shards; ++shard) {
        const ShardScores<T>& score = batch_.score(b, shard);
        if (scratch_.taken[shard] == score.n_entering) continue;
        const Scored<T>& next = score.entering[scratch_.taken[shard]];
        if (best && !HigherScore<T>{}(next, *best)) continue;
        best = &next;
        of = shard;
      }
      if (!best) return;
      ++scratch_.taken[of];
      const double score = static_cast<double>(best->score) + scratch_.moved[best->label];
      this->add_coordinate({best->label, 0, found.offset + score, this->v_others_, 0, 0}, costs,
                           found);
    }
  }

  std::span<const std::int32_t> rows_;
  Batch<T>& batch_;
  std::int32_t shard_size_;
  const ShardScratch<T>& scratch_;
  std::size_t n_steps_ = 0;
  std::size_t n_duals_ = 0;
};

template <class T>
SweepResult solve_batch(const Examples<T>& examples, const DualLists<T>& z,
                        std::span<const std::int32_t> rows, bool shrunk, double min_gap,
                        Batch<T>& batch, const ShardScratch<T>& scratch) {
  BatchVisitor<T> visitor(examples, rows, batch, scratch);
  SweepResult result;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const std::span<const DualEntry<T>> list = z.row(rows[b]);
    const ExampleCosts costs = examples.costs_of(rows[b]);
    visitor.bring_up_to_date(b);
    const BlockSummary found = visitor.summarize(b, list);
    visitor.forget(b);
    const double gap_before = result.gap;
    const double violation = visitor.tally(found, costs.all, result);
    result.evaluations += shrunk ? std::ssize(list) + 1 : std::int64_t{batch.n_classes};
    const bool is_open = result.gap - gap_before >= min_gap;
    const bool solves = is_open && violation > 0;
    if (solves) {
      result.dual_gain += visitor.visit(b, found);
      ++result.steps;
    }
    visitor.end(b, solves);
    const bool active = visitor.is_active(solves ? visitor.duals_of(b) : list, costs);
    scratch.active[b] = is_open && active;
    result.n_active += scratch.active[b];
  }
  return result;
}

// W of a shard += the steps of the batch.
template <class T>
void move_shard(const Examples<T>& examples, ShardedWeights<T>& w,
                std::span<const std::int32_t> rows, int shard, const ShardScratch<T>& scratch) {
  const std::int32_t first = w.first(shard);
  const HashUpdates<T> weights(w.shards[shard], first,
                               scratch.carry ? scratch.carry + first : nullptr);
  std::size_t begin = 0;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const std::span<const Step> steps(scratch.steps + begin, scratch.step_ends[b] - begin);
    begin = scratch.step_ends[b];
    weights.add(examples.x.row(rows[b]), steps, nullptr);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
