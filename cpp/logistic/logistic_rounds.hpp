#pragma once
// Visits of multinomial logistic regression in rounds (logistic/round_visits.hpp). A team of
// threads shares the batches of a round, then the tiles of W that the round changes
// (threads/rounds.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "logistic/kernels.hpp"
#include "logistic/logistic_batches.hpp"
#include "simd/aligned_array.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class LogisticRounds {
 public:
  // `n_batches`: the maximum number in a round. `shape` is the shape of W.
  LogisticRounds(const Examples<T>& examples, const LogisticBatchKernels<T>& kernels,
                 const LogisticWeights<T>& shape, std::size_t n_batches)
      : examples_(examples),
        kernels_(kernels),
        tiles_(shape.n_classes, shape.stride),
        steps_(n_batches),
        batches_(n_batches) {}

  // Visit the examples `order`.
  SweepResult visit(ThreadTeam& team, RoundPlan& plan, const LogisticWeights<T>& w, T* v,
                    bool fresh, std::span<const std::int32_t> order) {
    Loop loop{*this, w, v, fresh, order};
    plan.run(team, order.size(), (order.size() + kRows - 1) / kRows, loop);
    return loop.result;
  }

 private:
  static constexpr std::size_t kRows = kBatchRows;

  struct Found {
    SweepResult result;
    double slope = 0;
  };
  struct Batch {
    explicit Batch(const LogisticWeights<T>& w)
        : memory(w, 0), shift(score_stride<T>(w.n_classes)), log_u(score_stride<T>(w.n_classes)) {}

    OwnedLogisticMemory<T> memory;
    AlignedArray<T> shift, log_u;
    std::array<Found, 2> found;
  };

  // Callbacks of Rounds.
  struct Loop {
    LogisticRounds& rounds;
    const LogisticWeights<T>& w;
    T* v;
    bool fresh;
    std::span<const std::int32_t> order;
    SweepResult result{};

    void visit(int, const Round& round, std::size_t b) {
      const auto& [row_kernels, kernels] = rounds.kernels_;
      Batch& batch = rounds.batch_of(b, w);
      const LogisticMemory<T> memory = batch.memory.view();
      const auto rows = rows_of(round, b);
      rounds.score(w, memory, rows);
      kernels.prepare(w.n_classes, v, fresh, memory, rows, 0, kBatchRows);
      Found& found = batch.found[round.turn];
      found.result =
          kernels.visit_apart(rounds.examples_, w.n_classes, v, fresh, memory,
                              {batch.shift.data(), batch.log_u.data(), &found.slope}, rows);
      rounds.steps_[b] = {memory.rows, memory.scores, std::ssize(rows)};
    }
    void add(int member, int n_members, const Round& round) {
      rounds.tiles_.measure(member, n_members,
                            [&](const Tile& tile) { return add_to(tile, round, 1); });
    }
    RoundLength length(const Round& round) const {
      double slope = 0;
      for (std::size_t b = 0; b < round.n; ++b) {
        slope += rounds.batches_[b]->found[round.turn].slope;
      }
      return length_of(slope, rounds.tiles_.squares());
    }
    void shorten(int member, int n_members, const Round& round, double theta) {
      rounds.tiles_.each(member, n_members,
                         [&](const Tile& tile) { add_to(tile, round, theta - 1); });
      for (std::size_t b = member; b < round.n; b += n_members) {
        rounds.kernels_.logistic.shorten(w.n_classes, v, rounds.batches_[b]->memory.view(),
                                         rows_of(round, b), theta);
      }
    }
    void finish(const Round& round, const RoundLength&) {
      for (std::size_t b = 0; b < round.n; ++b) {
        result.add(rounds.batches_[b]->found[round.turn].result);
      }
    }

   private:
    std::span<const std::int32_t> rows_of(const Round& round, std::size_t b) const {
      const std::size_t first = (round.first + b) * kRows;
      return order.subspan(first, std::min(kRows, order.size() - first));
    }
    double add_to(const Tile& tile, const Round& round, double factor) const {
      return rounds.kernels_.logistic.add_round({rounds.steps_.data(), round.n}, w, tile, factor);
    }
  };

  // Copies of rows, their products, and their scores at W.
  void score(const LogisticWeights<T>& w, const LogisticMemory<T>& memory,
             std::span<const std::int32_t> order) const {
    RowBatch<T> batch{};
    batch.order = order;
    batch.rows = memory.rows;
    batch.gram = memory.gram;
    batch.scores = memory.scores;
    kernels_.rows.copy(examples_.x, batch, w.stride, 0, kBatchRows);
    kernels_.rows.multiply(batch, w.stride, 0, kBatchRows);
    kernels_.rows.score(batch, {w.data, w.n_features, w.n_classes, w.stride}, 0, w.n_classes);
  }

  // The first thread that needs the memory allocates it.
  Batch& batch_of(std::size_t b, const LogisticWeights<T>& w) {
    if (!batches_[b]) batches_[b] = std::make_unique<Batch>(w);
    return *batches_[b];
  }

  const Examples<T>& examples_;
  LogisticBatchKernels<T> kernels_;
  RoundTiles<T> tiles_;
  std::vector<LogisticSteps<T>> steps_;  // of the batches of the round
  std::vector<std::unique_ptr<Batch>> batches_;
};

}  // namespace manyclass
