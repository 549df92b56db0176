#pragma once
// Visits of the sequential dual method (dual/dense_sweep.hpp) in rounds (threads/rounds.hpp), with a
// row of W for each feature: all rows of a round are visited from the W that it began with, which is
// only read (but for the intercepts); then threads add the steps to ranges of features.
//
//   D(z + Delta) - D(z) = G - 1/2 (||W + Delta W||^2 - ||W||^2)
//   D(z + theta Delta)  = D(z) + theta L - theta^2 (L - (D(z + Delta) - D(z)))
//
// with L the slope of D along Delta, at the W of the round, and G the change of D without
// ||W||^2: linear in z but for the squared hinge. ||W||^2 is followed weight by weight as steps are
// added, so that neither Delta W nor another pass over W is needed. Given: W(z) and z. Returned:
// z + Delta, the old z, L, G and the steps. Source: Keerthi et al. 2008, algorithm 3.1, for an example.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "data/examples.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/kernels.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "weights/dense_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

// What a column of W counts for in ||W||^2: where W is centred and stored as U and, in column k, its
// mean m, ||W||^2 = ||U||^2 - k ||m||^2, and inner products likewise.
inline double weight_of_column(std::int32_t label, std::int32_t n_classes) {
  return label == n_classes ? -n_classes : 1;
}

// Visits that leave W alone: steps go to the batch. All rows share the intercepts, which would keep
// rounds short; so each batch has its own, and a visit sees the steps of those before it there.
template <class T>
class RoundVisitor : public DenseVisitor<T> {
 public:
  RoundVisitor(const Examples<T>& examples, const WeightsView<T>& w, Scratch<T> scratch,
               const RoundRows<T>& batch)
      : DenseVisitor<T>(examples, w, scratch), batch_(batch) {
    *batch.slope = *batch.gain = 0;
    std::copy_n(intercepts(), w.stride, batch.intercepts);
  }

  BlockSummary score_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    begin();
    T* s = scratch_.scores;
    w_.scores(without_bias(i), s);
    const T bias = examples_.x.bias;
    for (std::int64_t c = 0; bias != 0 && c < w_.stride; c += kLanes<T>) {
      store(s + c, load(s + c) + bias * load(batch_.intercepts + c));
    }
    const double centre = has_mean_ ? static_cast<double>(s[w_.n_classes]) : 0.0;
    return this->summarize(i, z, centre, w_.stride);
  }
  BlockSummary score_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    begin();
    std::size_t size = this->list_support(i, z);
    if (has_mean_) scratch_.labels[size++] = w_.n_classes;
    const std::span<const std::int32_t> labels(scratch_.labels, size);
    T* s = scratch_.scores;
    w_.scores_of(without_bias(i), labels, s);
    for (std::size_t m = 0; m < size; ++m) s[m] += examples_.x.bias * batch_.intercepts[labels[m]];
    return this->summarize_support(i, z, has_mean_ ? static_cast<double>(s[size - 1]) : 0.0);
  }

  // Solve the block of example i and move z.
  double move(std::int64_t i, const BlockSummary& found, DualLists<T>& z) {
    const std::span<const Coordinate> block = this->solve(i, found);
    const std::span<const DualEntry<T>> old = std::as_const(z).row(i);
    for (const DualEntry<T>& entry : old) batch_.old[batch_.old_ends[b_]++] = entry;
    batch_.moved[b_] = true;
    *batch_.slope += this->slope_of(i, block).slope;
    *batch_.gain += this->gain_beside_norm(i, block);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    for (const Step& step : solved.step) take(step);
    return solved.gain;
  }

 private:
  void begin() {
    ++b_;
    batch_.moved[b_] = false;
    batch_.ends[b_] = b_ == 0 ? 0 : batch_.ends[b_ - 1];
    batch_.old_ends[b_] = b_ == 0 ? 0 : batch_.old_ends[b_ - 1];
  }

  // The slope is that at the W of the round, whose intercepts the visit did not see.
  void take(const Step& step) {
    batch_.steps[batch_.ends[b_]++] = step;
    const T bias = examples_.x.bias;
    if (bias == 0) return;
    T& own = batch_.intercepts[step.label];
    const double shift = static_cast<double>(own) - static_cast<double>(intercepts()[step.label]);
    *batch_.slope +=
        weight_of_column(step.label, w_.n_classes) * step.delta * static_cast<double>(bias) * shift;
    own += bias * static_cast<T>(step.delta);
  }

  const T* intercepts() const { return w_.feature(w_.n_features); }
  Row<T> without_bias(std::int64_t i) const {
    Row<T> row = examples_.x.row(i);
    row.bias = 0;
    return row;
  }

  using DenseVisitor<T>::examples_;
  using DenseVisitor<T>::scratch_;
  using DenseVisitor<T>::has_mean_;
  using DenseVisitor<T>::w_;
  const RoundRows<T>& batch_;
  std::int64_t b_ = -1;  // in the batch, of the example that was scored last
};

