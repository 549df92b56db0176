#pragma once
// Multinomial logistic regression, with u_i in the unit simplex of the k classes:
//
//   P(W) = 1/2 ||W||^2 + sum_i C_i (log sum_c exp(s_ic) - s_i,y_i),   s_ic = w_c . x_i + b_ic
//   D(u) = -1/2 ||W(u)||^2 - sum_i C_i (sum_c u_ic log u_ic + b_i,y_i - sum_c u_ic b_ic)
//   W(u) = sum_i C_i x_i (e_{y_i} - u_i)^T
//
//   P(W) - D(u) = 1/2 ||W - W(u)||^2
//                 + sum_i C_i (log sum_c exp(s_ic) + sum_c u_ic log u_ic - sum_c u_ic s_ic)
//
// Base scores b (data/base_scores.hpp) are 0 if there are none. Every term is at least 0. If
// intercepts are not regularized, u must also satisfy sum_i C_i (e_{y_i} - u_i) = 0, and ||.||
// excludes the intercepts. The kernels store v = log u. Sources: Yu, Huang, Lin, Machine
// Learning 85 (2011), sec. 3; Shalev-Shwartz, Zhang, JMLR 14 (2013).
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "simd/compensated_sum.hpp"

namespace manyclass {

// W, or an array with its shape: a row for each feature (weights/dense_weights.hpp) or each class
// (dense_rows/class_major.hpp). U is the type of W, T the type of X.
template <class U>
struct LogisticWeights {
  U* data;  // 64-byte aligned
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;
  bool class_major;
};

// Memory for a batch of kBatchRows examples, aligned to 64 bytes.
template <class U>
struct LogisticMemory {
  U* rows;    // kBatchRows x stride of a class-major W, or null
  U* gram;    // kBatchRows x kBatchRows; null in passes that do not change u
  U* scores;  // kBatchRows x score_stride
  U* other;   // (kBatchRows + 1) x score_stride; kBatchRows in passes
  U* values;  // as long as the longest row, if X has a different type
};

// Memory of the visits of a batch of a round (logistic/round_visits.hpp).
template <class U>
struct LogisticNotes {
  U* shift;       // score_stride
  U* log_u;       // score_stride
  double* slope;  // lower bound of D's slope along the batch's step, at the W of the round
};
// Dense rows and steps of a visited batch: n rows, each with the stride of W or of scores.
template <class U>
struct LogisticSteps {
  const U* rows;
  const U* steps;
  std::int64_t n;
};

// Neighboring features or classes [first, last).
struct Range {
  std::int64_t first, last;
};

// A change of u that makes sum_i C_i (e_{y_i} - u_i) zero: each class loses a share of its u, and
// the lost part of an example is distributed over its classes in shares that sum to 1.
struct ClassShift {
  const double* leaves = nullptr;  // null: no change
  const double* enters = nullptr;
};

// X by feature: the rows of feature j, ascending, and its numbers begin at begins[j].
template <class T>
struct Columns {
  const std::int64_t* begins;  // d + 1
  const std::int32_t* rows;
  const T* values;
  T bias;
  std::int64_t n_features;
};

struct LogisticSums {
  CompensatedSum loss;    // sum_i C_i (log sum_c exp(s_ic) - s_i,y_i)
  CompensatedSum gap;     // the sum of upper bounds of the terms of P - D
  double loss_error = 0;  // bounds the rounding of the terms of `loss`
  // Upper bounds of sum_i ||x_i|| ||C_i (e_{y_i} - u_i)||, of the features and the appended one.
  double moved_by_features = 0, moved_by_bias = 0;

