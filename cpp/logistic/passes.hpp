#pragma once
// Passes over the examples that do not change u: gradient and curvature of P, and certificates
// (logistic/kernels.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "certificate/double_scores.hpp"
#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "logistic/kernels.hpp"
#include "logistic/layouts.hpp"
#include "logistic/log_simplex.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/base_rows.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

// The scores at W of the examples [begin, end) of a batch, including base scores; dense rows
// are packed first.
template <class T, class U>
inline void put_scores(const Examples<T>& examples, const LogisticWeights<U>& w,
                       const LogisticMemory<U>& memory, std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<U>(w.n_classes);
  pack_rows(examples.x, w, memory, begin, end);
  scores_of_rows(examples.x, w, memory, begin, end, memory.scores);
  for (std::int64_t i = begin; examples.base && i < end; ++i) {
    add_base(examples.base, i, 0, w.n_classes, memory.scores + (i - begin) * ld);
  }
}

// The sum of p_c over c != y, summed without p_y: 1 - p_y would lose all digits if p_y is
// near 1.
template <class U>
inline double rest_of(U* p, std::size_t n, std::int64_t y) {
  const U own = p[y];
  p[y] = 0;
  Vector<U> sum = {};
  for (std::size_t c = 0; c < n; c += kLanes<U>) sum += load(p + c);
  p[y] = own;
  return total<U>(sum);
}

// log p_y from the rest of p, or `otherwise` if p_y is small.
inline double log_own(double rest, double otherwise) {
  return rest < 0.5 ? std::log1p(-rest) : otherwise;
}

// Results of a pass for an example: C_i times the loss, and sum_{c != y} p_c.
struct LossAndRest {
  double loss, rest;
};

// p <- softmax(s); p and s may be the same memory.
template <class T, class U>
inline LossAndRest loss_and_softmax(const Examples<T>& examples, std::int64_t i,
                                    std::int32_t n_classes, U* s, U* p) {
  const std::int64_t ld = score_stride<U>(n_classes), y = examples.labels[i];
  const double s_y = static_cast<double>(s[y]);
  std::fill(s + n_classes, s + ld, kNoClass<U>);
  const double log_sum = softmax(s, ld, p);
  const double rest = rest_of(p, ld, y);
  return {examples.costs[i] * -log_own(rest, s_y - log_sum), rest};
}

template <class T>
double logistic_gradient(const Examples<T>& examples, const LogisticWeights<T>& w,
                         const LogisticMemory<T>& memory, std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  put_scores(examples, w, memory, begin, end);
  double loss = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    T* s = memory.scores + (i - begin) * ld;
    T* p = memory.other + (i - begin) * ld;
    const LossAndRest found = loss_and_softmax(examples, i, w.n_classes, s, p);
    loss += found.loss;
    p[examples.labels[i]] = static_cast<T>(-found.rest);
    const T cost = static_cast<T>(examples.costs[i]);
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) store(p + c, load(p + c) * cost);
  }
  return loss;
}

// For the softmax p and the scores t of the direction: C_i (p t - p (p . t)) for every row.
template <class T>
void logistic_curvature(const Examples<T>& examples, const LogisticWeights<T>& w,
                        const LogisticWeights<T>& direction, const LogisticMemory<T>& memory,
                        std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  put_scores(examples, w, memory, begin, end);
  scores_of_rows(examples.x, direction, memory, begin, end, memory.other);
  for (std::int64_t i = begin; i < end; ++i) {
    T* p = memory.scores + (i - begin) * ld;
    T* t = memory.other + (i - begin) * ld;
    loss_and_softmax(examples, i, w.n_classes, p, p);
    std::fill(t + w.n_classes, t + ld, T{0});
    Vector<T> sum = {};
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) sum += load(p + c) * load(t + c);
    const T mean = static_cast<T>(total<T>(sum)), cost = static_cast<T>(examples.costs[i]);
    for (std::int64_t c = 0; c < ld; c += kLanes<T>) {
      store(t + c, cost * load(p + c) * (load(t + c) - mean));
    }
  }
}

