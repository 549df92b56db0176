#pragma once
// Minibatch stochastic (sub-)gradient descent over given rows, with a shard of the classes for each
// thread (stochastic/kernels.hpp): checks, a bound that rejects steps which may overflow, and one
// barrier per minibatch, between scores and steps.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "simd/aligned_array.hpp"
#include "simd/dispatch.hpp"
#include "stochastic/kernels.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"
#include "weights/sharded_weights.hpp"

namespace manyclass {

// Progress of training; W = S / (alpha seen).
struct StochasticClock {
  double alpha = 1;
  double seen = 0;         // T: weight of the examples of all steps
  std::int64_t steps = 0;  // t
  double reach = 0;        // sum of v_i |x_i|, a bound of the numbers of S
  // Averages: over the steps after this weight was seen, with weights T_s^2 or equal weights.
  double average_from = std::numeric_limits<double>::infinity();
  bool rising = false;
  double average_steps = 0;   // A
  double average_weight = 0;  // sum of the weights of the average: W = (A S - U) / (alpha this)

  double scale() const { return seen > 0 ? 1 / (alpha * seen) : 0; }
  // Count a step whose examples have this weight.
  void advance(double weight) {
    seen += weight;
    ++steps;
    if (seen <= average_from) return;
    average_steps += rising ? seen : 1 / seen;
    average_weight += rising ? seen * seen : 1;
  }
};

template <class T, class Shard>
class MinibatchSgd {
 public:
  MinibatchSgd(const StochasticKernels<T, Shard>& kernels, std::vector<Shard> shards,
               std::int32_t shard_size, StochasticLoss loss, std::size_t batch_size, int n_threads)
      : kernels_(kernels),
        shards_(std::move(shards)),
        shard_size_(shard_size),
        loss_(loss),
        batch_size_(batch_size),
        team_(std::min(n_threads, static_cast<int>(shards_.size()))) {
    const std::size_t rows = loss == StochasticLoss::kLogLoss ? batch_size : 1;
    for (const Shard& shard : shards_) {
      scores_.emplace_back(rows * shard.size());
      dense_steps_.emplace_back(shard.size());
    }
    for (auto& summaries : summaries_) summaries.resize(batch_size * shards_.size());
  }

  int capacity() const { return team_.capacity(); }
  // Use n_threads threads, each for some shards.
  void limit(int n_threads) { team_.limit(n_threads); }

  // Steps with the rows in this order, one batch each; returns sum_i v_i l_i, each just before its
  // step. moved[i], unless `moved` is empty, becomes the class with a step against row i, or -1.
  // After an error, the clock has counted the completed steps.
  double run(const Examples<T>& examples, std::span<const std::int32_t> rows,
             StochasticClock& clock, std::span<std::int32_t> moved = {}) {
    const StochasticClock begin = clock;
    Barrier barrier(team_.size());
    double losses = 0;
    team_.run([&](int member) {
      Member here{member, begin};
      for (std::size_t first = 0; first < rows.size(); first += batch_size_) {
        if (!step(examples, rows, first, moved, barrier, here)) break;
      }
      if (member == 0) {
        clock = here.clock;
        losses = here.losses;
      }
      if (here.error) std::rethrow_exception(here.error);
    });
    return losses;
  }

 private:
  // One thread of a run. Every thread has its own clock; all clocks stay equal.
  struct Member {
    int number;
    StochasticClock clock;
    double losses = 0;
    std::exception_ptr error{};
  };

  // The step of the batch that begins at rows[first]; false after an error in any thread.
  bool step(const Examples<T>& examples, std::span<const std::int32_t> rows, std::size_t first,
            std::span<std::int32_t> moved, Barrier& barrier, Member& here) {
    const auto batch = rows.subspan(first, std::min(batch_size_, rows.size() - first));
    const auto row_after = [&](std::size_t batches) {
      const std::size_t at = first + batches * batch_size_;
      return at < rows.size() ? rows[at] : -1;
    };
    if (row_after(2) >= 0) prefetch(examples.x, row_after(2));
    const auto view = [&](std::size_t shard) {
      StochasticBatch<T> found =
          view_of(batch, row_after(1), shard, first / batch_size_, here.clock, moved);
      // S = 0 has any scale, but base scores are divided by it.
      if (examples.base && found.scale == 0) found.scale = 1;
      return found;
    };
    for_shards(here.number,
               [&](std::size_t shard) { kernels_.score(examples, shards_[shard], view(shard)); });
    if (!barrier.arrive_and_wait(!here.error)) return false;
    try {
      for_shards(here.number, [&](std::size_t shard) {
        const double sum = kernels_.move(examples, shards_[shard], view(shard));
        if (shard == 0) here.losses += sum;
      });
    } catch (...) {  // the other threads wait for this thread once more
      here.error = std::current_exception();
    }
    double weight = 0;
    for (const std::int32_t i : batch) weight += examples.costs[i];
    here.clock.advance(weight);
    return true;
  }

