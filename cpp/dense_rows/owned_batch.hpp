#pragma once
// The memory of batches of dense rows (dense_rows/class_major.hpp), and of the notes of rounds.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"

namespace manyclass {

// The memory that RowBatch points to: rows for `ahead` batches, their products for two batches, the
// rest for one. Steps have their maximum size; pages that are not needed are never touched.
template <class T>
class OwnedBatch {
 public:
  explicit OwnedBatch(std::int32_t n_classes, std::int64_t stride, int ahead = 3)
      : stride_(stride),
        ahead_(ahead),
        rows_(ahead * kRows * stride),
        gram_(2 * kRows * kRows),
        scores_(kRows * score_stride<T>(n_classes)),
        mean_step_(stride),
        steps_(std::make_unique_for_overwrite<Step[]>(kRows * (n_classes + 2))),
        class_begins_(n_classes + 1),
        class_steps_(std::make_unique_for_overwrite<BatchStep<T>[]>(kRows * n_classes)) {}

  // The t-th batch, of the examples `order`.
  RowBatch<T> view(std::span<const std::int32_t> order, std::size_t t) {
    return {.order = order,
            .rows = rows_.data() + t % ahead_ * kRows * stride_,
            .gram = gram_.data() + t % 2 * kRows * kRows,
            .scores = scores_.data(),
            .steps = steps_.get(),
            .ends = ends_.data(),
            .is_dense = is_dense_.data(),
            .means = means_.data(),
            .class_begins = class_begins_.data(),
            .class_steps = class_steps_.get(),
            .mean_step = mean_step_.data()};
  }
  T* row() const { return mean_step_.data(); }

 private:
  static constexpr auto kRows = kBatchRows;
  std::int64_t stride_;
  std::size_t ahead_;
  AlignedArray<T> rows_, gram_, scores_, mean_step_;
  std::unique_ptr<Step[]> steps_;
  std::array<std::size_t, kRows> ends_{};
  std::array<bool, kRows> is_dense_{};
  std::array<double, kRows> means_{};
  std::vector<std::size_t> class_begins_;
  std::unique_ptr<BatchStep<T>[]> class_steps_;
};

// The result of the visits of a batch in a round.
struct BatchFound {
  SweepResult result{};
  double slope = 0;  // of D along the batch's step
  double ridge = 0;  // as in RoundNotes
  std::array<std::int32_t, kBatchRows> active{};
};

// The memory of a batch in a round, and the results of its visits in this round and the last one.
template <class T>
class RoundBatch {
 public:
  RoundBatch(std::int32_t n_classes, std::int64_t stride)
      : batch_(n_classes, stride, 1),
        shifts_(kBatchRows * score_stride<T>(n_classes)),
        old_(std::make_unique_for_overwrite<DualEntry<T>[]>(kBatchRows * n_classes)) {}

  RowBatch<T> view(std::span<const std::int32_t> order) { return batch_.view(order, 0); }
  RoundNotes<T> notes(int turn) {
    return {.shifts = shifts_.data(),
            .old = old_.get(),
            .old_ends = old_ends_.data(),
            .moved = moved_.data(),
            .slope = &found_[turn].slope,
            .ridge = &found_[turn].ridge};
  }
  BatchFound& found(int turn) { return found_[turn]; }

  // z <- z_old + theta (z - z_old) for the examples that changed. `dense` has n_classes zeros.
  void move_back(std::span<const std::int32_t> order, double theta, DualLists<T>& z, T* dense) {
    for (std::size_t b = 0; b < order.size(); ++b) {
      if (!moved_[b]) continue;
      const std::size_t begin = b == 0 ? 0 : old_ends_[b - 1];
      combine({old_.get() + begin, old_ends_[b] - begin}, order[b], theta, z, dense);
    }
  }

 private:
  static void combine(std::span<const DualEntry<T>> old, std::int32_t i, double theta,
                      DualLists<T>& z, T* dense) {
    std::vector<DualEntry<T>> mixed;
    for (const DualEntry<T>& entry : old) {
      dense[entry.label] = static_cast<T>((1 - theta) * static_cast<double>(entry.value));
    }
    for (const DualEntry<T>& entry : z.row(i)) {
      dense[entry.label] += static_cast<T>(theta * static_cast<double>(entry.value));
    }
    const auto take = [&](const DualEntry<T>& entry) {
      if (dense[entry.label] > 0) mixed.push_back({entry.label, dense[entry.label]});
      dense[entry.label] = 0;
    };
    for (const DualEntry<T>& entry : old) take(entry);
    for (const DualEntry<T>& entry : z.row(i)) take(entry);
    z.set(i, mixed);
  }

  OwnedBatch<T> batch_;
  AlignedArray<T> shifts_;
  std::unique_ptr<DualEntry<T>[]> old_;
  std::array<std::size_t, kBatchRows> old_ends_{};
  std::array<bool, kBatchRows> moved_{};
  std::array<BatchFound, 2> found_{};
};

}  // namespace manyclass
