#pragma once
// The training problem as the kernels see it: the formulation, X by rows, the examples; and what a
// pass over them returns.
#include <algorithm>
#include <cstdint>

#include "data/base_scores.hpp"
#include "data/loss.hpp"

namespace manyclass {

struct Formulation {
  bool relative;     // margins: relative (w_y - w_c) . x; else absolute, -w_c . x and +w_y . x
  bool others;       // targets: the classes c != y
  bool own;          // targets: the class y (absolute margins only)
  bool maximum;      // the largest loss of the targets counts; else their sum
  bool centred;      // sum_c w_c = 0 is enforced: W = U - mean_c u_c, U kept un-centred
  Loss loss;         // of a slack
  double gamma;      // margin asked of the others
  double gamma_own;  // margin asked of y
};

// Row i of X: nnz pairs (feature, value), and `bias`, the value of the appended constant
// feature d (0 = no intercept, nothing appended).
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

// Label of an example whose class is outside of this subset of the classes.
inline constexpr std::int32_t kElsewhere = -1;

// z (or sum z) counts as at its bound from this share of the bound on: within the rounding of
// stored z and of their sum.
template <class T>
inline constexpr double kAtBound = 1 - (sizeof(T) == 4 ? 1e-6 : 1e-12);

// The costs of the machines of one example: C_i, or C_i Delta(y_i, c) where costs of mistakes scale
// the losses (slack rescaling, of sums of losses under relative margins).
// Source: Tsochantaridis et al. 2005, sec. 2.2.1.
struct ExampleCosts {
  double all;             // C_i
  const double* factors;  // Delta(y_i, c), or null: 1

  [[gnu::always_inline]] double of(std::int32_t c) const {
    return factors ? all * factors[c] : all;
  }
  // The same for sums of terms of classes, before C_i multiplies losses or divides squares. Without
  // factors, every term is one expression with its sum.
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
  // z^2 less that before a step.
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
// what is added to their scores. With `factors`, a table of the same kind, losses are scaled; its
// padding is 1, as are the factors of classes that base scores exclude (kExcluded). With `sets`, of
// one-vs-rest, an example has several classes, or none: those whose bits are set, and all labels
// are kElsewhere.
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
  // Whether c is the class of example i, or one of them.
  [[gnu::always_inline]] bool owns(std::int64_t i, std::int32_t c) const {
    return sets ? (sets[i] >> c & 1) != 0 : labels[i] == c;
  }
};

// Classes of a problem with sets, at most.
inline constexpr std::int32_t kMaxInSets = 64;

// Classes and their changes; a step along x_i adds delta x_i to w_label.
struct Step {
  std::int32_t label;
  double delta;
};

// Sums over the visited examples, each taken just before its visit.
struct SweepResult {
  double gap = 0;                // sum_i loss_i - sum_c z_ic xi_ic (squared hinge: see tally)
  double loss = 0;               // sum_i loss_i, as of the primal
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
