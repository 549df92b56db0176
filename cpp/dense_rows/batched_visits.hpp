#pragma once
// Visits of the sequential dual method (dual/dense_sweep.hpp) in batches, for dense rows:
//
//   S = X_B W^T,  G = X_B X_B^T                        two matrix products
//   for i in the batch, in order:
//     s_i += sum_{j before i} G_ij delta_j             exact corrections of the scores
//     the subproblem of example i, solved exactly      -> delta_i
//   W += Delta^T X_B
//
// The result equals single visits in the same order, up to rounding. Given: a batch with its rows
// and G, z, and W(z) with a row per class. Returned: sums over the visits, z and the steps; then W.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_product.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

// The rows [first, last) that exist in the batch.
template <class T>
void copy_rows(const Csr<T>& x, const RowBatch<T>& batch, std::int64_t stride, std::int64_t first,
               std::int64_t last) {
  const std::int64_t end = std::min(last, batch.size()), ahead = last - first;
  for (std::int64_t b = first; b < end; ++b) {
    fetch_row(x, batch.order[std::min(b + ahead, batch.size() - 1)]);
    pack_row(x, batch.order[b], stride, batch.rows + b * stride);
  }
}

// The products of copied rows [first, last) with the rows before them; `first` begins a tile.
template <class T>
void multiply_rows(const RowBatch<T>& batch, std::int64_t stride, std::int64_t first,
                   std::int64_t last) {
  const std::int64_t end = std::min(last, batch.size());
  for (std::int64_t b = first; b < end; b += kTileRows) {
    const std::int64_t n = std::min<std::int64_t>(kTileRows, end - b);
    row_product(batch.rows + b * stride, n, stride, batch.rows, b + n, stride, stride,
                batch.gram + b * kBatchRows, kBatchRows);
  }
}

// The scores of classes [first, last).
template <class T>
void score_batch(const RowBatch<T>& batch, const ClassMajorView<T>& w, std::int64_t first,
                 std::int64_t last) {
  row_product(batch.rows, batch.size(), w.stride, w.of(first), last - first, w.stride, w.stride,
              batch.scores + first, score_stride<T>(w.n_classes));
}

// Visits in rounds record notes (dense_rows/round_visits.hpp); visits in order record nothing.
template <class T>
struct NoNotes {
  void before(std::int64_t, const T*, std::int64_t) {}
  void corrected(std::int64_t, const T*, std::int64_t) {}
  template <class Slope>
  void moves(std::int64_t, std::span<const DualEntry<T>>, Slope) {}
  void moved(std::int64_t, std::span<const Step>, std::int32_t) {}
};

template <class T>
class RowBatchVisitor : public ExampleSubproblem<T> {
 public:
  RowBatchVisitor(const Examples<T>& examples, std::int32_t n_classes, const RowBatch<T>& batch,
                  Scratch<T> scratch)
      : ExampleSubproblem<T>(examples, n_classes, scratch, true),
        batch_(batch),
        stride_(score_stride<T>(n_classes)) {}

  // The visit of example b of the batch. Examples with a gap below `min_gap` are skipped.
  template <class Note>
  void visit(std::int64_t b, DualLists<T>& z, double min_gap, std::int32_t* active,
             SweepResult& result, Note& note) {
    const std::int32_t i = batch_.order[b];
    scratch_.scores = batch_.scores + b * stride_;
    batch_.is_dense[b] = false;
    batch_.means[b] = 0;
    batch_.ends[b] = begin_of(b);
    note.before(b, scratch_.scores, stride_);
    correct(b);
    note.corrected(b, scratch_.scores, stride_);
    const double gap_before = result.gap;
    const ExampleCosts costs = examples_.costs_of(i);
    const BlockSummary found = this->summarize(i, std::as_const(z).row(i), 0, stride_);
    const double violation = this->tally(found, costs.all, result);
    if (result.gap - gap_before < min_gap) return;
    if (violation > 0) {
      const std::span<const Coordinate> block = this->solve(i, found);
      note.moves(b, std::as_const(z).row(i), [&] { return this->slope_of(i, block); });
      this->keep(block, i, z);
      const BlockStep solved = this->step(i, block);
      note.moved(b, solved.step, n_classes_);
      record(b, solved.step);
      result.dual_gain += solved.gain;
      ++result.steps;
    }
    if (this->is_active(std::as_const(z).row(i), costs)) active[result.n_active++] = i;
  }

 private:
  // A step on at least 1 / kDenseShare of the classes is added to scores as a vector.
  static constexpr std::int64_t kDenseShare = 8;

  std::size_t begin_of(std::int64_t b) const { return b == 0 ? 0 : batch_.ends[b - 1]; }

  // s_b += sum_{j before b} G_bj delta_j
  void correct(std::int64_t b) {
    T* s = scratch_.scores;
    double shift = 0;
    for (std::int64_t j = 0; j < b; ++j) {
      const T g = batch_.gram[b * kBatchRows + j];
      if (g == 0 || batch_.ends[j] == begin_of(j)) continue;
      shift += static_cast<double>(g) * batch_.means[j];
      if (batch_.is_dense[j]) {
        const T* delta = batch_.scores + j * stride_;
        for (std::int64_t c = 0; c < stride_; c += kLanes<T>) {
          store(s + c, load(s + c) + g * load(delta + c));
        }
      } else {
        for (std::size_t m = begin_of(j); m < batch_.ends[j]; ++m) {
          s[batch_.steps[m].label] += g * static_cast<T>(batch_.steps[m].delta);
        }
      }
    }
    if (shift == 0) return;
    for (std::int32_t c = 0; c < n_classes_; ++c) s[c] -= static_cast<T>(shift);
  }