  template <class Work>
  void for_shards(int member, Work work) {
    for (int shard = member; shard < std::ssize(shards_); shard += team_.size()) {
      work(shard);
    }
  }

  // A thread may still read the summaries of one batch while others write those of the next batch.
  StochasticBatch<T> view_of(std::span<const std::int32_t> rows, std::int32_t next,
                             std::size_t shard, std::size_t turn, const StochasticClock& clock,
                             std::span<std::int32_t> moved) {
    const double average = shards_[shard].averages() ? clock.average_steps : 0;
    return {.loss = loss_,
            .rows = rows,
            .next = next,
            .scale = clock.scale(),
            .average_steps = average,
            .shard = shard,
            .n_shards = shards_.size(),
            .shard_size = shard_size_,
            .summaries = summaries_[turn % 2],
            .scores = scores_[shard].data(),
            .dense_step = dense_steps_[shard].data(),
            .moved = moved};
  }

  // The hardware does not prefetch rows in random order.
  [[gnu::always_inline]] static void prefetch(const Csr<T>& x, std::int32_t i) {
    const Row<T> row = x.row(i);
    const std::int64_t end = std::min(row.nnz, kFetched);
    for (std::int64_t p = 0; p < end; p += kLine / static_cast<std::int64_t>(sizeof(T))) {
      __builtin_prefetch(row.values + p);
    }
    for (std::int64_t p = 0; p < end; p += kLine / 4) __builtin_prefetch(row.indices + p);
  }

  static constexpr std::int64_t kLine = 64;      // bytes
  static constexpr std::int64_t kFetched = 512;  // entries of a row

  const StochasticKernels<T, Shard>& kernels_;
  std::vector<Shard> shards_;
  std::int32_t shard_size_;
  StochasticLoss loss_;
  std::size_t batch_size_;
  ThreadTeam team_;
  std::vector<AlignedArray<T>> scores_;
  std::vector<AlignedArray<T>> dense_steps_;
  std::vector<ScoreSummary<T>> summaries_[2];
};

// Settings of a pass: loss, batch size, threads.
struct Passage {
  StochasticLoss loss;
  std::size_t batch_size;
  int n_threads;
};

template <class T>
class StochasticTrainer {
 public:
  explicit StochasticTrainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        dense_(kernels_for<StochasticKernels<T, DenseShard<T>>>(problem_->instruction_set())),
        tables_(kernels_for<StochasticKernels<T, TableShard<T>>>(problem_->instruction_set())) {
    require(problem_->n_classes() >= 2, "there must be two classes");
    problem_->check_all_labelled();
  }

  // Steps with the rows in this order. `weights` is S, `average` U, both padded
  // (weights/dense_weights.hpp). moved[i] becomes the class with a step against row i, or -1.
  double steps(MatrixView<T> weights, const MatrixView<T>* average, StochasticClock& clock,
               const Passage& passage, std::span<const std::int32_t> rows,
               std::span<std::int32_t> labels) const {
    check(weights);
    if (average) {
      check(*average);
      require(average->n_columns == weights.n_columns, "S and U must have rows of one length");
    }
    check_moved(labels, passage);
    check(passage, rows, clock);
    const std::int64_t stride = weights.n_columns;
    const std::int64_t n_blocks = (problem_->n_classes() + kBlock - 1) / kBlock;
    const std::int64_t n_shards = std::min<std::int64_t>(passage.n_threads, n_blocks);
    const std::int64_t width = (n_blocks + n_shards - 1) / n_shards * kBlock;
    const std::int64_t n_features = problem_->examples().x.n_features;
    std::vector<DenseShard<T>> shards;
    for (std::int64_t first = 0; first < n_blocks * kBlock; first += width) {
      const std::int64_t here = std::min(width, n_blocks * kBlock - first);
      const auto classes = static_cast<std::int32_t>(std::min(here, problem_->n_classes() - first));
      T* later = average ? average->data + first : nullptr;
      shards.push_back({{weights.data + first, n_features, classes, stride},
                        {later, n_features, classes, stride},
                        here});
    }
    return run(
        MinibatchSgd<T, DenseShard<T>>(dense_, std::move(shards), static_cast<std::int32_t>(width),
                                       passage.loss, batch_of(passage, rows), passage.n_threads),
        clock, passage, rows, labels);
  }

