#pragma once
// A proximal Newton method (newton/proximal_newton.hpp) for the examples of a trainer.
#include <memory>

#include "data/examples.hpp"
#include "data/require.hpp"
#include "dual/training_set.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/kernel_table.hpp"
#include "newton/proximal_newton.hpp"
#include "simd/dispatch.hpp"

namespace manyclass {

// Works on z, the proximal centre. The training set and z must outlive it.
template <class T>
std::unique_ptr<ProximalNewton<T>> make_newton(const TrainingSet<T>& training_set, DualLanes<T>& z,
                                               int n_threads) {
  require(1 <= n_threads && n_threads <= kMaxThreads, "n_threads is out of range");
  require(z.n_rows() == training_set.n_rows() && z.n_classes() == training_set.n_classes(),
          "z must have one list per example, over the same classes");
  const Examples<T>& examples = training_set.examples();
  require(z.fits(z.stride(), examples.formulation), "there are too many classes");
  require(z.stride() - z.n_classes() < z.kBlock, "z must have no column for the mean");
  const NewtonKernels<T>& kernels =
      kernels_for<NewtonKernelsByBlocks<T>>(training_set.instruction_set())
          .of(z.stride() / z.kBlock);
  return std::make_unique<ProximalNewton<T>>(examples, kernels, z, n_threads, training_set.poll());
}

}  // namespace manyclass
