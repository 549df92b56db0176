#pragma once
// The threads that visit examples, each with a shard of the classes
// (many_classes/sharded_kernels.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "certificate/coefficient_blocks.hpp"
#include "certificate/feasible.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "many_classes/sharded_kernels.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/entering_classes.hpp"
#include "subproblem/scratch.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_team.hpp"
#include "weights/hash_tables.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {

// The memory that ShardScratch points to.
template <class T>
class OwnedShardScratch {
 public:
  explicit OwnedShardScratch(const ShardedWeights<T>& w)
      : block_(w.n_classes + 1),
        step_(w.n_classes + 2),
        list_(w.n_classes + 2),
        moved_(w.n_classes),
        scores_(w.shards[0].stride() + HashTables<T>::kBlock),
        exact_(w.n_classes + HashTables<T>::kBlock),
        exact_shard_(w.shards[0].stride()),
        taken_(w.shards.size()) {}
  OwnedShardScratch(const OwnedShardScratch&) = delete;
  OwnedShardScratch& operator=(const OwnedShardScratch&) = delete;

  // The memory, resized for the steps of this batch.
  ShardScratch<T> view(const DualLists<T>& z, std::span<const std::int32_t> rows, T* carry) {
    std::size_t size = 0;
    for (const std::int32_t i : rows) {
      size += z.row(i).size() + n_entering(z.row(i).size()) + 2;
    }
    if (steps_.size() < size) steps_.resize(2 * size);
    if (duals_.size() < size) duals_.resize(2 * size);
    return {.visit = {.scores = scores_.data(),
                      .dense_step = nullptr,
                      .block = block_.data(),
                      .step = step_.data(),
                      .labels = list_.data()},
            .moved = moved_.data(),
            .steps = steps_.data(),
            .duals = duals_.data(),
            .step_ends = step_ends_,
            .dual_ends = dual_ends_,
            .taken = taken_.data(),
            .changed = changed_,
            .active = active_,
            .carry = carry};
  }
  double* all_scores() const { return exact_.data(); }
  double* shard_scores() const { return exact_shard_.data(); }

 private:
  std::vector<Coordinate> block_;
  std::vector<Step> step_;
  std::vector<std::int32_t> list_;
  std::vector<double> moved_;
  AlignedArray<T> scores_;
  AlignedArray<double> exact_;
  AlignedArray<double> exact_shard_;
  std::vector<std::size_t> taken_;
  std::vector<Step> steps_;
  std::vector<DualEntry<T>> duals_;
  std::size_t step_ends_[kBatch] = {};
  std::size_t dual_ends_[kBatch] = {};
  bool changed_[kBatch] = {};
  bool active_[kBatch] = {};
};

template <class T>
class ShardTeam {
 public:
  ShardTeam(const ShardKernels<T>& kernels, ShardedWeights<T>& w)
      : kernels_(kernels), w_(w), team_(w.size()), batch_(w), carry_(w.n_classes) {
    for (int member = 0; member < team_.size(); ++member) {
      scratch_.push_back(std::make_unique<OwnedShardScratch<T>>(w));
    }
  }

  int capacity() const { return team_.capacity(); }
  // Set the number of threads, each with some shards.
  void limit(int n_threads) { team_.limit(n_threads); }

  // Visit the rows; write the rows that stay active to `active` (may be `rows`).
  SweepResult visit(const Examples<T>& examples, DualLists<T>& z,
                    std::span<const std::int32_t> rows, bool shrunk, double min_gap,
                    std::int32_t* active) {
    SweepResult sum;
    in_batches(rows, [&](Member& member, Barrier& barrier, std::span<const std::int32_t> part) {
      const bool seen = member.run_and_wait(barrier, [&] {
        member.scratch =
            scratch_[member.number]->view(z, part, sizeof(T) == 4 ? carry_.data() : nullptr);
        score(member, examples, z, part, shrunk);
      });
      if (!seen) return false;
      SweepResult found;
      const bool moved = member.run_and_wait(barrier, [&] {
        found = kernels_.solve(examples, z, part, shrunk, min_gap, batch_, member.scratch);
        for_shards(member.number,
                   [&](int shard) { kernels_.move(examples, w_, part, shard, member.scratch); });
      });
      if (!moved) return false;
      // The other threads may already score the next batch.
      if (member.number == 0)
        member.attempt([&] { settle(z, part, member.scratch, found, active, sum); });
      return true;
    });
    return sum;
  }

