#pragma once
// Loops in rounds with a row of W for each feature (dual/round_sweep.hpp): a team of threads visits
// the batches of a round, then each adds all steps to its ranges of features (threads/rounds.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "data/feature_shares.hpp"
#include "dual/kernels.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/scratch.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_team.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// Rows of a batch. They see each other's steps in the intercepts alone.
inline constexpr std::size_t kSparseRows = 16;

// A batch of a round: what its visits leave, and the rows that moved, in neighboring memory, in parts
// for the ranges of features.
template <class T>
class SparseBatch {
 public:
  SparseBatch(std::int32_t n_classes, std::int64_t stride, std::size_t n_shares)
      : n_shares_(n_shares),
        intercepts_(stride),
        steps_(std::make_unique_for_overwrite<Step[]>(kSparseRows * (n_classes + 2))),
        old_(std::make_unique_for_overwrite<DualEntry<T>[]>(kSparseRows * n_classes)) {}

  struct Found {
    SweepResult result;
    double slope = 0, gain = 0;
    std::array<std::int32_t, kSparseRows> active{};
  };

  RoundRows<T> view(std::span<const std::int32_t> order, int turn) {
    order_ = order;
    return {.order = order,
            .steps = steps_.get(),
            .ends = ends_.data(),
            .old = old_.get(),
            .old_ends = old_ends_.data(),
            .moved = moved_.data(),
            .intercepts = intercepts_.data(),
            .slope = &found_[turn].slope,
            .gain = &found_[turn].gain};
  }
  Found& found(int turn) { return found_[turn]; }

  // Copy the rows that moved; `limits` are the ends of the ranges of features, ascending.
  void take_rows(const Csr<T>& x, std::span<const std::int64_t> limits) {
    indices_.clear();
    values_.clear();
    begins_.clear();
    for (std::size_t b = 0; b < order_.size(); ++b) {
      if (!moved_[b]) continue;
      const Row<T> row = x.row(order_[b]);
      const auto start = static_cast<std::int64_t>(indices_.size());
      std::int64_t p = 0;
      begins_.push_back(start);
      for (const std::int64_t limit : limits) {
        while (p < row.nnz && row.indices[p] < limit) ++p;
        begins_.push_back(start + p);
      }
      indices_.insert(indices_.end(), row.indices, row.indices + row.nnz);
      values_.insert(values_.end(), row.values, row.values + row.nnz);
    }
  }
  // The parts of the moved rows in a range of features, the last with the bias.
  std::span<const RowPart<T>> parts(std::size_t share, T bias,
                                    std::array<RowPart<T>, kSparseRows>& out) const {
    std::size_t n = 0;
    const std::int64_t* begin = begins_.data() + share;
    for (std::size_t b = 0; b < order_.size(); ++b) {
      if (!moved_[b]) continue;
      const std::size_t first = b == 0 ? 0 : ends_[b - 1];
      const Row<T> row{indices_.data() + begin[0], values_.data() + begin[0], begin[1] - begin[0],
                       share + 1 == n_shares_ ? bias : T{0}};
      begin += n_shares_ + 1;
      if (row.nnz > 0 || row.bias != 0) {
        out[n++] = {row, {steps_.get() + first, ends_[b] - first}};
      }
    }
    return {out.data(), n};
  }

  // z <- z_old + theta (z - z_old) for the examples that moved. `dense` are n_classes zeros.
  void move_back(double theta, DualLists<T>& z, T* dense) const {
    for (std::size_t b = 0; b < order_.size(); ++b) {
      if (!moved_[b]) continue;
      const std::size_t begin = b == 0 ? 0 : old_ends_[b - 1];
      z.mix(order_[b], {old_.get() + begin, old_ends_[b] - begin}, theta, dense);
    }
  }

