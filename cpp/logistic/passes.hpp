#pragma once
// Passes over the examples that change no u: gradient and curvature of P, and certificates
// (logistic/kernels.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "logistic/kernels.hpp"
#include "logistic/layouts.hpp"
#include "logistic/log_simplex.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

// Call each(i, b) for the examples of every batch, between before(n, at) and after(n, at).
template <class Before, class Each, class After>
inline void in_batches(std::int64_t begin, std::int64_t end, Before before, Each each,
                       After after) {
  for (std::int64_t first = begin; first < end; first += kBatchRows) {
    const std::int64_t n = std::min(kBatchRows, end - first);
    const auto at = [first](std::int64_t b) { return first + b; };
    before(n, at);
    for (std::int64_t b = 0; b < n; ++b) each(first + b, b);
    after(n, at);
  }
}

// p <- softmax(s); returns C_i times the loss.
template <class T, class U>
inline double loss_and_softmax(const Examples<T>& examples, std::int64_t i, std::int32_t n_classes,
                               U* s) {
  const std::int64_t ld = score_stride<U>(n_classes);
  const double s_y = static_cast<double>(s[examples.labels[i]]);
  std::fill(s + n_classes, s + ld, kNoClass<U>);
  const double log_sum = softmax(s, static_cast<std::size_t>(ld), s);
  return examples.costs[i] * (log_sum - s_y);
}

template <class T>
double logistic_gradient(const Examples<T>& examples, const LogisticWeights<T>& w,
                         const LogisticWeights<T>& gradient, const LogisticMemory<T>& memory,
                         std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  double loss = 0;
  in_batches(
      begin, end,
      [&](std::int64_t n, auto at) {
        pack_rows(examples.x, w, memory, n, at);
        scores_of_rows(examples.x, w, memory, n, at, memory.scores, ld);
      },
      [&](std::int64_t i, std::int64_t b) {
        T* s = memory.scores + b * ld;
        loss += loss_and_softmax(examples, i, w.n_classes, s);
        s[examples.labels[i]] -= 1;
        const T cost = static_cast<T>(examples.costs[i]);
        for (std::int64_t c = 0; c < ld; c += static_cast<std::int64_t>(kLanes<T>)) {
          store(s + c, load(s + c) * cost);
        }
      },
      [&](std::int64_t n, auto at) {
        add_rows(examples.x, gradient, memory, n, at, memory.scores, ld);
      });
  return loss;
}

// With p the softmax and t the scores of the direction: C_i (p t - p (p . t)) for every row.
template <class T>
void logistic_curvature(const Examples<T>& examples, const LogisticWeights<T>& w,
                        const LogisticWeights<T>& direction, const LogisticWeights<T>& product,
                        const LogisticMemory<T>& memory, std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  in_batches(
      begin, end,
      [&](std::int64_t n, auto at) {
        pack_rows(examples.x, w, memory, n, at);
        scores_of_rows(examples.x, w, memory, n, at, memory.scores, ld);
        scores_of_rows(examples.x, direction, memory, n, at, memory.other, ld);
      },
      [&](std::int64_t i, std::int64_t b) {
        T* p = memory.scores + b * ld;
        T* t = memory.other + b * ld;
        loss_and_softmax(examples, i, w.n_classes, p);
        std::fill(t + w.n_classes, t + ld, T{0});
        Vector<T> sum = {};
        for (std::int64_t c = 0; c < ld; c += static_cast<std::int64_t>(kLanes<T>)) {
          sum += load(p + c) * load(t + c);
        }
        const T mean = static_cast<T>(total<T>(sum)), cost = static_cast<T>(examples.costs[i]);
        for (std::int64_t c = 0; c < ld; c += static_cast<std::int64_t>(kLanes<T>)) {
          store(t + c, cost * load(p + c) * (load(t + c) - mean));
        }
      },
      [&](std::int64_t n, auto at) {
        add_rows(examples.x, product, memory, n, at, memory.other, ld);
      });
}

template <class T>
void logistic_log_softmax(const Examples<T>& examples, const LogisticWeights<T>& w, T* v,
                          const LogisticMemory<T>& memory, std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  in_batches(
      begin, end,
      [&](std::int64_t n, auto at) {
        pack_rows(examples.x, w, memory, n, at);
        scores_of_rows(examples.x, w, memory, n, at, memory.scores, ld);
      },
      [&](std::int64_t i, std::int64_t b) {
        T* s = memory.scores + b * ld;
        std::fill(s + w.n_classes, s + ld, kNoClass<T>);
        const T less = static_cast<T>(log_sum_exp(s, static_cast<std::size_t>(ld)));
        for (std::int64_t c = 0; c < w.n_classes; ++c) v[i * ld + c] = s[c] - less;
        std::fill(v + i * ld + w.n_classes, v + (i + 1) * ld, kNoLog<T>);
      },
      [](std::int64_t, auto) {});
}

