#pragma once
// What the kernels of class-partitioned training take, and the table through which one instruction
// set's copy of them is called. A bundle is some of the classes, with the examples of those
// classes.
#include <cstdint>
#include <span>

#include "kernels.hpp"

namespace manyclass {

// W of the two bundles that meet, side by side: that of slot s has columns [s width, s width +
// n_classes[s]); the columns between are zero. Labels of examples and of z are such columns.
template <class T>
struct PairView {
  WeightsView<T> w;  // of 2 width columns
  std::int32_t width;
  std::int32_t n_classes[2];
};

// Which classes an example is held against: those of its own bundle, those of the other one.
struct Against {
  bool own;
  bool other;
};

template <class T>
struct PairKernels {
  using Sweep = SweepResult (*)(const Examples<T>&, const PairView<T>&, DualLists<T>&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  Sweep full_sweep;    // over all classes of both bundles
  Sweep shrunk_sweep;  // over the non-zero z of each example, where that is cheaper
  // Gap, loss and violation of some examples, as far as they come from some classes, to which z is
  // confined; changes nothing.
  SweepResult (*inspect)(const Examples<T>&, const PairView<T>&, Against, const DualLists<T>&,
                         Scratch<T>, std::span<const std::int32_t> rows);
  // W += W(z) of some examples.
  void (*add_duals)(const Examples<T>&, const PairView<T>&, const DualLists<T>&, Scratch<T>,
                    std::span<const std::int32_t> rows);
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
