#pragma once
// The table of the kernels that visit examples if column k of W has a mean of the classes that
// ranks share (sum_to_zero/mean_follower.hpp). The mean is subtracted from every w_c.
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "subproblem/scratch.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// `Duals` is DualLists<T>, or DualLanes<T> if there are few classes.
template <class T, class Duals>
struct SharedKernels {
  // Like Kernels::Sweep (dual/kernels.hpp). A visit moves the mean by `drift` times its step's sum.
  using Sweep = SweepResult (*)(const Examples<T>&, const WeightsView<T>&, double drift, Duals&,
                                Scratch<T>, std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  Sweep full_sweep;
  Sweep shrunk_sweep;
};

}  // namespace manyclass