  // Steps with S and U in tables.
  double table_steps(ShardedWeights<T>& weights, ShardedWeights<T>* average, StochasticClock& clock,
                     const Passage& passage, std::span<const std::int32_t> rows) const {
    require(passage.loss != StochasticLoss::kLogLoss, "log_loss moves all classes: no tables");
    check(weights);
    if (average) {
      check(*average);
      require(average->shard_size == weights.shard_size, "S and U must have the same shards");
    }
    check(passage, rows, clock);
    std::vector<TableShard<T>> shards;
    for (std::size_t s = 0; s < weights.shards.size(); ++s) {
      shards.push_back({&weights.shards[s], average ? &average->shards[s] : nullptr});
    }
    return run(
        MinibatchSgd<T, TableShard<T>>(tables_, std::move(shards), weights.shard_size, passage.loss,
                                       batch_of(passage, rows), passage.n_threads),
        clock, passage, rows);
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  static constexpr std::int64_t kBlock = 64 / sizeof(T);

  template <class Shard>
  double run(MinibatchSgd<T, Shard> team, StochasticClock& clock, const Passage& passage,
             std::span<const std::int32_t> rows, std::span<std::int32_t> moved = {}) const {
    const Examples<T>& examples = problem_->examples();
    InterruptPoll interrupts(problem_->poll());
    const double each = 2.0 * problem_->n_classes() *
                        (1 + static_cast<double>(examples.x.indptr[examples.x.n_rows]) /
                                 static_cast<double>(std::max<std::int64_t>(1, examples.x.n_rows)));
    const auto size = static_cast<std::int64_t>(passage.batch_size);
    const std::int64_t n_batches = (std::ssize(rows) + size - 1) / size;
    double losses = 0;
    choice_.allow(team.capacity());
    interrupts.in_chunks(
        n_batches, each * static_cast<double>(size),
        [&](auto begin, auto end) {
          const auto first = begin * size;
          const auto last = std::min<std::int64_t>(std::ssize(rows), end * size);
          losses += choice_.measure(static_cast<double>(last - first), [&](int n_threads) {
            team.limit(n_threads);
            return team.run(examples, rows.subspan(first, last - first), clock, moved);
          });
        },
        1);
    return losses;
  }

  // Number of rows in a batch, which determines the memory.
  static std::size_t batch_of(const Passage& passage, std::span<const std::int32_t> rows) {
    return std::clamp<std::size_t>(rows.size(), 1, passage.batch_size);
  }

  void check_moved(std::span<const std::int32_t> moved, const Passage& passage) const {
    if (moved.empty()) return;
    require(passage.loss != StochasticLoss::kLogLoss, "log_loss moves all classes");
    require(std::ssize(moved) == problem_->examples().x.n_rows,
            "moved must have an entry for every row");
  }

  // Reject steps after which a number may not be finite: scores are at most |x| times numbers of S.
  void check(const Passage& passage, std::span<const std::int32_t> rows,
             StochasticClock& clock) const {
    constexpr std::size_t kMaxRows = std::numeric_limits<std::int32_t>::max();
    require(1 <= passage.batch_size && passage.batch_size <= kMaxRows, "batch_size out of range");
    require(1 <= passage.n_threads && passage.n_threads <= kMaxThreads, "n_threads out of range");
    require(clock.alpha > 0 && clock.seen >= 0, "alpha must be positive, and seen not negative");
    const Examples<T>& examples = problem_->examples();
    double reach = clock.reach;
    double seen = clock.seen;
    double longest = 1;
    for (std::size_t p = 0; p < rows.size(); ++p) {
      const std::int32_t i = rows.data()[p];
      require(0 <= i && i < examples.x.n_rows, "row out of range");
      const double length = std::sqrt(examples.norms[i]);
      reach += examples.costs[i] * length;
      seen += examples.costs[i];
      longest = std::max(longest, length);
    }
    if (rows.size() == 0) return;
    const double first = clock.seen > 0 ? clock.seen : examples.costs[rows.data()[0]];
    const double average_steps =
        clock.average_steps + static_cast<double>(rows.size()) * (clock.rising ? seen : 1 / first);
    const double averages = std::isfinite(clock.average_from) ? std::max(1.0, average_steps) : 1;
    const double bound = reach * longest * averages * std::max(1.0, 1 / (clock.alpha * first));
    if (!(bound < static_cast<double>(std::numeric_limits<T>::max()) / 8)) {
      throw std::overflow_error("the weights may overflow");
    }
    clock.reach = reach;
  }
  void check(const MatrixView<T>& weights) const {
    const std::int64_t stride = weights.n_columns;
    require(weights.n_rows == problem_->examples().x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(stride % kBlock == 0 && stride >= problem_->n_classes(), "weights must be padded");
    require(weights.is_aligned(), "weights must be aligned");
  }
  void check(const ShardedWeights<T>& weights) const {
    require(weights.n_rows() == problem_->examples().x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(weights.n_classes == problem_->n_classes(), "weights must be of the same classes");
  }

  std::shared_ptr<const Problem<T>> problem_;
  const StochasticKernels<T, DenseShard<T>>& dense_;
  const StochasticKernels<T, TableShard<T>>& tables_;
  mutable ThreadChoice choice_;
};

}  // namespace manyclass