  void add(const LogisticSums& other) {
    loss.add(other.loss);
    gap.add(other.gap);
    loss_error += other.loss_error;
    moved_by_features += other.moved_by_features;
    moved_by_bias += other.moved_by_bias;
  }
};

// The sums of a certificate; null: not needed.
struct LogisticTotals {
  const LogisticWeights<double>* sums;  // += W(u)
  CompensatedSum* left;                 // += C_i (e_y - u_i)
  std::int32_t n_classes;
};

template <class T>
struct LogisticKernels {
  // Maximize D over the u of each example of `order`, one after the other, and update W (a row for
  // each feature) and v. `fresh`: u_i = e_{y_i}, and v is not read. Returned: the sums of the
  // terms of P - D and of the losses, each just before the example's step. `v` has rows of
  // score_stride numbers.
  SweepResult (*visit)(const Examples<T>&, const LogisticWeights<T>&, T* v, bool fresh,
                       const LogisticMemory<T>&, std::span<const std::int32_t> order);
  // Visits of a batch of dense rows. `prepare` computes the values that depend only on v, for the
  // examples [first, last). `visit_batch` needs the scores and `gram`, the products of each row and
  // the rows before it; it replaces the scores by the steps C_i (u_before - u). `update` adds the
  // steps to classes [first, last) of a class-major W.
  void (*prepare)(std::int32_t n_classes, const T* v, bool fresh, const LogisticMemory<T>&,
                  std::span<const std::int32_t> batch, std::int64_t first, std::int64_t last);
  SweepResult (*visit_batch)(const Examples<T>&, std::int32_t n_classes, T* v, bool fresh,
                             const LogisticMemory<T>&, std::span<const std::int32_t> batch);
  void (*update)(const LogisticWeights<T>&, const LogisticMemory<T>&, std::int64_t n,
                 std::int64_t first, std::int64_t last);
  // For a batch of a round (logistic/round_visits.hpp).
  SweepResult (*visit_apart)(const Examples<T>&, std::int32_t n_classes, T* v, bool fresh,
                             const LogisticMemory<T>&, const LogisticNotes<T>&,
                             std::span<const std::int32_t> batch);
  double (*add_round)(std::span<const LogisticSteps<T>>, const LogisticWeights<T>&, const Tile&,
                      double factor);
  void (*shorten)(std::int32_t n_classes, T* v, const LogisticMemory<T>&,
                  std::span<const std::int32_t> batch, double theta);
  // Passes over the examples [begin, end) of a batch. The dense rows of a class-major W are packed.
  //
  // memory.other = C_i (p_i - e_{y_i}); `add` sums the gradient from it. Returns sum_i C_i loss_i.
  double (*gradient)(const Examples<T>&, const LogisticWeights<T>&, const LogisticMemory<T>&,
                     std::int64_t begin, std::int64_t end);
  // memory.other, from which `add` sums the product of the Hessian of the losses and `direction`.
  void (*curvature)(const Examples<T>&, const LogisticWeights<T>&,
                    const LogisticWeights<T>& direction, const LogisticMemory<T>&,
                    std::int64_t begin, std::int64_t end);
  // v = log softmax of the scores at W.
  void (*log_softmax)(const Examples<T>&, const LogisticWeights<T>&, T* v, const LogisticMemory<T>&,
                      std::int64_t begin, std::int64_t end);
  // In double, at W and u = exp(v) (null: softmax of the scores), shifted. `largest`: max_c |w_jc|
  // of the d + 1 features, to bound rounding of scores. memory.other = C_i (e_{y_i} - u_i).
  LogisticSums (*inspect)(const Examples<T>&, const LogisticWeights<double>&, const double* largest,
                          const T* v, const ClassShift&, const LogisticMemory<double>&,
                          std::int64_t begin, std::int64_t end);
  // `inspect` at a W of type T with a row for each feature; intercepts are bias * w, rounded to T.
  LogisticSums (*inspect_held)(const Examples<T>&, const LogisticWeights<T>&, const double* largest,
                               const T* v, const ClassShift&, const LogisticMemory<double>&,
                               std::int64_t begin, std::int64_t end);
  // memory.other for u = exp(v), shifted; `shape` has the layout.
  void (*dual_sums)(const Examples<T>&, const LogisticWeights<double>& shape, const T* v,
                    const ClassShift&, const LogisticMemory<double>&, std::int64_t begin,
                    std::int64_t end);
  // sums += sum_i x_i r_i^T over the examples [begin, end), in order, with the r_i and dense rows
  // that the passes stored, for a range of the d + 1 features (ascending in every row of X unless
  // the range has all) or of the columns (whole blocks of 64 bytes) of class-major sums.
  void (*add)(const Csr<T>&, const LogisticWeights<T>& sums, const LogisticMemory<T>&,
              std::int64_t begin, std::int64_t end, const Range& features);
  void (*add_totals)(const Csr<T>&, const LogisticTotals&, const LogisticMemory<double>&,
                     std::int64_t begin, std::int64_t end, const Range& features,
                     const Range& classes);
  // sums += sum_i x_i r_i^T over all rows, in order, for a range of the d + 1 features; `sums` has
  // a row for each feature. `steps` has r_i, rows of score_stride numbers.
  void (*add_columns)(const Columns<T>&, const LogisticWeights<double>& sums, const double* steps,
                      std::int64_t n_rows, const Range& features);
};

}  // namespace manyclass