template <class T>
void logistic_log_softmax(const Examples<T>& examples, const LogisticWeights<T>& w, T* v,
                          const LogisticMemory<T>& memory, std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<T>(w.n_classes);
  put_scores(examples, w, memory, begin, end);
  for (std::int64_t i = begin; i < end; ++i) {
    T* s = memory.scores + (i - begin) * ld;
    std::fill(s + w.n_classes, s + ld, kNoClass<T>);
    const T less = static_cast<T>(log_sum_exp(s, ld));
    for (std::int64_t c = 0; c < w.n_classes; ++c) v[i * ld + c] = s[c] - less;
    std::fill(v + i * ld + w.n_classes, v + (i + 1) * ld, kNoLog<T>);
  }
}

// u <- u minus the lost part of every class, plus the distributed part (ClassShift); n classes.
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

// u <- exp(v), normalized in double.
template <class T>
inline void duals_of(const T* v, std::int32_t n_classes, double* u) {
  const std::int64_t ld = score_stride<double>(n_classes);
  for (std::int64_t c = 0; c < n_classes; ++c) u[c] = static_cast<double>(v[c]);
  std::fill(u + n_classes, u + ld, kNoLog<double>);
  softmax(u, ld, u);
}

// -sum_c u_c log u_c
inline double entropy_of(const double* u, std::int64_t n, std::int64_t y, double rest) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    if (c != y && u[c] > 0) sum -= u[c] * std::log(u[c]);
  }
  return u[y] > 0 ? sum - u[y] * log_own(rest, std::log(u[y])) : sum;
}

// u <- the row of the example in W(u), C_i (e_y - u)
template <class T>
inline void residual_of(const Examples<T>& examples, std::int64_t i, std::int64_t n, double rest,
                        double* u) {
  const double cost = examples.costs[i];
  for (std::int64_t c = 0; c < n; ++c) u[c] *= -cost;
  u[examples.labels[i]] = cost * rest;
  std::fill(u + n, u + score_stride<double>(static_cast<std::int32_t>(n)), 0.0);
}

// Values of an example:
// a bound of the errors of its computed scores (Higham 2002, sec. 3.1), and
// ||x||^2 without the appended feature.
struct RowBounds {
  double score_error, square;
};

template <class T>
inline RowBounds bounds_of(const Csr<T>& x, std::int64_t i, const double* largest) {
  constexpr int kSums = 4;  // sums in progress
  const Row<T> row = x.row(i);
  double sizes[kSums] = {}, squares[kSums] = {};
  const auto add = [&](int u, std::int64_t p) {
    const double value = std::abs(static_cast<double>(row.values[p]));
    sizes[u] += value * largest[row.indices[p]];
    squares[u] += value * value;
  };
  std::int64_t p = 0;
  for (; p + kSums <= row.nnz; p += kSums) {
    for (int u = 0; u < kSums; ++u) add(u, p + u);
  }
  for (; p < row.nnz; ++p) add(0, p);
  const double bias = std::abs(static_cast<double>(row.bias)) * largest[x.n_features];
  const double size = (sizes[0] + sizes[1]) + (sizes[2] + sizes[3]) + bias;
  return {kUnit * static_cast<double>(row.nnz + 8) * size,
          (squares[0] + squares[1]) + (squares[2] + squares[3])};
}

// sum_c u_c log(u_c / p_c), with p the softmax of s and loss = -log p_y: the term of P - D of an
// example. As u sums to 1, it is the loss - sum_{c != y} u_c (s_c - s_y) - the entropy of u.
// If u and p are near e_y, all three are small, and so is their rounding error. Returned: an upper
// bound of the term, and a bound of the rounding error of the loss, whose derivative by the scores
// is p - e_y, with 1 - p_y <= min(1, loss).
struct GapAndError {
  double gap, loss_error;
};

