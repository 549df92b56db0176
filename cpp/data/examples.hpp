#pragma once
// The training problem as the kernels use it: the formulation, X by rows, the examples; and the
// result of a pass over the examples.
#include <algorithm>
#include <cstdint>

#include "data/base_scores.hpp"
#include "data/loss.hpp"

namespace manyclass {

struct Formulation {
  bool relative;     // margins: relative (w_y - w_c) . x; else absolute, -w_c . x and +w_y . x
  bool others;       // targets: the classes c != y
  bool own;          // targets: the class y (absolute margins only)
  bool maximum;      // the largest loss of the targets; else the sum of their losses
  bool centred;      // sum_c w_c = 0 is enforced: W = U - mean_c u_c, with U not centered
  Loss loss;         // as a function of a slack
  double gamma;      // required margin of the other classes
  double gamma_own;  // required margin of y
};

// Row i of X: nnz pairs (feature, value), and `bias`, the value of the appended constant feature d
// (0: no intercept, nothing is appended).
template <class T>
struct Row {
  const std::int32_t* indices;
  const T* values;
  std::int64_t nnz;
  T bias;
};

template <class T>
struct Csr {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  const T* values;
  std::int64_t n_rows;
  std::int64_t n_features;
  T bias;
  bool is_dense = false;

  [[gnu::always_inline]] Row<T> row(std::int64_t i) const {
    const std::int64_t begin = indptr[i];
    return {is_dense ? indices : indices + begin, values + begin, indptr[i + 1] - begin, bias};
  }
};

// Label of an example whose class is not in this subset of the classes.
inline constexpr std::int32_t kElsewhere = -1;

// z (or sum z) counts as at its bound from this fraction of the bound: within the rounding error of
// stored z and of their sum.
template <class T>
inline constexpr double kAtBound = 1 - (sizeof(T) == 4 ? 1e-6 : 1e-12);

// The costs of the classes of one example: C_i, or C_i Delta(y_i, c) if costs of mistakes scale the
// losses (slack rescaling, for sums of losses with relative margins).
// Source: Tsochantaridis et al. 2005, sec. 2.2.1.
struct ExampleCosts {
  double all;             // C_i
  const double* factors;  // Delta(y_i, c), or null for 1

  [[gnu::always_inline]] double of(std::int32_t c) const {
    return factors ? all * factors[c] : all;
  }
  // Add to sums over classes, before C_i multiplies losses or divides squares. Without factors,
  // each term is added in the same expression.
  [[gnu::always_inline]] void add_loss(std::int32_t c, double loss, double& sum) const {
    if (factors) [[unlikely]] {
      sum += factors[c] * loss;
    } else {
      sum += loss;
    }
  }
  [[gnu::always_inline]] void add_square(std::int32_t c, double z, double& sum) const {
    if (factors) [[unlikely]] {
      sum += z * (z / factors[c]);
    } else {
      sum += z * z;
    }
  }
  // z^2 minus its value before a step.
  [[gnu::always_inline]] void add_change(std::int32_t c, double z, double before,
                                         double& sum) const {
    if (factors) [[unlikely]] {
      sum += (z - before) * ((z + before) / factors[c]);
    } else {
      sum += z * z - before * before;
    }
  }
};

// The training examples: rows x_i, classes y_i, squared norms q_i, costs C_i, the formulation, and
// the base scores. `factors`, a table like the base scores, scale the losses. The padding of the
// table is 1, and so are the factors of classes that base scores exclude (kExcluded). `sets` (for
// one-vs-rest) are the classes of each example, as bits; an example may have several classes or
// none. With `sets`, all labels are kElsewhere.
template <class T>
struct Examples {
  Formulation formulation;
  Csr<T> x;
  const std::int32_t* labels;
  const double* norms;
  const double* costs;
  BaseScores<T> base{};
  const std::uint64_t* sets = nullptr;
  BaseScores<T> factors{};

  [[gnu::always_inline]] ExampleCosts costs_of(std::int64_t i) const {
    return {costs[i], factors.exact_of(i)};
  }
  // Whether c is a class of example i.
  [[gnu::always_inline]] bool owns(std::int64_t i, std::int32_t c) const {
    return sets ? (sets[i] >> c & 1) != 0 : labels[i] == c;
  }
};

// Largest number of classes of a problem with sets.
inline constexpr std::int32_t kMaxInSets = 64;

// Classes and their changes; a step along x_i adds delta x_i to w_label.
struct Step {
  std::int32_t label;
  double delta;
};

// Sums over the visited examples, each evaluated just before its visit.
struct SweepResult {
  double gap = 0;                // sum_i loss_i - sum_c z_ic xi_ic (squared hinge: see tally)
  double loss = 0;               // sum_i loss_i, as in the primal
  double dual_gain = 0;          // gain of the dual objective
  double max_violation = 0;      // largest v_i (Keerthi et al. 2008, eq. 6)
  std::int64_t evaluations = 0;  // scores w_c . x computed
  std::int64_t steps = 0;        // visits that solved their block
  std::int64_t n_active = 0;     // examples that stay active

  void add(const SweepResult& part) {
    gap += part.gap;
    loss += part.loss;
    dual_gain += part.dual_gain;
    max_violation = std::max(max_violation, part.max_violation);
    evaluations += part.evaluations;
    steps += part.steps;
    n_active += part.n_active;
  }
};

}  // namespace manyclass
