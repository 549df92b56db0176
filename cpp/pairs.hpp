#pragma once
// What the kernels of class-partitioned training take, and the table through which one instruction
// set's copy of them is called. A bundle is some of the classes, with the examples of those
// classes.
#include <cstdint>
#include <span>

#include "kernels.hpp"

namespace manyclass {

// W of the two bundles that meet, side by side: that of slot s has columns [s width, s width +
// n_classes[s]); the columns between are zero. Labels of examples and of z are such columns,
// kElsewhere for the examples of other bundles.
template <class T>
struct PairView {
  WeightsView<T> w;  // of 2 width columns
  std::int32_t width;
  std::int32_t n_classes[2];
};

// What some classes say of each example (Crammer-Singer), n numbers each.
struct SlackSurvey {
  double* largest;   // xi_ic of the classes c != y_i
  double* smallest;  // the same where z_ic > 0
  double* z_dot_xi;  // sum_c z_ic xi_ic
};

template <class T>
struct PairKernels {
  using Sweep = SweepResult (*)(const Examples<T>&, const PairView<T>&, DualLists<T>&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  Sweep full_sweep;    // examples of the two bundles, over all classes of both
  Sweep shrunk_sweep;  // over the non-zero z of each example, where that is cheaper
  // w_y . x of examples of the two bundles, to their places in `out`.
  void (*own_scores)(const Examples<T>&, const PairView<T>&, std::span<const std::int32_t> rows,
                     T* out);
  // Gap, loss and violation of examples of any bundle with the classes of these two, given w_y . x
  // of all examples; changes nothing.
  SweepResult (*inspect)(const Examples<T>&, const PairView<T>&, const T* own_scores,
                         const DualLists<T>&, Scratch<T>, std::int64_t begin, std::int64_t end);
  // w_c += a_ic x_i for the entries of row i of `a`, rows [begin, end).
  void (*add)(const Examples<T>&, const PairView<T>&, const DualLists<T>& a, Scratch<T>,
              std::int64_t begin, std::int64_t end);
  // Crammer-Singer (pair_simplex.hpp).
  SweepResult (*trade)(const Examples<T>&, const PairView<T>&, DualLists<T>& shares, Scratch<T>,
                       std::span<const std::int32_t> order, const std::uint8_t* scored,
                       std::int32_t* active);
  void (*survey)(const Examples<T>&, const PairView<T>&, const T* own_scores, const DualLists<T>&,
                 Scratch<T>, std::int64_t begin, std::int64_t end, SlackSurvey);
};

namespace baseline {
template <class T>
const PairKernels<T>& pair_kernels();
}
namespace avx2 {
template <class T>
const PairKernels<T>& pair_kernels();
}
namespace avx512 {
template <class T>
const PairKernels<T>& pair_kernels();
}

}  // namespace manyclass