inline GapAndError gap_of(const double* s, std::int64_t n, std::int64_t y, const double* u,
                          double rest, double loss, double entropy, double score_error) {
  double moved = 0, largest = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    moved += u[c] * (s[c] - s[y]);
    largest = std::max(largest, std::abs(s[c]));
  }
  const double rounding = (32 + 2 * static_cast<double>(n)) * kUnit;
  const double of_scores = rounding * (1 + largest) + 2 * score_error;
  const double loss_error = of_scores * std::min(1.0, loss) + rounding * loss;
  const double gap = std::max(0.0, loss - moved - entropy);
  return {gap + loss_error + of_scores * rest + rounding * entropy, loss_error};
}

// The scores of the examples [begin, end) in double, including base scores.
template <class T, class U>
inline void put_double_scores(const Examples<T>& examples, const LogisticWeights<U>& w,
                              const LogisticMemory<double>& memory, std::int64_t begin,
                              std::int64_t end) {
  if constexpr (std::is_same_v<U, double>) {
    put_scores(examples, w, memory, begin, end);
  } else {
    const std::int64_t ld = score_stride<double>(w.n_classes);
    const WeightsView<T> held{w.data, w.n_features, w.n_classes, w.stride};
    for (std::int64_t i = begin; i < end; ++i) {
      double* scores = memory.scores + (i - begin) * ld;
      double_scores(held, examples.x.row(i), ld, scores);
      if (examples.base) add_base(examples.base, i, 0, w.n_classes, scores);
    }
  }
}

template <class T, class U>
LogisticSums logistic_inspect(const Examples<T>& examples, const LogisticWeights<U>& w,
                              const double* largest, const T* v, const ClassShift& by,
                              const LogisticMemory<double>& memory, std::int64_t begin,
                              std::int64_t end) {
  const std::int64_t ld = score_stride<double>(w.n_classes), v_ld = score_stride<T>(w.n_classes);
  const std::int64_t k = w.n_classes;
  LogisticSums found;
  put_double_scores(examples, w, memory, begin, end);
  for (std::int64_t i = begin; i < end; ++i) {
    double* s = memory.scores + (i - begin) * ld;
    double* u = memory.other + (i - begin) * ld;
    const std::int64_t y = examples.labels[i];
    const double cost = examples.costs[i];
    std::fill(s + k, s + ld, kNoClass<double>);
    const double log_sum = softmax(s, ld, u);
    double rest = rest_of(u, ld, y);
    const double loss = -log_own(rest, s[y] - log_sum);
    if (v) duals_of(v + i * v_ld, w.n_classes, u);
    shift(by, k, u);
    rest = rest_of(u, ld, y);
    const double entropy = entropy_of(u, k, y, rest);
    const RowBounds row = bounds_of(examples.x, i, largest);
    const GapAndError bounds = gap_of(s, k, y, u, rest, loss, entropy, row.score_error);
    found.loss.add(cost * loss);
    found.gap.add(cost * bounds.gap);
    found.loss_error += cost * bounds.loss_error;
    const double step = std::numbers::sqrt2 * cost * rest;  // at least ||C_i (e_y - u)||
    found.moved_by_features += step * std::sqrt(row.square);
    found.moved_by_bias += step * std::abs(static_cast<double>(examples.x.bias));
    residual_of(examples, i, k, rest, u);
  }
  return found;
}

template <class T>
void logistic_dual_sums(const Examples<T>& examples, const LogisticWeights<double>& shape,
                        const T* v, const ClassShift& by, const LogisticMemory<double>& memory,
                        std::int64_t begin, std::int64_t end) {
  const std::int64_t ld = score_stride<double>(shape.n_classes);
  const std::int64_t k = shape.n_classes, v_ld = score_stride<T>(shape.n_classes);
  pack_rows(examples.x, shape, memory, begin, end);
  for (std::int64_t i = begin; i < end; ++i) {
    double* u = memory.other + (i - begin) * ld;
    duals_of(v + i * v_ld, shape.n_classes, u);
    shift(by, k, u);
    residual_of(examples, i, k, rest_of(u, ld, examples.labels[i]), u);
  }
}

