#pragma once
// Loops over dense rows in rounds (dense_rows/round_visits.hpp). A team of threads shares the
// batches of a round, then the tiles of W that the round changes (threads/rounds.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/owned_batch.hpp"
#include "dense_rows/row_kernels.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/scratch.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// Rows of a batch in loops over z > 0. A round may have few rows, and each thread needs some
// of them (measured with 16 threads: 200 of 30,000 rows of 384 features, 300 classes).
inline constexpr std::int64_t kSingleRows = 16;

template <class T>
class RoundTeam {
 public:
  // `n_batches`: the maximum number in a round.
  RoundTeam(const Examples<T>& examples, const RowKernels<T>& kernels, std::int32_t n_classes,
            std::int64_t stride, std::size_t n_batches, int n_threads)
      : examples_(examples),
        kernels_(kernels),
        n_classes_(n_classes),
        stride_(stride),
        tiles_(n_classes, stride),
        views_(n_batches),
        batches_(n_batches),
        scratch_(n_threads),
        dense_(n_threads) {}

  // Visit the examples `order`, over all classes, or over the classes with z > 0.
  SweepResult visit(ThreadTeam& team, const ClassMajorView<T>& w, DualLists<T>& z,
                    std::span<const std::int32_t> order, double min_gap, std::int32_t* active,
                    RoundPlan& plan, bool over_all) {
    const std::size_t rows = over_all ? kBatchRows : kSingleRows;
    Loop loop{*this, w, z, order, min_gap, active, over_all, rows};
    plan.run(team, order.size(), (order.size() + rows - 1) / rows, loop);
    return loop.result;
  }

 private:
  // Callbacks of Rounds.
  struct Loop {
    RoundTeam& team;
    const ClassMajorView<T>& w;
    DualLists<T>& z;
    std::span<const std::int32_t> order;
    double min_gap;
    std::int32_t* active;
    bool over_all;
    std::size_t n_rows;  // in a batch
    SweepResult result{};

    void visit(int member, const Round& round, std::size_t b) {
      RoundBatch<T>& batch = team.batch_of(b);
      const std::size_t first = (round.first + b) * n_rows;
      const auto rows = order.subspan(first, std::min(n_rows, order.size() - first));
      const RowBatch<T>& view = team.views_[b] = batch.view(rows);
      const RoundNotes<T> notes = batch.notes(round.turn);
      BatchFound& found = batch.found(round.turn);
      const auto visits = over_all ? team.kernels_.visit_apart : team.kernels_.single_apart;
      found.result = visits(team.examples_, w, view, notes, z, team.scratch_of(member), min_gap,
                            found.active.data());
    }
    void add(int member, int n_members, const Round& round) {
      team.tiles_.measure(member, n_members,
                          [&](const Tile& tile) { return add_to(tile, round, 1); });
    }
    RoundLength length(const Round& round) const {
      double slope = 0, ridge = 0;
      for (std::size_t b = 0; b < round.n; ++b) {
        const BatchFound& found = team.batches_[b]->found(round.turn);
        slope += found.slope;
        ridge += found.ridge;
      }
      return length_of(slope, team.tiles_.squares() + 2 * ridge);
    }
    void shorten(int member, int n_members, const Round& round, double theta) {
      team.tiles_.each(member, n_members,
                       [&](const Tile& tile) { add_to(tile, round, theta - 1); });
      for (std::size_t b = member; b < round.n; b += n_members) {
        team.batches_[b]->move_back(team.views_[b].order, theta, z, team.zeros_of(member));
      }
    }
    void finish(const Round& round, const RoundLength& length) {
      for (std::size_t b = 0; b < round.n; ++b) {
        BatchFound& found = team.batches_[b]->found(round.turn);
        std::copy_n(found.active.data(), found.result.n_active, active + result.n_active);
        found.result.dual_gain = 0;
        result.add(found.result);
      }
      result.dual_gain += length.dual_gain;
    }

   private:
    // W += factor Delta W; returns ||Delta W||^2 of the tile.
    double add_to(const Tile& tile, const Round& round, double factor) const {
      return team.kernels_.add_round({team.views_.data(), round.n}, w, tile, factor,
                                     team.examples_.formulation.centred);
    }
  };

  // The first thread that needs the memory allocates it.
  RoundBatch<T>& batch_of(std::size_t b) {
    if (!batches_[b]) batches_[b] = std::make_unique<RoundBatch<T>>(n_classes_, stride_);
    return *batches_[b];
  }
  Scratch<T> scratch_of(int member) {
    auto& scratch = scratch_[member];
    if (!scratch) {
      scratch = std::make_unique<OwnedScratch<T>>(n_classes_, score_stride<T>(n_classes_));
    }
    return scratch->view();
  }
  T* zeros_of(int member) {
    if (!dense_[member]) dense_[member] = std::make_unique<AlignedArray<T>>(n_classes_);
    return dense_[member]->data();
  }

  const Examples<T>& examples_;
  const RowKernels<T>& kernels_;
  std::int32_t n_classes_;
  std::int64_t stride_;
  RoundTiles<T> tiles_;
  std::vector<RowBatch<T>> views_;
  std::vector<std::unique_ptr<RoundBatch<T>>> batches_;
  std::vector<std::unique_ptr<OwnedScratch<T>>> scratch_;
  std::vector<std::unique_ptr<AlignedArray<T>>> dense_;
};

}  // namespace manyclass
