#pragma once
// Visits of single examples with W class-major, over the classes with z > 0: the shrunk loops
// of the sequential dual method (dual/dense_sweep.hpp). A score is one contiguous dot product.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_product.hpp"
#include "dual/dense_sweep.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

// N scores at a time. U sums per score are in progress, to hide the latency of an addition.
template <int N, int U, class T>
inline void dot_rows(const ClassMajorView<T>& w, const T* x, const std::int32_t* labels, T* out) {
  constexpr auto kL = kLanes<T>;
  const T* rows[N];
  for (int m = 0; m < N; ++m) rows[m] = w.of(labels[m]);
  Vector<T> sum[U][N] = {};
  std::int64_t j = 0;
  for (; j + U * kL <= w.stride; j += U * kL) {
    for (int u = 0; u < U; ++u) {
      const Vector<T> value = load(x + j + u * kL);
      for (int m = 0; m < N; ++m) sum[u][m] += value * load(rows[m] + j + u * kL);
    }
  }
  for (; j < w.stride; j += kL) {
    for (int m = 0; m < N; ++m) sum[0][m] += load(x + j) * load(rows[m] + j);
  }
  for (int m = 0; m < N; ++m) {
    for (int u = 1; u < U; ++u) sum[0][m] += sum[u][m];
    out[m] = lane_total<T, kVectorBytes>(&sum[0][m]);
  }
}

template <class T>
class SingleVisitor : public ExampleSubproblem<T> {
 public:
  // `row` is memory for a row of W.
  SingleVisitor(const Examples<T>& examples, const ClassMajorView<T>& w, Scratch<T> scratch, T* row)
      : ExampleSubproblem<T>(examples, w.n_classes, scratch, true), w_(w), row_(row) {}

  BlockSummary score_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    score_labels(i, z);
    return this->summarize_support(i, z, 0);
  }

  // The scores that summarize_support needs; returns the number of scores.
  std::size_t score_labels(std::int64_t i, std::span<const DualEntry<T>> z) {
    pack_row(examples_.x, i, w_.stride, row_);
    const std::size_t size = this->list_support(i, z);
    const std::int32_t* labels = scratch_.labels;
    std::size_t m = 0;
    for (; m + 4 <= size; m += 4) dot_rows<4, 2>(w_, row_, labels + m, scratch_.scores + m);
    for (; m + 2 <= size; m += 2) dot_rows<2, 4>(w_, row_, labels + m, scratch_.scores + m);
    if (m < size) dot_rows<1, 8>(w_, row_, labels + m, scratch_.scores + m);
    return size;
  }

  double move(std::int64_t i, const BlockSummary& found, DualLists<T>& z) {
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    for (const Step& step : solved.step) {
      if (step.label == n_classes_) {
        for (std::int32_t c = 0; c < n_classes_; ++c) add(c, -step.delta);
      } else {
        add(step.label, step.delta);
      }
    }
    return solved.gain;
  }

 protected:
  void add(std::int32_t c, double delta) const {
    T* weights = w_.of(c);
    const T by = static_cast<T>(delta);
    for (std::int64_t j = 0; j < w_.stride; j += kLanes<T>) {
      store(weights + j, load(weights + j) + by * load(row_ + j));
    }
  }

  using ExampleSubproblem<T>::examples_;
  using ExampleSubproblem<T>::n_classes_;
  using ExampleSubproblem<T>::scratch_;
  const ClassMajorView<T>& w_;
  T* row_;
};

// Visit the examples `order`, each over its non-zero z only. An example with a gap below `min_gap`
// is skipped and becomes inactive.
template <class T>
SweepResult single_visits(const Examples<T>& examples, const ClassMajorView<T>& w, DualLists<T>& z,
                          Scratch<T> scratch, T* row, std::span<const std::int32_t> order,
                          double min_gap, std::int32_t* active) {
  SingleVisitor<T> visitor(examples, w, scratch, row);
  const auto fetch = [&](std::size_t p) __attribute__((always_inline)) {
    const auto ahead = [&](std::size_t by) { return order[std::min(p + by, order.size() - 1)]; };
    z.fetch_slot(ahead(8));
    z.fetch_entries(ahead(4));
    fetch_row(examples.x, ahead(4));
    __builtin_prefetch(examples.costs + ahead(4));
    __builtin_prefetch(examples.norms + ahead(4));
  };
  const auto score = [&](std::int64_t i, std::span<const DualEntry<T>> list, SweepResult& result) {
    result.evaluations += std::ssize(list) + 1;
    return visitor.score_support(i, list);
  };
  return visit_all(visitor, examples, z, order, min_gap, active, score, fetch);
}

}  // namespace manyclass::MANYCLASS_ISA
