#pragma once
// Visits of a batch of dense rows in a round (threads/rounds.hpp), exactly and in order
// (logistic/visits.hpp), independent of the other batches. The entropy is concave, so along the
// steps u' - u of the round it is at least linear:
//
//   D(u + theta (u' - u)) >= D(u) + theta L - theta^2 / 2 ||Delta W||^2
//   L = sum_i C_i ((u'_i - u_i) . s_i + H(u'_i) - H(u_i)),   Delta W = sum_i x_i d_i^T
//
// with the scores s at the W of the round and d_i = C_i (u_i - u'_i). A visit uses s + h, with the
// corrections h within the batch. As u' maximizes D for s + h, L_i is ||x_i||^2 ||d_i||^2
// + d_i . h_i + C_i KL(u_i || u'_i), a sum without cancellation.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "logistic/kernels.hpp"
#include "logistic/layouts.hpp"
#include "logistic/log_simplex.hpp"
#include "logistic/visits.hpp"
#include "simd/exp.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

// sum_c d_c (q d_c + h_c)
template <class T>
inline double slope_of_step(const T* d, const T* h, T q, std::size_t n) {
  Vector<T> sum = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    sum += load(d + c) * (q * load(d + c) + load(h + c));
  }
  return total<T>(sum);
}

// Visits of a scored batch, which replace the scores by steps; memory.other keeps the old u.
template <class T>
SweepResult logistic_visit_apart(const Examples<T>& examples, std::int32_t n_classes, T* v,
                                 bool fresh, const LogisticMemory<T>& memory,
                                 const LogisticNotes<T>& notes,
                                 std::span<const std::int32_t> batch) {
  const std::int64_t ld = score_stride<T>(n_classes);
  T* const u = memory.other + kBatchRows * ld;
  LogisticVisitor<T> visitor(examples, n_classes, v, fresh, u);
  SweepResult result;
  double slope = 0;
  for (std::int64_t b = 0; b < std::ssize(batch); ++b) {
    const std::int64_t i = batch[b];
    T *s = memory.scores + b * ld, *vi = v + i * ld, *old = memory.other + b * ld;
    std::copy_n(s, ld, notes.shift);
    if (!fresh) std::copy_n(vi, ld, notes.log_u);
    correct_scores(memory, b, ld);
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) {
      store(notes.shift + c, load(s + c) - load(notes.shift + c));
    }
    visitor.visit(i, s, old, result);
    const double divergent = fresh ? -static_cast<double>(vi[examples.labels[i]])
                                   : divergence(old, notes.log_u, u, vi, ld);
    slope += examples.costs[i] * divergent +
             slope_of_step(s, notes.shift, static_cast<T>(examples.norms[i]), ld);
  }
  *notes.slope = slope;
  result.evaluations = std::ssize(batch) * n_classes;
  return result;
}

// W += factor Delta W for a tile, over all batches of a round; returns its ||Delta W||^2.
template <class T>
double logistic_add_round(std::span<const LogisticSteps<T>> batches, const LogisticWeights<T>& w,
                          const Tile& tile, double factor) {
  constexpr auto kL = kLanes<T>;
  alignas(64) T sums[kClassBlock * kTileBytes / sizeof(T)];
  const std::int64_t width = tile.n_columns(), ld = score_stride<T>(w.n_classes);
  std::fill_n(sums, tile.n_classes() * width, T{0});
  for (const LogisticSteps<T>& batch : batches) {
    add_product(sums, width, batch.rows + tile.first_column, w.stride, batch.n,
                batch.steps + tile.first_class, ld, tile.n_classes(), width);
  }
  const T by = static_cast<T>(factor);
  Vector<T> squares = {};
  for (std::int64_t c = 0; c < tile.n_classes(); ++c) {
    T* to = w.data + (tile.first_class + c) * w.stride + tile.first_column;
    for (std::int64_t j = 0; j < width; j += kL) {
      const Vector<T> sum = load(sums + c * width + j);
      squares += sum * sum;
      store(to + j, load(to + j) + by * sum);
    }
  }
  return total<T>(squares);
}

// u <- u_before + theta (u - u_before) for a batch; memory.other has u_before.
template <class T>
void logistic_shorten(std::int32_t n_classes, T* v, const LogisticMemory<T>& memory,
                      std::span<const std::int32_t> batch, double theta) {
  const std::int64_t ld = score_stride<T>(n_classes);
  const T part = static_cast<T>(theta), log_part = static_cast<T>(std::log(theta));
  for (std::int64_t b = 0; b < std::ssize(batch); ++b) {
    T* vi = v + batch[b] * ld;
    T* u = memory.other + b * ld;
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) {
      store(u + c, (1 - part) * load(u + c) + part * exponential<T>(load(vi + c)));
    }
    // If u underflows, its old value counts as 0.
    for (std::int64_t c = 0; c < n_classes; ++c) {
      vi[c] = u[c] > std::numeric_limits<T>::min() ? std::log(u[c]) : vi[c] + log_part;
    }
  }
}

}  // namespace manyclass::MANYCLASS_ISA