  // Gap, loss and largest violation of rows [begin, end), shared by the threads; changes nothing.
  GapSums inspect(const Examples<T>& examples, const DualLists<T>& z, const CertifiedWeights& at,
                  std::int64_t begin, std::int64_t end) {
    const auto size = std::ssize(team_);
    std::vector<GapSums> found(size);
    team_.run([&](int member) {
      const OwnedShardScratch<T>& scratch = *scratch_[member];
      const std::int64_t first = begin + (end - begin) * member / size;
      const std::int64_t last = begin + (end - begin) * (member + 1) / size;
      found[member] = kernels_.inspect(examples, w_, z, at, scratch.all_scores(),
                                       scratch.shard_scores(), first, last);
    });
    GapSums sum;
    for (const GapSums& part : found) sum.add(part);
    return sum;
  }

  // W <- W(z); each thread computes the classes of its shards.
  RebuildError rebuild(const Examples<T>& examples, const DualLists<T>& z, const Poll& poll) {
    for (HashTables<T>& tables : w_.shards) tables.clear();
    std::vector<RebuildError> errors(w_.shards.size());
    const auto each = [&](std::int64_t i, auto f) { each_coefficient(examples, z, i, f); };
    each_range(examples.x.n_rows, w_.n_classes, 1, each, [&](const CoefficientBlocks& blocks) {
      team_.run([&](int member) {
        ClassSums<T> sums(examples.x);
        for_shards(member, [&](int shard) {
          errors[shard].add(
              rebuild_tables(examples, w_.shards[shard], w_.first(shard), blocks, sums));
        });
      });
      poll();
    });
    RebuildError sum;
    for (const RebuildError& error : errors) sum.add(error);
    return sum;
  }

 private:
  // One thread of a run over batches. Errors are stored until all threads have stopped: a thread
  // that fails must still reach the next barrier.
  struct Member {
    std::size_t number;
    ShardScratch<T> scratch{};
    std::exception_ptr error{};

    template <class Work>
    void attempt(Work work) {
      if (error) return;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
    }
    // Work, then wait at the barrier; returns whether no thread has failed.
    template <class Work>
    bool run_and_wait(Barrier& barrier, Work work) {
      attempt(work);
      return barrier.arrive_and_wait(!error);
    }
  };

  // Call visit(member, barrier, batch) for all batches of the rows on all threads, while it returns
  // true. The result must be the same on all threads.
  template <class Visit>
  void in_batches(std::span<const std::int32_t> rows, Visit visit) {
    Barrier barrier(team_.size());
    team_.run([&](int number) {
      Member member{static_cast<std::size_t>(number)};
      for (std::size_t begin = 0; begin < rows.size(); begin += kBatch) {
        if (!visit(member, barrier, rows.subspan(begin, std::min(kBatch, rows.size() - begin)))) {
          break;
        }
      }
      if (member.error) std::rethrow_exception(member.error);
    });
  }

  template <class Work>
  void for_shards(std::size_t member, Work work) {
    for (int shard = static_cast<int>(member); shard < w_.size(); shard += team_.size()) {
      work(shard);
    }
  }

  void score(Member& member, const Examples<T>& examples, const DualLists<T>& z,
             std::span<const std::int32_t> rows, bool shrunk) {
    for_shards(member.number, [&](int shard) {
      batch_.prepare(z, rows, shard);
      kernels_.score(examples, w_, z, rows, shrunk, shard, member.scratch.visit, batch_);
    });
  }

  // Store the new z of a batch.
  void settle(DualLists<T>& z, std::span<const std::int32_t> rows, const ShardScratch<T>& scratch,
              const SweepResult& found, std::int32_t* active, SweepResult& sum) {
    std::size_t begin = 0;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      const std::size_t end = scratch.dual_ends[b];
      if (scratch.changed[b]) z.set(rows[b], {scratch.duals + begin, end - begin});
      begin = end;
    }
    std::int32_t* next = active + sum.n_active;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      if (scratch.active[b]) *next++ = rows[b];
    }
    sum.add(found);
  }

  const ShardKernels<T>& kernels_;
  ShardedWeights<T>& w_;
  ThreadTeam team_;
  Batch<T> batch_;
  std::vector<T> carry_;  // low digits of the intercepts, shared by all threads
  std::vector<std::unique_ptr<OwnedShardScratch<T>>> scratch_;
};

}  // namespace manyclass