template <bool kShrunk, class T>
SweepResult round_sweep(const Examples<T>& examples, const WeightsView<T>& w, DualLists<T>& z,
                        Scratch<T> scratch, const RoundRows<T>& batch, double min_gap,
                        std::int32_t* active) {
  RoundVisitor<T> visitor(examples, w, scratch, batch);
  return sweep_by<kShrunk>(visitor, examples, w, z, batch.order, min_gap, active);
}

// By how much the square of a weight grew.
template <class T>
inline double growth(T before, T after) {
  const double from = static_cast<double>(before), to = static_cast<double>(after);
  return (to - from) * (to + from);
}

// W += x step^T, and by how much ||W||^2 grew.
template <class T>
class MeasuredSum {
 public:
  MeasuredSum(const WeightsView<T>& w, T* carry)
      : w_{w.data, w.n_features, w.n_classes, w.stride, w.stride, carry}, k_(w.n_classes) {}

  double add_entries(const Row<T>& row, std::span<const Step> step, double factor) const {
    double sum = 0;
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      T* w = w_.feature(row.indices[p]);
      for (const Step& s : step) {
        const T before = w[s.label];
        w[s.label] += static_cast<T>(factor * s.delta) * row.values[p];
        sum += weight_of(s.label) * growth(before, w[s.label]);
      }
    }
    for (const Step& s : row.bias != 0 ? step : std::span<const Step>()) {
      sum += weight_of(s.label) *
             add_to_intercept(s.label, static_cast<T>(factor * s.delta) * row.bias);
    }
    return sum;
  }

  // For a step of a number for each column.
  double add_vectors(const Row<T>& row, const T* step) const {
    double mean = 0;
    Vector<T> sum = {};
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      T* w = w_.feature(row.indices[p]);
      const T mean_before = k_ < w_.width ? w[k_] : T{0};
      for (std::int64_t c = 0; c < w_.width; c += kLanes<T>) {
        const Vector<T> before = load(w + c), after = before + row.values[p] * load(step + c);
        store(w + c, after);
        sum += (after - before) * (after + before);
      }
      if (k_ < w_.width) mean += growth(mean_before, w[k_]);
    }
    double total = static_cast<double>(lane_total<T, kVectorBytes>(&sum)) - (1 + k_) * mean;
    for (std::int32_t c = 0; row.bias != 0 && c < std::min<std::int64_t>(k_ + 1, w_.width); ++c) {
      total += weight_of(c) * add_to_intercept(c, step[c] * row.bias);
    }
    return total;
  }

  [[gnu::always_inline]] void fetch(const RowPart<T>& next) const {
    constexpr std::size_t kMost = 4;
    for (std::int64_t p = 0; p < next.row.nnz; ++p) {
      const T* w = w_.feature(next.row.indices[p]);
      for (const Step& s : next.step.first(std::min(kMost, next.step.size()))) {
        __builtin_prefetch(w + s.label, 1);
      }
    }
  }

 private:
  double weight_of(std::int32_t label) const { return weight_of_column(label, k_); }

  double add_to_intercept(std::int32_t label, T delta) const {
    T* w = w_.feature(w_.n_features) + label;
    T* carry = w_.carry ? w_.carry + label : nullptr;
    const auto exact = [&] {
      return static_cast<double>(*w) + (carry ? static_cast<double>(*carry) : 0.0);
    };
    const double before = exact();
    add_with_carry(*w, carry, delta);
    return growth(before, exact());
  }

  DenseWeights<T> w_;
  std::int32_t k_;
};

template <class T>
double add_measured(const WeightsView<T>& w, T* carry, std::span<const RowPart<T>> parts,
                    double factor, T* zeros) {
  const MeasuredSum<T> sum(w, carry);
  double growth = 0;
  for (std::size_t m = 0; m < parts.size(); ++m) {
    sum.fetch(parts[std::min(m + 1, parts.size() - 1)]);
    const auto& [row, step] = parts[m];
    if (std::ssize(step) <= w.stride / kLanes<T>) {
      growth += sum.add_entries(row, step, factor);
      continue;
    }
    for (const Step& s : step) zeros[s.label] = static_cast<T>(factor * s.delta);
    growth += sum.add_vectors(row, zeros);
    for (const Step& s : step) zeros[s.label] = 0;
  }
  return growth;
}

}  // namespace manyclass::MANYCLASS_ISA