 private:
  std::size_t n_shares_;
  AlignedArray<T> intercepts_;
  std::span<const std::int32_t> order_;
  std::unique_ptr<Step[]> steps_;
  std::unique_ptr<DualEntry<T>[]> old_;
  std::array<std::size_t, kSparseRows> ends_{}, old_ends_{};
  std::array<bool, kSparseRows> moved_{};
  std::vector<std::int32_t> indices_;
  std::vector<T> values_;
  std::vector<std::int64_t> begins_;  // of the shares of each moved row
  std::array<Found, 2> found_{};
};

template <class T>
class SparseRounds {
 public:
  SparseRounds(const Examples<T>& examples, const RoundKernels<T>& kernels,
               const WeightsView<T>& shape, int n_threads)
      : examples_(examples),
        kernels_(kernels),
        n_classes_(shape.n_classes),
        stride_(shape.stride),
        team_(n_threads),
        full_(n_threads, team_.capacity(), most_batches(examples.x, shape, n_threads),
              kLeastBatches),
        shrunk_(n_threads, team_.capacity(), most_batches(examples.x, shape, n_threads),
                kLeastBatches),
        batches_(most_batches(examples.x, shape, n_threads)),
        scratch_(n_threads),
        limits_(n_threads),
        growth_(n_threads) {
    const FeatureShares shares(examples.x);
    is_shared_ = shares.can_share();
    for (int s = 0; s < n_threads; ++s) limits_[s] = shares.of(s, n_threads).last;
  }

  // Whether loops over so many rows are in rounds at all.
  static bool serves(const Csr<T>& x, const WeightsView<T>& shape, int n_threads) {
    return n_threads >= kLeastRoundThreads && most_batches(x, shape, n_threads) >= kLeastBatches;
  }
  // Visits of the next part of a loop are made in rounds, or one by one, so many at a time.
  bool allows_rounds(bool shrunk) { return is_shared_ && plan(shrunk).allows_rounds(); }
  std::size_t rows_at_once() const { return kRounds * batches_.size() * kSparseRows; }

  // Visit them; those that stay active go to `active`. `carry`: low digits of the intercepts.
  SweepResult visit(const WeightsView<T>& w, T* carry, DualLists<T>& z,
                    std::span<const std::int32_t> order, bool shrunk, double min_gap,
                    std::int32_t* active) {
    Loop loop{*this, w, carry, z, order, shrunk, min_gap, active};
    plan(shrunk).run(team_, order.size(), (order.size() + kSparseRows - 1) / kSparseRows, loop);
    return loop.result;
  }

 private:
  // Batches of a round at least, else visits are made one by one: they take about half the time, as
  // the weights that a visit changes are still in the cache.
  static constexpr std::size_t kLeastBatches = 4;
  // Batches of a thread in a round, at most; rounds of such size between two decisions.
  static constexpr std::size_t kBatchesOfThread = 4, kRounds = 16;

  // Batches of a round at most; none where their scores take less time than threads take to meet.
  static std::size_t most_batches(const Csr<T>& x, const WeightsView<T>& shape, int n_threads) {
    constexpr std::int64_t kLeastWork = 1 << 16;
    const std::int64_t rows = most_in_round(x.n_rows);
    const std::int64_t features = x.indptr[x.n_rows] / std::max<std::int64_t>(1, x.n_rows) + 1;
    if (std::int64_t{kSparseRows} * features * shape.n_classes < kLeastWork) return 0;
    return std::min<std::size_t>(kBatchesOfThread * n_threads, rows / kSparseRows);
  }

  // Callbacks of Rounds.
  struct Loop {
    SparseRounds& rounds;
    const WeightsView<T>& w;
    T* carry;
    DualLists<T>& z;
    std::span<const std::int32_t> order;
    bool shrunk;
    double min_gap;
    std::int32_t* active;
    SweepResult result{};

