#pragma once
// The tables of the kernels of the sequential dual method (dual/dense_sweep.hpp,
// dual/lane_sweep.hpp, dual/column_sweep.hpp).
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "certificate/gap_sums.hpp"
#include "data/examples.hpp"
#include "duals/dual_lanes.hpp"
#include "subproblem/scratch.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// `Duals` is the storage of z: DualLists<T>, or DualLanes<T> if there are few classes.
template <class T, class Duals>
struct Kernels {
  // Visit the examples `order`; write the examples that stay active to `active` (may be `order`).
  // Examples with a gap below `min_gap` are skipped.
  using Sweep = SweepResult (*)(const Examples<T>&, const WeightsView<T>&, Duals&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  using Inspect = GapSums (*)(const Examples<T>&, const WeightsView<T>&, const Duals&,
                              const CertifiedWeights&, Scratch<T>, std::int64_t begin,
                              std::int64_t end);
  Sweep full_sweep;    // over all classes
  Sweep shrunk_sweep;  // over the non-zero z of each example, if that is cheaper
  Inspect inspect;     // gap, loss and violation of rows [begin, end), in double; changes nothing
  // q of every row.
  void (*squared_norms)(const Csr<T>&, double* norms);
};

// The weights of a class, stored contiguously.
template <class T>
struct Column {
  T* data;            // weights of the features
  double* intercept;  // in double, because every visit changes it
  std::int32_t label;
};

template <class T>
struct ColumnKernels {
  // Visit the examples `order`; each visit updates only the z of one class.
  SweepResult (*sweep)(const Examples<T>&, const Column<T>&, DualLanes<T>&,
                       std::span<const std::int32_t> order, double min_gap, std::int32_t* active);
};

}  // namespace manyclass
