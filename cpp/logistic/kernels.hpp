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
// Base scores b (data/base_scores.hpp) are 0 where there are none. Every term is at least 0. Where
// intercepts are not regularized, u must also satisfy sum_i C_i (e_{y_i} - u_i) = 0, and ||.|| leaves
// them out. Sources: Yu, Huang, Lin, Machine
// Learning 85 (2011), sec. 3; Shalev-Shwartz, Zhang, JMLR 14 (2013). Kept is v = log u.
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "simd/compensated_sum.hpp"

namespace manyclass {

// W, or an array of its shape: a row for each feature (weights/dense_weights.hpp) or for each class
// (dense_rows/class_major.hpp). U is its type, T that of X.
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
  U* rows;    // kBatchRows x stride of a class-major W, else null
  U* gram;    // kBatchRows x kBatchRows; null in passes that change no u
  U* scores;  // kBatchRows x score_stride
  U* other;   // (kBatchRows + 1) x score_stride; kBatchRows in passes
  U* values;  // as many as the longest row has, of another type than X
};

// Memory of the visits of a batch of a round (logistic/round_visits.hpp).
template <class U>
struct LogisticNotes {
  U* shift;       // score_stride
  U* log_u;       // score_stride
  double* slope;  // of D along the batch's step at the W of the round, at least
};
// Dense rows and steps of a visited batch: n rows of the stride of W, and of scores.
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

// A change of u that makes sum_i C_i (e_{y_i} - u_i) zero: each class gives up a share of its u,
// and what an example's classes give up is dealt out in shares that sum to 1.
struct ClassShift {
  const double* leaves = nullptr;  // null: no change
  const double* enters = nullptr;
};

struct LogisticSums {
  CompensatedSum loss;    // sum_i C_i (log sum_c exp(s_ic) - s_i,y_i)
  CompensatedSum gap;     // the sum of upper bounds of the terms of P - D
  double loss_error = 0;  // bounds the rounding of the terms of `loss`
  // Upper bounds of sum_i ||x_i|| ||C_i (e_{y_i} - u_i)||, x_i without and of the appended feature.
  double moved_by_features = 0, moved_by_bias = 0;

  void add(const LogisticSums& other) {
    loss.add(other.loss);
    gap.add(other.gap);
    loss_error += other.loss_error;
    moved_by_features += other.moved_by_features;
    moved_by_bias += other.moved_by_bias;
  }
};

// What a certificate adds up; null: not wanted.
struct LogisticTotals {
  const LogisticWeights<double>* sums;  // += W(u)
  CompensatedSum* left;                 // += C_i (e_y - u_i)
  std::int32_t n_classes;
};

template <class T>
struct LogisticKernels {
  // Maximize D over the u of each example of `order`, one after the other; W (a row for each
  // feature) and v follow. `fresh`: u_i = e_{y_i}, and v is not read. Returned: the sums of the
  // terms of P - D and of the losses, each just before the example's step. `v` has rows of
  // score_stride numbers.
  SweepResult (*visit)(const Examples<T>&, const LogisticWeights<T>&, T* v, bool fresh,
                       const LogisticMemory<T>&, std::span<const std::int32_t> order);
  // The same for a batch of dense rows, of which `prepare` computes what depends on v alone, for
  // examples [first, last). Given their scores and `gram`, the products of each with those before
  // it; the scores become the steps C_i (u_before - u). `update` adds them to classes [first, last)
  // of a class-major W.
  void (*prepare)(std::int32_t n_classes, const T* v, bool fresh, const LogisticMemory<T>&,
                  std::span<const std::int32_t> batch, std::int64_t first, std::int64_t last);
  SweepResult (*visit_batch)(const Examples<T>&, std::int32_t n_classes, T* v, bool fresh,
                             const LogisticMemory<T>&, std::span<const std::int32_t> batch);
  void (*update)(const LogisticWeights<T>&, const LogisticMemory<T>&, std::int64_t n,
                 std::int64_t first, std::int64_t last);
  // Of a batch of a round (logistic/round_visits.hpp).
  SweepResult (*visit_apart)(const Examples<T>&, std::int32_t n_classes, T* v, bool fresh,
                             const LogisticMemory<T>&, const LogisticNotes<T>&,
                             std::span<const std::int32_t> batch);
  double (*add_round)(std::span<const LogisticSteps<T>>, const LogisticWeights<T>&, const Tile&,
                      double factor);
  void (*shorten)(std::int32_t n_classes, T* v, const LogisticMemory<T>&,
                  std::span<const std::int32_t> batch, double theta);
  // Passes over the examples [begin, end) of a batch. The dense rows of a class-major W are packed.
  //
  // memory.other = C_i (p_i - e_{y_i}), of which `add` makes the gradient. Returned: sum_i C_i loss_i.
  double (*gradient)(const Examples<T>&, const LogisticWeights<T>&, const LogisticMemory<T>&,
                     std::int64_t begin, std::int64_t end);
  // memory.other = what `add` makes the Hessian of the losses at W times `direction` of.
  void (*curvature)(const Examples<T>&, const LogisticWeights<T>&,
                    const LogisticWeights<T>& direction, const LogisticMemory<T>&,
                    std::int64_t begin, std::int64_t end);
  // v = log softmax of the scores at W.
  void (*log_softmax)(const Examples<T>&, const LogisticWeights<T>&, T* v, const LogisticMemory<T>&,
                      std::int64_t begin, std::int64_t end);
  // In double, at W and u = exp(v) (null: softmax of the scores), shifted. `largest`: max_c |w_jc|
  // of the d + 1 features, which bounds the rounding of the scores. memory.other = C_i (e_{y_i} - u_i).
  LogisticSums (*inspect)(const Examples<T>&, const LogisticWeights<double>&, const double* largest,
                          const T* v, const ClassShift&, const LogisticMemory<double>&,
                          std::int64_t begin, std::int64_t end);
  // The same at a W of type T with a row for each feature; the intercepts are bias * w, rounded to T.
  LogisticSums (*inspect_held)(const Examples<T>&, const LogisticWeights<T>&, const double* largest,
                               const T* v, const ClassShift&, const LogisticMemory<double>&,
                               std::int64_t begin, std::int64_t end);
  // memory.other of u = exp(v), shifted; `shape` has the layout.
  void (*dual_sums)(const Examples<T>&, const LogisticWeights<double>& shape, const T* v,
                    const ClassShift&, const LogisticMemory<double>&, std::int64_t begin,
                    std::int64_t end);
  // sums += sum_i x_i r_i^T over the examples [begin, end), in their order, with the r_i and the dense
  // rows that the passes have left: a range of the d + 1 features, ascending in every row of X if it
  // is not all, or of the columns (whole blocks of 64 bytes) of class-major sums.
  void (*add)(const Csr<T>&, const LogisticWeights<T>& sums, const LogisticMemory<T>&,
              std::int64_t begin, std::int64_t end, const Range& features);
  void (*add_totals)(const Csr<T>&, const LogisticTotals&, const LogisticMemory<double>&,
                     std::int64_t begin, std::int64_t end, const Range& features,
                     const Range& classes);
};

}  // namespace manyclass
