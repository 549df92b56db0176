#pragma once
// What the kernels of class-partitioned training take, and the table through which one instruction
// set's copy of them is called. A bundle is some of the classes, with the examples of those
// classes.
#include <cstdint>
#include <span>

#include "kernels.hpp"

namespace manyclass {

// W of two bundles that meet: the examples are of the one, the classes that they are held against
// of the other. One bundle may be both.
template <class T>
struct PairView {
  WeightsView<T> own;     // the bundle of every y_i; labels are numbers within it
  WeightsView<T> others;  // the bundle of the classes c

  bool one() const { return own.data == others.data; }
};

// z has one list per example, over the classes of `others`.
template <class T>
struct PairKernels {
  using Sweep = SweepResult (*)(const Examples<T>&, const PairView<T>&, DualLists<T>&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  Sweep full_sweep;    // over all classes of `others`
  Sweep shrunk_sweep;  // over the non-zero z of each example, where that is cheaper
  SweepResult (*inspect)(const Examples<T>&, const PairView<T>&, const DualLists<T>&, Scratch<T>,
                         std::int64_t begin, std::int64_t end);
  void (*add_duals)(const Examples<T>&, const PairView<T>&, const DualLists<T>&, Scratch<T>,
                    std::int64_t begin, std::int64_t end);
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