template <class T>
void logistic_add(const Csr<T>& x, const LogisticWeights<T>& sums, const LogisticMemory<T>& memory,
                  std::int64_t begin, std::int64_t end, const Range& features) {
  add_rows(x, sums, memory, begin, end, features);
}

template <class T>
void logistic_add_totals(const Csr<T>& x, const LogisticTotals& totals,
                         const LogisticMemory<double>& memory, std::int64_t begin, std::int64_t end,
                         const Range& features, const Range& classes) {
  if (totals.sums) add_rows(x, *totals.sums, memory, begin, end, features);
  if (!totals.left) return;
  const std::int64_t ld = score_stride<double>(totals.n_classes);
  for (std::int64_t b = 0; b < end - begin; ++b) {
    const double* u = memory.other + b * ld;
    for (std::int64_t c = classes.first; c < classes.last; ++c) totals.left[c].add(u[c]);
  }
}

// Sums feature by feature. If there are fewer rows than features, the steps of all rows stay in the
// caches, and an array like W is written once, from its first row to its last row.
inline constexpr std::int64_t kStepsAhead = 8;  // rows of a feature ahead, for prefetching steps

// out += sum_p x_p r_p for V vectors of classes, in the order of p; r_p is the step of row(p).
template <int V, class RowAt, class ValueAt>
inline void add_entries(std::int64_t n, RowAt row, ValueAt value, const double* steps,
                        std::int64_t ld, double* out) {
  constexpr std::int64_t kL = kLanes<double>;
  Vector<double> sum[V];
  for (int v = 0; v < V; ++v) sum[v] = load(out + v * kL);
  for (std::int64_t p = 0; p < n; ++p) {
    if (p + kStepsAhead < n) {
      const double* next = steps + row(p + kStepsAhead) * ld;
      for (std::int64_t c = 0; c < V * kL; c += 8) __builtin_prefetch(next + c);
    }
    const double x = value(p);
    const double* r = steps + row(p) * ld;
    for (int v = 0; v < V; ++v) sum[v] += x * load(r + v * kL);
  }
  for (int v = 0; v < V; ++v) store(out + v * kL, sum[v]);
}

// The sum for all `ld` classes.
template <class RowAt, class ValueAt>
inline void add_all_classes(std::int64_t n, RowAt row, ValueAt value, const double* steps,
                            std::int64_t ld, double* out) {
  constexpr std::int64_t kL = kLanes<double>;
  std::int64_t c = 0;
  for (; c + 8 * kL <= ld; c += 8 * kL) add_entries<8>(n, row, value, steps + c, ld, out + c);
  for (; c + 4 * kL <= ld; c += 4 * kL) add_entries<4>(n, row, value, steps + c, ld, out + c);
  for (; c + 2 * kL <= ld; c += 2 * kL) add_entries<2>(n, row, value, steps + c, ld, out + c);
  for (; c < ld; c += kL) add_entries<1>(n, row, value, steps + c, ld, out + c);
}

template <class T>
void logistic_add_columns(const Columns<T>& x, const LogisticWeights<double>& sums,
                          const double* steps, std::int64_t n_rows, const Range& features) {
  const std::int64_t ld = score_stride<double>(sums.n_classes), d = x.n_features;
  for (std::int64_t j = features.first; j < std::min(features.last, d); ++j) {
    const std::int32_t* rows = x.rows + x.begins[j];
    const T* values = x.values + x.begins[j];
    add_all_classes(
        x.begins[j + 1] - x.begins[j],
        [=](std::int64_t p) { return static_cast<std::int64_t>(rows[p]); },
        [=](std::int64_t p) { return static_cast<double>(values[p]); }, steps, ld,
        sums.data + j * sums.stride);
  }
  if (features.last <= d || x.bias == 0) return;
  const double bias = static_cast<double>(x.bias);
  add_all_classes(
      n_rows, [](std::int64_t i) { return i; }, [bias](std::int64_t) { return bias; }, steps, ld,
      sums.data + d * sums.stride);
}

}  // namespace manyclass::MANYCLASS_ISA
