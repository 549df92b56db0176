#pragma once
// The threads (dense_rows/batch_loop.hpp) that visit batches of dense rows
// (dense_rows/batched_visits.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/scratch.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// The memory that RowBatch points to: rows for three batches, their products for two, the rest for
// one.
template <class T>
class OwnedBatch {
 public:
  OwnedBatch(std::int32_t n_classes, std::int64_t stride)
      : stride_(stride),
        rows_(3 * kRows * stride),
        gram_(2 * kRows * kRows),
        scores_(kRows * score_stride<T>(n_classes)),
        mean_step_(stride),
        steps_(kRows * (n_classes + 2)),
        class_begins_(n_classes + 1),
        class_steps_(kRows * n_classes) {}

  // The t-th batch, of the examples `order`.
  RowBatch<T> view(std::span<const std::int32_t> order, std::size_t t) {
    return {.order = order,
            .rows = rows_.data() + t % 3 * kRows * stride_,
            .gram = gram_.data() + t % 2 * kRows * kRows,
            .scores = scores_.data(),
            .steps = steps_.data(),
            .ends = ends_.data(),
            .is_dense = is_dense_.data(),
            .means = means_.data(),
            .class_begins = class_begins_.data(),
            .class_steps = class_steps_.data(),
            .mean_step = mean_step_.data()};
  }
  T* row() const { return mean_step_.data(); }

 private:
  static constexpr auto kRows = kBatchRows;
  std::int64_t stride_;
  AlignedArray<T> rows_, gram_, scores_, mean_step_;
  std::vector<Step> steps_;
  std::array<std::size_t, kRows> ends_{};
  std::array<bool, kRows> is_dense_{};
  std::array<double, kRows> means_{};
  std::vector<std::size_t> class_begins_;
  std::vector<BatchStep<T>> class_steps_;
};

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
        choice_(
            std::min(team_.capacity(),
                     threads_worth_visits(examples.x.n_rows, examples.x.n_features, n_classes))) {}

  // Visit the examples `order` in batches, over all classes.
  SweepResult batched(const ClassMajorView<T>& w, DualLists<T>& z,
                      std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    return choice_.measure(static_cast<double>(order.size()), [&](int n_threads) {
      team_.limit(n_threads);
      return visit_all(w, z, order, min_gap, active);
    });
  }

  // Visit the examples `order` one by one, each over its non-zero z.
  SweepResult single(const ClassMajorView<T>& w, DualLists<T>& z,
                     std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    return kernels_.single(examples_, w, z, scratch_.view(), batch_.row(), order, min_gap, active);
  }

  // All threads, for work without barriers.
  ThreadTeam& threads() {
    team_.limit(team_.capacity());
    return team_;
  }

 private:
  static constexpr auto kRows = kBatchRows;

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
      } catch (...) {  // no memory for z
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
};

}  // namespace manyclass
