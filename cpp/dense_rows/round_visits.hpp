#pragma once
// Visits of a batch of dense rows in a round (threads/rounds.hpp), independent of other batches:
// exact, in order (dense_rows/batched_visits.hpp), or each from W of the round except intercepts.
//
//   D(z + theta Delta) = D(z) + theta L - theta^2 (1/2 ||Delta W||^2 + R)
//
// with L = sum_i Delta_i . xi_i(W) (squared hinge: minus sum_ic z_ic Delta_ic / (2 C_i)) and
// R = sum_ic Delta_ic^2 / (4 C_i) (squared hinge), else 0. Given: W, which does not change, and z.
// Returned: z + Delta, the old z, L, R and the steps of each batch; add_round then updates W.
// Source: Keerthi et al. 2008, algorithm 3.1, for a batch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "data/examples.hpp"
#include "dense_rows/batched_visits.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_product.hpp"
#include "dense_rows/single_visits.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/scratch.hpp"

namespace manyclass::MANYCLASS_ISA {

// Notes of visits: corrections of scores, the old z, and the slope at the W of the round.
template <class T>
class TakesNotes {
 public:
  explicit TakesNotes(const RoundNotes<T>& notes) : notes_(notes) {
    *notes.slope = *notes.ridge = 0;
  }

  void before(std::int64_t b, const T* scores, std::int64_t stride) {
    notes_.moved[b] = false;
    notes_.old_ends[b] = begin_of(b);
    std::copy_n(scores, stride, notes_.shifts + b * stride);
    shift_ = notes_.shifts + b * stride;
  }
  void corrected(std::int64_t, const T* scores, std::int64_t stride) {
    for (std::int64_t c = 0; c < stride; c += kLanes<T>) {
      store(shift_ + c, load(scores + c) - load(shift_ + c));
    }
  }
  template <class Slope>
  void moves(std::int64_t b, std::span<const DualEntry<T>> z, Slope slope_of) {
    notes_.moved[b] = true;
    std::copy(z.begin(), z.end(), notes_.old + begin_of(b));
    notes_.old_ends[b] = begin_of(b) + z.size();
    const BlockSlope found = slope_of();
    *notes_.slope += found.slope;
    *notes_.ridge += found.ridge;
  }
  // The scores come from the W of the round, plus these corrections.
  void moved(std::int64_t, std::span<const Step> step, std::int32_t n_classes) {
    for (const Step& s : step) {
      if (s.label < n_classes) {
        *notes_.slope += s.delta * static_cast<double>(shift_[s.label]);
        continue;
      }
      double sum = 0;
      for (std::int32_t c = 0; c < n_classes; ++c) sum += static_cast<double>(shift_[c]);
      *notes_.slope -= s.delta * sum;
    }
  }
  // Corrections that consecutive visits share.
  void sees(T* shift) { shift_ = shift; }
  void pass_over(std::int64_t b) {
    notes_.moved[b] = false;
    notes_.old_ends[b] = begin_of(b);
  }

 private:
  std::size_t begin_of(std::int64_t b) const { return b == 0 ? 0 : notes_.old_ends[b - 1]; }

  const RoundNotes<T>& notes_;
  T* shift_ = nullptr;
};

// Copy, score and visit a batch in order, over all classes.
template <class T>
SweepResult visit_apart(const Examples<T>& examples, const ClassMajorView<T>& w,
                        const RowBatch<T>& batch, const RoundNotes<T>& notes, DualLists<T>& z,
                        Scratch<T> scratch, double min_gap, std::int32_t* active) {
  copy_rows(examples.x, batch, w.stride, 0, kBatchRows);
  multiply_rows(batch, w.stride, 0, kBatchRows);
  score_batch(batch, w, 0, w.n_classes);
  return visit_noting(examples, w, batch, z, scratch, min_gap, active, TakesNotes<T>(notes));
}

// Visits of single examples without updates of W: the batch stores the steps. The intercepts, which
// all rows share, would make rounds short: visits use the steps of the batch in the intercepts.
template <class T>
class ApartVisitor : public SingleVisitor<T> {
 public:
  ApartVisitor(const Examples<T>& examples, const ClassMajorView<T>& w, const RowBatch<T>& batch,
               const RoundNotes<T>& notes, Scratch<T> scratch)
      : SingleVisitor<T>(examples, w, scratch, batch.rows),
        batch_(batch),
        note_(notes),
        shift_(notes.shifts),
        square_(static_cast<double>(examples.x.bias) * static_cast<double>(examples.x.bias)) {
    std::fill_n(shift_, this->n_classes_, T{0});
    note_.sees(shift_);
  }

  void begin(std::int64_t b) {
    b_ = b;
    this->row_ = batch_.rows + b * this->w_.stride;
    batch_.means[b] = 0;
    batch_.ends[b] = begin_of(b);
    note_.pass_over(b);
  }

