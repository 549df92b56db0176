#pragma once
// The tables of the kernels of the sequential dual method (dual/dense_sweep.hpp,
// dual/lane_sweep.hpp, dual/column_sweep.hpp, dual/round_sweep.hpp).
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "certificate/gap_sums.hpp"
#include "data/examples.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/scratch.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// `Duals` is the storage of z: DualLists<T>, or DualLanes<T> where the classes are few.
template <class T, class Duals>
struct Kernels {
  // Visit the examples `order`; write those that stay active to `active` (may be `order`). Examples
  // with a gap below `min_gap` are passed over.
  using Sweep = SweepResult (*)(const Examples<T>&, const WeightsView<T>&, Duals&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  using Inspect = GapSums (*)(const Examples<T>&, const WeightsView<T>&, const Duals&,
                              const CertifiedWeights&, Scratch<T>, std::int64_t begin,
                              std::int64_t end);
  Sweep full_sweep;    // over all classes
  Sweep shrunk_sweep;  // over the non-zero z of each example, where that is cheaper
  Inspect inspect;     // gap, loss and violation of rows [begin, end), in double; changes nothing
  // q of every row.
  void (*squared_norms)(const Csr<T>&, double* norms);
};

// A batch of examples of a round (dual/round_sweep.hpp), and what its visits leave. The arrays are the
// caller's.
template <class T>
struct RoundRows {
  std::span<const std::int32_t> order;
  Step* steps;            // order.size() x (n_classes + 2), example after example
  std::size_t* ends;      // where the steps of each example end
  DualEntry<T>* old;      // order.size() x n_classes: z before the visits
  std::size_t* old_ends;  // where the old z of each example ends
  bool* moved;            // whether the example's z moved
  T* intercepts;          // stride of W, aligned to 64 bytes: those that the next visit sees
  double* slope;          // of D along the batch's step, at the W of the round
  double* gain;           // of D + 1/2 ||W||^2 by the batch's step
};

// Some features of a row, and its step.
template <class T>
struct RowPart {
  Row<T> row;
  std::span<const Step> step;
};

template <class T>
struct RoundKernels {
  // Visit the examples of a batch, all from the same W, which stays.
  using Visit = SweepResult (*)(const Examples<T>&, const WeightsView<T>&, DualLists<T>&,
                                Scratch<T>, const RoundRows<T>&, double min_gap,
                                std::int32_t* active);
  Visit full;    // over all classes
  Visit shrunk;  // over the non-zero z of each example, where that is cheaper
  // W += factor sum_i x_i delta_i^T for parts of rows. `carry`: low digits of the intercepts, or null;
  // `zeros` are w.stride. Returned: by how much ||W||^2 grew.
  double (*add)(const WeightsView<T>&, T* carry, std::span<const RowPart<T>>, double factor,
                T* zeros);
};

// The weights of a class, one after the other.
template <class T>
struct Column {
  T* data;            // of the features
  double* intercept;  // in double: every visit changes it
  std::int32_t label;
};

template <class T>
struct ColumnKernels {
  // Visit the examples `order`, of each the z of one class alone.
  SweepResult (*sweep)(const Examples<T>&, const Column<T>&, DualLanes<T>&,
                       std::span<const std::int32_t> order, double min_gap, std::int32_t* active);
};

}  // namespace manyclass
