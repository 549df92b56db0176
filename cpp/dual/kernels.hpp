#pragma once
// What the kernels take and return, and the table through which one instruction set's copy of
// them is called.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "certificate/coefficient_blocks.hpp"
#include "data/csr.hpp"
#include "data/formulation.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"

namespace manyclass {

// y_i where the classes at hand are some of all (one-vs-rest) and y_i is not among them.
inline constexpr std::int32_t kElsewhere = -1;

// z (or sum z) counts as at its bound within the rounding of many stored z and their sum.
template <class T>
inline constexpr double kAtBound = 1 - (sizeof(T) == 4 ? 1e-6 : 1e-12);

// The training examples: rows x_i, classes y_i, squared norms q_i, costs C_i; what is wanted.
template <class T>
struct Examples {
  Formulation formulation;
  Csr<T> x;
  const std::int32_t* labels;
  const double* norms;
  const double* costs;
};

// W as memory; weights/dense_weights.hpp describes its layout.
template <class T>
struct WeightsView {
  T* data;
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;
};

// Classes and their changes; a step along x_i adds delta x_i to w_label.
struct Step {
  std::int32_t label;
  double delta;
};

// One dual variable of the block subproblem (subproblem/root_finding.hpp).
struct Coordinate {
  std::int32_t label;  // the class c
  double z;            // before the step
  double xi;           // gamma_c - mu_c(x, y)
  double v;            // +1 or -1
  double b;
  double z_new;  // after it
};

// Memory for one visit at a time; k is the number of classes.
template <class T>
struct Scratch {
  T* scores;                // stride, aligned to 64 bytes
  T* dense_step;            // stride zeros, aligned to 64 bytes
  Coordinate* block;        // k + 1
  Step* step;               // k + 2
  std::int32_t* labels;     // k + 2
  double* exact = nullptr;  // stride, aligned to 64 bytes; what certificates are computed in
  T* carry = nullptr;  // stride; low digits of the intercepts (weights/dense_weights.hpp), or null
};

// W as a certificate takes it: less what is common to all classes.
struct CertifiedWeights {
  const double* common;  // d + 1 numbers that are taken off every w_c, or null
  double norm;           // ||W||_F, which bounds the rounding of scores
};

// How far W is from W(z).
struct RebuildError {
  double squared = 0;    // ||W - computed W(z)||^2
  double magnitude = 0;  // sum_ic |a_ic| ||x_i||

  void add(const RebuildError& other) {
    squared += other.squared;
    magnitude += other.magnitude;
  }
  // Upper bound of ||W - W(z)||: sums of n terms in double, and of the mean that is taken off.
  double bound(std::int64_t n_rows) const {
    constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
    return std::sqrt(squared) + 2 * static_cast<double>(n_rows + 2) * kUnit * magnitude;
  }
};

// Called now and then; throws to end what is under way.
using Poll = std::function<void()>;

// Sums over the visited examples, each taken just before its visit.
struct SweepResult {
  double gap = 0;                // sum_i loss_i - sum_c z_ic xi_ic (squared hinge: see tally)
  double loss = 0;               // sum_i loss_i, as of the primal
  double dual_gain = 0;          // by how much the visits raised the dual objective
  double max_violation = 0;      // largest v_i (Keerthi et al. 2008, eq. 6)
  std::int64_t evaluations = 0;  // scores w_c . x computed
  std::int64_t steps = 0;        // visits that solved their block
  std::int64_t n_active = 0;     // examples worth visiting in the next shrunk loop
};

// `Duals` is how z is kept: DualLists<T>, or DualLanes<T> where the classes are few.
template <class T, class Duals>
struct Kernels {
  // Visit the examples `order`; write those that stay active to `active` (`order` itself will do).
  // Examples with a gap below `min_gap` are passed over.
  using Sweep = SweepResult (*)(const Examples<T>&, const WeightsView<T>&, Duals&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  using Inspect = SweepResult (*)(const Examples<T>&, const WeightsView<T>&, const Duals&,
                                  const CertifiedWeights&, Scratch<T>, std::int64_t begin,
                                  std::int64_t end);
  Sweep full_sweep;    // over all classes
  Sweep shrunk_sweep;  // over the non-zero z of each example, where that is cheaper
  Inspect inspect;     // gap, loss and violation of rows [begin, end), in double; changes nothing
  // q of every row.
  void (*squared_norms)(const Csr<T>&, double* norms);
};

// Classes whose sums in double of one feature fill 64 bytes.
inline constexpr std::int64_t kBlockClasses = 8;

// The loops that rebuild a block of classes of W (certificate/rebuild.hpp): `sums` has a row of
// kBlockClasses numbers for every feature and, last, the intercept.
template <class T>
struct RebuildKernels {
  // w_c += a_ic x_i, classes c >= first of the block; returns sum_ic |a_ic| ||x_i||.
  double (*add_block)(const Examples<T>&, std::span<const Coefficient> entries, std::int32_t first,
                      double* sums);
  // Round to the classes of W from `first` on, less `common` (or null); zeros where W has none.
  // Returns the sum of the squared errors.
  double (*store_block)(const double* sums, const double* common, const WeightsView<T>&,
                        std::int64_t first);
};

namespace baseline {
template <class T, class Duals>
const Kernels<T, Duals>& kernels();
template <class T>
const RebuildKernels<T>& rebuild_kernels();
}  // namespace baseline
namespace avx2 {
template <class T, class Duals>
const Kernels<T, Duals>& kernels();
template <class T>
const RebuildKernels<T>& rebuild_kernels();
}  // namespace avx2
namespace avx512 {
template <class T, class Duals>
const Kernels<T, Duals>& kernels();
template <class T>
const RebuildKernels<T>& rebuild_kernels();
}  // namespace avx512

}  // namespace manyclass