  void record(std::int64_t b, std::span<const Step> step) {
    std::size_t end = begin_of(b);
    for (const Step& s : step) {
      if (s.label == n_classes_) {
        batch_.means[b] = s.delta;
      } else {
        batch_.steps[end++] = s;
      }
    }
    batch_.ends[b] = end;
    if (std::ssize(step) * kDenseShare < n_classes_) return;
    batch_.is_dense[b] = true;  // its scores are no longer needed
    std::fill_n(scratch_.scores, stride_, T{0});
    for (std::size_t m = begin_of(b); m < end; ++m) {
      scratch_.scores[batch_.steps[m].label] = static_cast<T>(batch_.steps[m].delta);
    }
  }

  using ExampleSubproblem<T>::examples_;
  using ExampleSubproblem<T>::n_classes_;
  using ExampleSubproblem<T>::scratch_;
  const RowBatch<T>& batch_;
  std::int64_t stride_;
};

// Sort the steps of a batch by classes, and sum the parts that are subtracted from every class.
template <class T>
void gather_steps(const RowBatch<T>& batch, const ClassMajorView<T>& w) {
  std::size_t* begins = batch.class_begins;
  std::fill_n(begins, w.n_classes + 1, std::size_t{0});
  const std::size_t n_steps = batch.size() == 0 ? 0 : batch.ends[batch.size() - 1];
  for (std::size_t m = 0; m < n_steps; ++m) ++begins[batch.steps[m].label];
  std::size_t total = 0;
  for (std::int32_t c = 0; c <= w.n_classes; ++c) {
    total += begins[c];
    begins[c] = total;
  }
  // From the last step to the first, so that begins[c] becomes the beginning of class c.
  std::size_t m = n_steps;
  for (std::int64_t b = batch.size() - 1; b >= 0; --b) {
    for (const std::size_t first = b == 0 ? 0 : batch.ends[b - 1]; m > first; --m) {
      const Step& step = batch.steps[m - 1];
      batch.class_steps[--begins[step.label]] = {static_cast<std::int32_t>(b),
                                                 static_cast<T>(step.delta)};
    }
  }
  std::fill_n(batch.mean_step, w.stride, T{0});
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const T mean = static_cast<T>(batch.means[b]);
    if (mean == 0) continue;
    for (std::int64_t j = 0; j < w.stride; ++j) {
      batch.mean_step[j] += mean * batch.rows[b * w.stride + j];
    }
  }
}

// Visit the examples of a scored batch in order, and collect their steps. Examples that stay active
// are written to `active`.
template <class T, class Note>
SweepResult visit_noting(const Examples<T>& examples, const ClassMajorView<T>& w,
                         const RowBatch<T>& batch, DualLists<T>& z, Scratch<T> scratch,
                         double min_gap, std::int32_t* active, Note note) {
  RowBatchVisitor<T> visitor(examples, w.n_classes, batch, scratch);
  SweepResult result;
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    visitor.visit(b, z, min_gap, active, result, note);
  }
  gather_steps(batch, w);
  result.evaluations = batch.size() * w.n_classes;
  return result;
}

template <class T>
SweepResult visit_batch(const Examples<T>& examples, const ClassMajorView<T>& w,
                        const RowBatch<T>& batch, DualLists<T>& z, Scratch<T> scratch,
                        double min_gap, std::int32_t* active) {
  return visit_noting(examples, w, batch, z, scratch, min_gap, active, NoNotes<T>{});
}

// w_c += sum_b delta_bc x_b for classes [first, last), V vectors of features in registers.
template <int V, class T>
void add_steps(const RowBatch<T>& batch, const ClassMajorView<T>& w, std::int64_t first,
               std::int64_t last, std::int64_t j, bool centred) {
  constexpr auto kL = kLanes<T>;
  for (std::int64_t c = first; c < last; ++c) {
    const std::size_t begin = batch.class_begins[c], end = batch.class_begins[c + 1];
    if (begin == end && !centred) continue;
    T* weights = w.of(c) + j;
    Vector<T> sum[V];
    for (int v = 0; v < V; ++v) sum[v] = load(weights + v * kL);
    for (std::size_t m = begin; m < end; ++m) {
      const BatchStep<T> step = batch.class_steps[m];
      const T* x = batch.rows + step.row * w.stride + j;
      for (int v = 0; v < V; ++v) sum[v] += step.delta * load(x + v * kL);
    }
    if (centred) {
      for (int v = 0; v < V; ++v) sum[v] -= load(batch.mean_step + j + v * kL);
    }
    for (int v = 0; v < V; ++v) store(weights + v * kL, sum[v]);
  }
}

// W += Delta^T X_B for classes [first, last).
template <class T>
void update_classes(const RowBatch<T>& batch, const ClassMajorView<T>& w, std::int64_t first,
                    std::int64_t last, bool centred) {
  constexpr auto kL = kLanes<T>;
  std::int64_t j = 0;
  for (; j + 8 * kL <= w.stride; j += 8 * kL) add_steps<8>(batch, w, first, last, j, centred);
  for (; j < w.stride; j += kL) add_steps<1>(batch, w, first, last, j, centred);
}

}  // namespace manyclass::MANYCLASS_ISA