  BlockSummary score_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    const std::size_t size = this->score_labels(i, z);
    const auto& [labels, scores] = std::pair(this->scratch_.labels, this->scratch_.scores);
    for (std::size_t m = 0; m < size; ++m) scores[m] += shift_[labels[m]];
    return this->summarize_support(i, z, 0);
  }

  double move(std::int64_t i, const BlockSummary& found, DualLists<T>& z) {
    const std::span<const Coordinate> block = this->solve(i, found);
    note_.moves(b_, std::as_const(z).row(i), [&] { return this->slope_of(i, block); });
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    note_.moved(b_, solved.step, this->n_classes_);
    for (const Step& s : solved.step) take(s);
    return solved.gain;
  }

 private:
  std::size_t begin_of(std::int64_t b) const { return b == 0 ? 0 : batch_.ends[b - 1]; }

  void take(const Step& step) {
    const T shift = static_cast<T>(square_ * step.delta);
    if (step.label < this->n_classes_) {
      batch_.steps[batch_.ends[b_]++] = step;
      shift_[step.label] += shift;
      return;
    }
    batch_.means[b_] = step.delta;
    for (std::int32_t c = 0; c < this->n_classes_; ++c) shift_[c] -= shift;
  }

  const RowBatch<T>& batch_;
  TakesNotes<T> note_;
  T* shift_;  // of the scores of each class, from intercept steps of the batch
  double square_;
  std::int64_t b_ = 0;
};

// Visit the examples of a batch, each over its non-zero z only.
template <class T>
SweepResult single_apart(const Examples<T>& examples, const ClassMajorView<T>& w,
                         const RowBatch<T>& batch, const RoundNotes<T>& notes, DualLists<T>& z,
                         Scratch<T> scratch, double min_gap, std::int32_t* active) {
  ApartVisitor<T> visitor(examples, w, batch, notes, scratch);
  std::int64_t b = 0;
  const auto score = [&](std::int64_t i, std::span<const DualEntry<T>> list, SweepResult& result) {
    visitor.begin(b++);
    result.evaluations += std::ssize(list) + 1;
    return visitor.score_support(i, list);
  };
  const auto fetch = [&](std::size_t p) __attribute__((always_inline)) {
    const auto ahead = [&](std::size_t by) {
      return batch.order[std::min(p + by, batch.order.size() - 1)];
    };
    z.fetch_slot(ahead(8));
    z.fetch_entries(ahead(4));
    fetch_row(examples.x, ahead(4));
  };
  const SweepResult result =
      visit_all(visitor, examples, z, batch.order, min_gap, active, score, fetch);
  gather_steps(batch, w);
  return result;
}

// w_c += factor sum_b delta_bc x_b over all batches of a round, for V vectors of features in
// registers; returns the squared norm of the sum.
template <int V, class T>
double add_class(std::span<const RowBatch<T>> batches, T* weights, std::int64_t stride,
                 std::int32_t c, std::int64_t j, T factor, bool centred) {
  constexpr auto kL = kLanes<T>;
  Vector<T> sum[V] = {};
  for (const RowBatch<T>& batch : batches) {
    for (std::size_t m = batch.class_begins[c]; m < batch.class_begins[c + 1]; ++m) {
      const BatchStep<T> step = batch.class_steps[m];
      const T* x = batch.rows + step.row * stride + j;
      for (int v = 0; v < V; ++v) sum[v] += step.delta * load(x + v * kL);
    }
    if (!centred) continue;
    for (int v = 0; v < V; ++v) sum[v] -= load(batch.mean_step + j + v * kL);
  }
  Vector<T> squares = {};
  for (int v = 0; v < V; ++v) {
    squares += sum[v] * sum[v];
    store(weights + j + v * kL, load(weights + j + v * kL) + factor * sum[v]);
  }
  return static_cast<double>(lane_total<T, kVectorBytes>(&squares));
}

// The update for a tile of W.
template <class T>
double add_round(std::span<const RowBatch<T>> batches, const ClassMajorView<T>& w, const Tile& tile,
                 double factor, bool centred) {
  constexpr auto kL = kLanes<T>;
  const T by = static_cast<T>(factor);
  double squares = 0;
  for (auto c = static_cast<std::int32_t>(tile.first_class); c < tile.last_class; ++c) {
    const auto has_steps = [&](const RowBatch<T>& batch) {
      return batch.class_begins[c] < batch.class_begins[c + 1];
    };
    if (!centred && std::none_of(batches.begin(), batches.end(), has_steps)) continue;
    std::int64_t j = tile.first_column;
    for (; j + 8 * kL <= tile.last_column; j += 8 * kL) {
      squares += add_class<8>(batches, w.of(c), w.stride, c, j, by, centred);
    }
    for (; j < tile.last_column; j += kL) {
      squares += add_class<1>(batches, w.of(c), w.stride, c, j, by, centred);
    }
  }
  return squares;
}

}  // namespace manyclass::MANYCLASS_ISA
