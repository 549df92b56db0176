#pragma once
// Minibatch stochastic (sub-)gradient descent with a shard of the classes for each thread
// (stochastic/kernels.hpp). There is one barrier per minibatch, between scores and steps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/csr.hpp"
#include "data/examples.hpp"
#include "simd/aligned_array.hpp"
#include "stochastic/kernels.hpp"
#include "threads/barrier.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// Progress of training; W = S / (alpha seen).
struct StochasticClock {
  double alpha = 1;
  double seen = 0;         // T: weight of the examples of all steps
  std::int64_t steps = 0;  // t
  double reach = 0;        // sum of v_i |x_i|: no number of S is larger
  // Averages: of the steps once so much weight has been seen, with weights T_s^2 or all the same.
  double average_from = std::numeric_limits<double>::infinity();
  bool rising = false;
  double average_steps = 0;   // A
  double average_weight = 0;  // sum of the weights of the average: W = (A S - U) / (alpha this)

  double scale() const { return seen > 0 ? 1 / (alpha * seen) : 0; }
  // Count a step with examples of this weight.
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
  // So many threads work, each for some shards.
  void limit(int n_threads) { team_.limit(n_threads); }

  // Steps with the rows in this order, a batch each; returns sum_i v_i l_i, each just before its
  // step. moved[i], if it is not empty, becomes the class that was moved against row i, or -1.
  // After an error the clock counts the steps that were made.
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
  // One thread of a run. Every thread has a clock of its own; all clocks stay equal.
  struct Member {
    int number;
    StochasticClock clock;
    double losses = 0;
    std::exception_ptr error{};
  };

  // The step of the batch that begins at rows[first]; false after an error of any thread.
  bool step(const Examples<T>& examples, std::span<const std::int32_t> rows, std::size_t first,
            std::span<std::int32_t> moved, Barrier& barrier, Member& here) {
    const auto batch = rows.subspan(first, std::min(batch_size_, rows.size() - first));
    const auto row_after = [&](std::size_t batches) {
      const std::size_t at = first + batches * batch_size_;
      return at < rows.size() ? rows[at] : -1;
    };
    if (row_after(2) >= 0) prefetch(examples.x, row_after(2));
    const auto view = [&](std::size_t shard) {
      return view_of(batch, row_after(1), shard, first / batch_size_, here.clock, moved);
    };
    for_shards(here.number,
               [&](std::size_t shard) { kernels_.score(examples, shards_[shard], view(shard)); });
    if (!barrier.arrive_and_wait(!here.error)) return false;
    try {
      for_shards(here.number, [&](std::size_t shard) {
        const double sum = kernels_.move(examples, shards_[shard], view(shard));
        if (shard == 0) here.losses += sum;
      });
    } catch (...) {  // the others still wait for this thread, once
      here.error = std::current_exception();
    }
    double weight = 0;
    for (const std::int32_t i : batch) weight += examples.costs[i];
    here.clock.advance(weight);
    return true;
  }

  template <class Work>
  void for_shards(int member, Work work) {
    for (auto shard = static_cast<std::size_t>(member); shard < shards_.size();
         shard += static_cast<std::size_t>(team_.size())) {
      work(shard);
    }
  }

  // A thread may still read the findings of one batch while others write those of the next.
  StochasticBatch<T> view_of(std::span<const std::int32_t> rows, std::int32_t next,
                             std::size_t shard, std::size_t turn, const StochasticClock& clock,
                             std::span<std::int32_t> moved) {
    const double average = shards_[shard].averages() ? clock.average_steps : 0;
    return {loss_,
            rows,
            next,
            clock.scale(),
            average,
            shard,
            shards_.size(),
            shard_size_,
            summaries_[turn % 2],
            scores_[shard].data(),
            dense_steps_[shard].data(),
            moved};
  }

  // The hardware does not prefetch rows in random order.
  static void prefetch(const Csr<T>& x, std::int32_t i) {
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

}  // namespace manyclass