// u <- u less what leaves every class, plus what enters (ClassShift); n classes.
inline void shift(const ClassShift& by, std::int64_t n, double* u) {
  if (!by.leaves) return;
  double left = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    const double leaving = by.leaves[c] * u[c];
    u[c] -= leaving;
    left += leaving;
  }
  for (std::int64_t c = 0; c < n; ++c) u[c] += left * by.enters[c];
}

// u <- exp(v), normalised in double.
template <class T>
inline void duals_of(const T* v, std::int32_t n_classes, double* u) {
  const std::int64_t ld = score_stride<double>(n_classes);
  for (std::int64_t c = 0; c < n_classes; ++c) u[c] = static_cast<double>(v[c]);
  std::fill(u + n_classes, u + ld, kNoLog<double>);
  softmax(u, static_cast<std::size_t>(ld), u);
}

// sum_c u_c log u_c
inline double negative_entropy(const double* u, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += u[c] > 0 ? u[c] * std::log(u[c]) : 0;
  return sum;
}

// Add example i to the totals. u becomes its row of W(u), C_i (e_y - u).
template <class T>
inline void add_totals(const Examples<T>& examples, std::int64_t i, std::int64_t n,
                       const LogisticTotals& totals, double* u) {
  const double cost = examples.costs[i];
  for (std::int64_t c = 0; c < n; ++c) {
    u[c] *= -cost;
    if (totals.class_sums) totals.class_sums[c] -= u[c];
  }
  u[examples.labels[i]] += cost;
  std::fill(u + n, u + score_stride<double>(static_cast<std::int32_t>(n)), 0.0);
}

template <class T>
LogisticSums logistic_inspect(const Examples<T>& examples, const LogisticWeights<double>& w,
                              const T* v, const ClassShift& by, const LogisticTotals& totals,
                              const LogisticMemory<double>& memory, std::int64_t begin,
                              std::int64_t end) {
  const std::int64_t ld = score_stride<double>(w.n_classes), v_ld = score_stride<T>(w.n_classes);
  const std::int64_t k = w.n_classes;
  LogisticSums found;
  in_batches(
      begin, end,
      [&](std::int64_t n, auto at) {
        pack_rows(examples.x, w, memory, n, at);
        scores_of_rows(examples.x, w, memory, n, at, memory.scores, ld);
      },
      [&](std::int64_t i, std::int64_t b) {
        double* s = memory.scores + b * ld;
        double* u = memory.other + b * ld;
        std::fill(s + k, s + ld, kNoClass<double>);
        const double log_sum = softmax(s, static_cast<std::size_t>(ld), u);
        if (v) duals_of(v + i * v_ld, w.n_classes, u);
        shift(by, k, u);
        double score = 0;
        for (std::int64_t c = 0; c < k; ++c) score += u[c] * s[c];
        const double entropy = negative_entropy(u, k), cost = examples.costs[i];
        found.loss += cost * (log_sum - s[examples.labels[i]]);
        found.gap += cost * std::max(0.0, log_sum + entropy - score);
        found.entropy -= cost * entropy;
        add_totals(examples, i, k, totals, u);
      },
      [&](std::int64_t n, auto at) {
        if (totals.sums) add_rows(examples.x, *totals.sums, memory, n, at, memory.other, ld);
      });
  return found;
}

template <class T>
LogisticSums logistic_dual_sums(const Examples<T>& examples, const LogisticWeights<double>& shape,
                                const T* v, const ClassShift& by, const LogisticTotals& totals,
                                const LogisticMemory<double>& memory, std::int64_t begin,
                                std::int64_t end) {
  const std::int64_t ld = score_stride<double>(shape.n_classes);
  const std::int64_t k = shape.n_classes, v_ld = score_stride<T>(shape.n_classes);
  LogisticSums found;
  in_batches(
      begin, end, [&](std::int64_t n, auto at) { pack_rows(examples.x, shape, memory, n, at); },
      [&](std::int64_t i, std::int64_t b) {
        double* u = memory.other + b * ld;
        duals_of(v + i * v_ld, shape.n_classes, u);
        shift(by, k, u);
        found.entropy -= examples.costs[i] * negative_entropy(u, k);
        add_totals(examples, i, k, totals, u);
      },
      [&](std::int64_t n, auto at) {
        if (totals.sums) add_rows(examples.x, *totals.sums, memory, n, at, memory.other, ld);
      });
  return found;
}

}  // namespace manyclass::MANYCLASS_ISA
