#pragma once
// Visits of the sequential dual method for multinomial logistic regression. D is maximized over the
// u of one example, with all others fixed. With a = C_i ||x_i||^2, r_c = s_c + a u_c (old u):
//
//   v_c + a exp(v_c) = r_c - theta,  sum_c exp(v_c) = 1;   W += C_i x_i (u_before - u)^T
//
// Dense rows are visited in batches with exact corrections (dense_rows/batched_visits.hpp), other
// rows one by one. Sources: logistic/kernels.hpp; the block: Yu, Huang, Lin 2011, sec. 4.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "logistic/kernels.hpp"
#include "logistic/layouts.hpp"
#include "logistic/log_simplex.hpp"
#include "simd/exp.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/base_rows.hpp"

namespace manyclass::MANYCLASS_ISA {

// The old u of examples [first, last) of a batch, as rows of memory.other.
template <class T>
void logistic_prepare(std::int32_t n_classes, const T* v, bool fresh,
                      const LogisticMemory<T>& memory, std::span<const std::int32_t> batch,
                      std::int64_t first, std::int64_t last) {
  if (fresh) return;  // e_{y_i}
  const std::int64_t ld = score_stride<T>(n_classes);
  for (std::int64_t b = first; b < std::min(last, std::ssize(batch)); ++b) {
    const T* from = v + batch[b] * ld;
    T* u = memory.other + b * ld;
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) store(u + c, exponential<T>(load(from + c)));
  }
}

template <class T>
class LogisticVisitor {
 public:
  // `u` is memory for a row of scores.
  LogisticVisitor(const Examples<T>& examples, std::int32_t n_classes, T* v, bool fresh, T* u)
      : examples_(examples),
        n_classes_(n_classes),
        n_(score_stride<T>(n_classes)),
        v_(v),
        fresh_(fresh),
        u_(u) {}

  // `s`: w_c . x of example i, replaced by its step, C_i (u_before - u). `old`: u_before, prepared.
  void visit(std::int64_t i, T* s, T* old, SweepResult& result) {
    T* v = v_ + i * static_cast<std::int64_t>(n_);
    const auto y = examples_.labels[i];
    const double cost = examples_.costs[i];
    add_base(examples_.base, i, 0, static_cast<std::int32_t>(n_classes_), s);
    std::fill(s + n_classes_, s + n_, kNoClass<T>);
    const double log_sum = log_sum_exp(s, n_), s_y = static_cast<double>(s[y]);
    result.loss += cost * (log_sum - s_y);
    result.gap += cost * std::max(0.0, log_sum - begin(y, s, v, old));
    const T a = static_cast<T>(cost * examples_.norms[i]);
    for (std::size_t c = 0; c < n_; c += kLanes<T>) {
      store(s + c, load(s + c) + a * load(old + c));
    }
    solve_log_simplex(s, a, n_, v, u_);
    std::fill(v + n_classes_, v + n_, kNoLog<T>);
    const T by = static_cast<T>(cost);
    for (std::size_t c = 0; c < n_; c += kLanes<T>) {
      store(s + c, by * (load(old + c) - load(u_ + c)));
    }
    std::fill(s + n_classes_, s + n_, T{0});
    ++result.steps;
  }

 private:
  // Set the starting point of the search for the new u. Returns sum_c u_c (s_c - v_c) of the old u.
  double begin(std::size_t y, const T* s, T* v, T* old) {
    if (fresh_) {
      std::fill_n(old, n_, T{0});
      old[y] = 1;
      const double rest = std::max<double>(1, static_cast<double>(n_classes_) - 1);
      std::fill_n(v, n_, static_cast<T>(std::log(0.5 / rest)));
      std::fill(v + n_classes_, v + n_, kNoLog<T>);
      v[y] = static_cast<T>(std::log(0.5));
      for (std::size_t c = 0; c < n_; c += kLanes<T>) store(u_ + c, exponential<T>(load(v + c)));
      return static_cast<double>(s[y]);
    }
    Vector<T> sum = {};
    for (std::size_t c = 0; c < n_; c += kLanes<T>) {
      const Vector<T> uc = load(old + c);
      store(u_ + c, uc);
      sum += uc * (load(s + c) - load(v + c));
    }
    return total<T>(sum);
  }

  const Examples<T>& examples_;
  std::size_t n_classes_, n_;
  T* v_;
  bool fresh_;
  T* u_;
};

// s_b += sum_{j before b} G_bj step_j
template <class T>
inline void correct_scores(const LogisticMemory<T>& memory, std::int64_t b, std::int64_t ld) {
  T* s = memory.scores + b * ld;
  for (std::int64_t j = 0; j < b; ++j) {
    const T g = memory.gram[b * kBatchRows + j];
    if (g == 0) continue;
    const T* step = memory.scores + j * ld;
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) {
      store(s + c, load(s + c) + g * load(step + c));
    }
  }
}

// Visits one by one.
template <class T>
SweepResult logistic_visits(const Examples<T>& examples, const LogisticWeights<T>& w, T* v,
                            bool fresh, const LogisticMemory<T>& memory,
                            std::span<const std::int32_t> order) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  LogisticVisitor<T> visitor(examples, w.n_classes, v, fresh, memory.other + ld);
  SweepResult result;
  for (const std::int32_t i : order) {
    const Row<T> row = examples.x.row(i);
    by_feature(w).scores(row, memory.scores);
    logistic_prepare(w.n_classes, v, fresh, memory, std::span(&i, 1), 0, 1);
    visitor.visit(i, memory.scores, memory.other, result);
    by_feature(w).add_vectors(row, memory.scores);
  }
  result.evaluations = std::ssize(order) * w.n_classes;
  return result;
}

// Visits of a batch, which replace its scores by its steps.
template <class T>
SweepResult logistic_visit_batch(const Examples<T>& examples, std::int32_t n_classes, T* v,
                                 bool fresh, const LogisticMemory<T>& memory,
                                 std::span<const std::int32_t> batch) {
  const std::int64_t ld = score_stride<T>(n_classes);
  LogisticVisitor<T> visitor(examples, n_classes, v, fresh, memory.other + kBatchRows * ld);
  SweepResult result;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const auto at = static_cast<std::int64_t>(b);
    correct_scores(memory, at, ld);
    visitor.visit(batch[b], memory.scores + at * ld, memory.other + at * ld, result);
  }
  result.evaluations = std::ssize(batch) * n_classes;
  return result;
}

template <class T>
void logistic_update(const LogisticWeights<T>& w, const LogisticMemory<T>& memory, std::int64_t n,
                     std::int64_t first, std::int64_t last) {
  add_to_classes(w, memory.rows, n, memory.scores, {0, w.stride}, {first, last});
}

}  // namespace manyclass::MANYCLASS_ISA
