#pragma once
// The threads that visit batches of dense rows (dense_rows/batched_visits.hpp). Each owns a range
// of classes for the products and the updates. The subproblems of a batch are solved by the first
// thread, while the last one packs the next batch. The result does not depend on the number of
// threads.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/owned_scratch.hpp"
#include "threads/barrier.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// The memory that RowBatch points to: rows for two batches, the rest for one.
template <class T>
class OwnedBatch {
 public:
  OwnedBatch(std::int32_t n_classes, std::int64_t stride)
      : stride_(stride),
        rows_(2 * kRows * static_cast<std::size_t>(stride)),
        gram_(2 * kRows * kRows),
        scores_(kRows * static_cast<std::size_t>(score_stride<T>(n_classes))),
        mean_step_(static_cast<std::size_t>(stride)),
        steps_(kRows * (static_cast<std::size_t>(n_classes) + 2)),
        class_begins_(static_cast<std::size_t>(n_classes) + 1),
        class_steps_(kRows * static_cast<std::size_t>(n_classes)) {}

  RowBatch<T> view(std::span<const std::int32_t> order, std::size_t slot) {
    return {order,
            rows_.data() + slot * kRows * static_cast<std::size_t>(stride_),
            gram_.data() + slot * kRows * kRows,
            scores_.data(),
            steps_.data(),
            ends_.data(),
            is_dense_.data(),
            means_.data(),
            class_begins_.data(),
            class_steps_.data(),
            mean_step_.data()};
  }
  T* row() const { return mean_step_.data(); }

 private:
  static constexpr auto kRows = static_cast<std::size_t>(kBatchRows);
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
        team_(std::max(1, std::min(n_threads, most_threads(n_classes)))),
        choice_(team_.capacity()) {}

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
  static constexpr auto kRows = static_cast<std::size_t>(kBatchRows);
  static constexpr std::int64_t kClassBlock = 64;  // classes of a thread are whole blocks of these

  SweepResult visit_all(const ClassMajorView<T>& w, DualLists<T>& z,
                        std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    Barrier barrier(team_.size());
    SweepResult result;
    std::exception_ptr error;
    team_.run([&](int member) {
      const bool packs = member == team_.size() - 1;
      if (packs) pack(w, order, 0);
      barrier.arrive_and_wait(true);
      for (std::size_t t = 0; t * kRows < order.size(); ++t) {
        const RowBatch<T> batch = view(order, t);
        const auto [first, last] = classes_of(member, w.n_classes);
        if (first < last) kernels_.score(batch, w, first, last);
        barrier.arrive_and_wait(true);
        if (member == 0) error = visit(batch, w, z, min_gap, active, result);
        if (packs) pack(w, order, t + 1);
        if (!barrier.arrive_and_wait(member != 0 || !error)) return;
        if (first < last) kernels_.update(batch, w, first, last, examples_.formulation.centred);
      }
    });
    if (error) std::rethrow_exception(error);
    return result;
  }

  static int most_threads(std::int32_t n_classes) {
    return static_cast<int>((n_classes + kClassBlock - 1) / kClassBlock);
  }
  std::pair<std::int64_t, std::int64_t> classes_of(int member, std::int64_t n_classes) const {
    const std::int64_t blocks = (n_classes + kClassBlock - 1) / kClassBlock, size = team_.size();
    const auto at = [&](std::int64_t m) {
      return std::min(n_classes, blocks * m / size * kClassBlock);
    };
    return {at(member), at(member + 1)};
  }
  RowBatch<T> view(std::span<const std::int32_t> order, std::size_t t) {
    const std::size_t begin = std::min(t * kRows, order.size());
    return batch_.view(order.subspan(begin, std::min(kRows, order.size() - begin)), t % 2);
  }
  void pack(const ClassMajorView<T>& w, std::span<const std::int32_t> order, std::size_t t) {
    if (t * kRows < order.size()) kernels_.pack(examples_.x, view(order, t), w.stride);
  }
  std::exception_ptr visit(const RowBatch<T>& batch, const ClassMajorView<T>& w, DualLists<T>& z,
                           double min_gap, std::int32_t* active, SweepResult& result) {
    try {
      result.add(kernels_.visit(examples_, w, batch, z, scratch_.view(), min_gap,
                                active + result.n_active));
      return nullptr;
    } catch (...) {  // no memory for z
      return std::current_exception();
    }
  }

  const Examples<T>& examples_;
  const RowKernels<T>& kernels_;
  OwnedBatch<T> batch_;
  OwnedScratch<T> scratch_;
  ThreadTeam team_;
  ThreadChoice choice_;
};

}  // namespace manyclass
