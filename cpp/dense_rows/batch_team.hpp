#pragma once
// The threads that visit dense rows: batches in rounds (dense_rows/round_team.hpp), or one batch
// after the other, with threads that share only the products (dense_rows/batch_loop.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>

#include "data/examples.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/owned_batch.hpp"
#include "dense_rows/round_team.hpp"
#include "dense_rows/row_kernels.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/scratch.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class BatchTeam {
 public:
  BatchTeam(const Examples<T>& examples, const RowKernels<T>& kernels, std::int32_t n_classes,
            std::int64_t stride, int n_threads)
      : examples_(examples),
        kernels_(kernels),
        batch_(n_classes, stride),
        scratch_(n_classes, score_stride<T>(n_classes)),
        team_(n_threads),
        choice_(std::min(team_.capacity(), threads_worth_visits(examples.x.n_rows,
                                                                examples.x.n_features, n_classes))),
        n_threads_(n_threads),
        n_classes_(n_classes),
        stride_(stride),
        most_batches_(std::min<std::size_t>(
            kShrunkBatches * n_threads,
            batches_in_round(examples.x.n_rows, stride * n_classes) * (kBatchRows / kSingleRows))),
        all_(n_threads, team_.capacity(),
             std::min<std::size_t>(n_threads,
                                   batches_in_round(examples.x.n_rows, stride * n_classes))),
        some_(n_threads, team_.capacity(), most_batches_) {}

  // Visit the examples `order` in batches, over all classes.
  SweepResult batched(const ClassMajorView<T>& w, DualLists<T>& z,
                      std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    if (order.size() > kRows && all_.allows_rounds())
      return rounds().visit(team_, w, z, order, min_gap, active, all_, true);
    return choice_.measure(static_cast<double>(order.size()), [&](int n_threads) {
      team_.limit(n_threads);
      return visit_all(w, z, order, min_gap, active);
    });
  }

  // Visit the examples `order` one by one, each over its non-zero z.
  SweepResult single(const ClassMajorView<T>& w, DualLists<T>& z,
                     std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    if (order.size() > kRows && some_.allows_rounds()) {
      return rounds().visit(team_, w, z, order, min_gap, active, some_, false);
    }
    return kernels_.single(examples_, w, z, scratch_.view(), batch_.row(), order, min_gap, active);
  }

  // All threads, for functions without barriers.
  ThreadTeam& threads() {
    team_.limit(team_.capacity());
    return team_;
  }

 private:
  static constexpr auto kRows = kBatchRows;
  // Maximum number of batches per thread in a round of shrunk loops, which take little time.
  static constexpr std::size_t kShrunkBatches = 4;

  RoundTeam<T>& rounds() {
    if (!rounds_) {
      rounds_ = std::make_unique<RoundTeam<T>>(examples_, kernels_, n_classes_, stride_,
                                               most_batches_, n_threads_);
    }
    return *rounds_;
  }

  // Callbacks of run_batches.
  struct Steps {
    BatchTeam& team;
    const ClassMajorView<T>& w;
    DualLists<T>& z;
    std::span<const std::int32_t> order;
    double min_gap;
    std::int32_t* active;
    SweepResult result{};
    std::exception_ptr error{};

    RowBatch<T> batch(std::size_t t) { return team.view(order, t); }
    void copy(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.copy(team.examples_.x, batch(t), w.stride, first, last);
    }
    void prepare(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.multiply(batch(t), w.stride, first, last);
    }
    void score(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.score(batch(t), w, first, last);
    }
    bool visit(std::size_t t) {
      try {
        result.add(team.kernels_.visit(team.examples_, w, batch(t), z, team.scratch_.view(),
                                       min_gap, active + result.n_active));
      } catch (...) {  // out of memory for z
        error = std::current_exception();
      }
      return !error;
    }
    void update(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.update(batch(t), w, first, last, team.examples_.formulation.centred);
    }
  };

  SweepResult visit_all(const ClassMajorView<T>& w, DualLists<T>& z,
                        std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    Steps steps{*this, w, z, order, min_gap, active};
    run_batches(team_, (order.size() + kRows - 1) / kRows, w.n_classes, steps);
    if (steps.error) std::rethrow_exception(steps.error);
    return steps.result;
  }

  RowBatch<T> view(std::span<const std::int32_t> order, std::int64_t t) {
    const std::int64_t begin = std::min(t * kRows, std::ssize(order));
    return batch_.view(order.subspan(begin, std::min(kRows, std::ssize(order) - begin)), t);
  }

  const Examples<T>& examples_;
  const RowKernels<T>& kernels_;
  OwnedBatch<T> batch_;
  OwnedScratch<T> scratch_;
  ThreadTeam team_;
  ThreadChoice choice_;
  int n_threads_;
  std::int32_t n_classes_;
  std::int64_t stride_;
  std::size_t most_batches_;
  RoundPlan all_, some_;  // for loops over all classes, and over the classes with z > 0
  std::unique_ptr<RoundTeam<T>> rounds_;
};

}  // namespace manyclass