    void visit(int member, const Round& round, std::size_t b) {
      SparseBatch<T>& batch = rounds.batch_of(b);
      auto& found = batch.found(round.turn);
      const std::size_t first = (round.first + b) * kSparseRows;
      const auto rows = order.subspan(first, std::min(kSparseRows, order.size() - first));
      const auto visits = shrunk ? rounds.kernels_.shrunk : rounds.kernels_.full;
      found.result = visits(rounds.examples_, w, z, rounds.scratch_of(member),
                            batch.view(rows, round.turn), min_gap, found.active.data());
      batch.take_rows(rounds.examples_.x, rounds.limits_);
    }
    void add(int member, int n_members, const Round& round) {
      each_share(member, n_members,
                 [&](std::size_t s) { rounds.growth_[s] = add_to(member, s, round, 1); });
    }
    RoundLength length(const Round& round) const {
      double slope = 0, gain = 0;
      for (std::size_t b = 0; b < round.n; ++b) {
        const auto& found = rounds.batches_[b]->found(round.turn);
        slope += found.slope;
        gain += found.gain;
      }
      gain -= 0.5 * std::accumulate(rounds.growth_.begin(), rounds.growth_.end(), 0.0);
      return length_of(slope, 2 * (slope - gain));
    }
    void shorten(int member, int n_members, const Round& round, double theta) {
      each_share(member, n_members, [&](std::size_t s) { add_to(member, s, round, theta - 1); });
      for (std::size_t b = member; b < round.n; b += n_members) {
        rounds.batches_[b]->move_back(theta, z, rounds.scratch_of(member).dense_step);
      }
    }
    void finish(const Round& round, const RoundLength& length) {
      for (std::size_t b = 0; b < round.n; ++b) {
        auto& found = rounds.batches_[b]->found(round.turn);
        std::copy_n(found.active.data(), found.result.n_active, active + result.n_active);
        found.result.dual_gain = 0;
        result.add(found.result);
      }
      result.dual_gain += length.dual_gain;
    }

   private:
    // The ranges of features do not depend on the number of threads that work.
    template <class F>
    void each_share(std::size_t member, std::size_t n_members, F f) const {
      const std::size_t n = rounds.growth_.size();
      for (std::size_t s = n * member / n_members; s < n * (member + 1) / n_members; ++s) f(s);
    }
    // W += factor Delta W for a range of features; by how much ||W||^2 grew.
    double add_to(int member, std::size_t share, const Round& round, double factor) const {
      T* const zeros = rounds.scratch_of(member).dense_step;
      std::array<RowPart<T>, kSparseRows> parts;
      double growth = 0;
      for (std::size_t b = 0; b < round.n; ++b) {
        const auto some = rounds.batches_[b]->parts(share, rounds.examples_.x.bias, parts);
        if (!some.empty()) growth += rounds.kernels_.add(w, carry, some, factor, zeros);
      }
      return growth;
    }
  };

  RoundPlan& plan(bool shrunk) { return shrunk ? shrunk_ : full_; }
  // Memory is made by the thread that needs it first.
  SparseBatch<T>& batch_of(std::size_t b) {
    if (!batches_[b])
      batches_[b] = std::make_unique<SparseBatch<T>>(n_classes_, stride_, growth_.size());
    return *batches_[b];
  }
  Scratch<T> scratch_of(int member) {
    auto& scratch = scratch_[member];
    if (!scratch) scratch = std::make_unique<OwnedScratch<T>>(n_classes_, stride_);
    return scratch->view();
  }

  const Examples<T>& examples_;
  const RoundKernels<T>& kernels_;
  std::int32_t n_classes_;
  std::int64_t stride_;
  bool is_shared_ = false;
  ThreadTeam team_;
  RoundPlan full_, shrunk_;
  std::vector<std::unique_ptr<SparseBatch<T>>> batches_;
  std::vector<std::unique_ptr<OwnedScratch<T>>> scratch_;
  std::vector<std::int64_t> limits_;  // ends of the ranges of features
  std::vector<double> growth_;        // of ||W||^2 by a round, in each range
};

}  // namespace manyclass
