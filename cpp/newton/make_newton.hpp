#pragma once
// A proximal Newton method (newton/proximal_newton.hpp) for the examples of a problem.
#include <memory>

#include "data/examples.hpp"
#include "data/require.hpp"
#include "dual/problem.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/kernel_table.hpp"
#include "newton/proximal_newton.hpp"
#include "simd/dispatch.hpp"

namespace manyclass {

// Works on z, the proximal centre. The problem and z must outlive it.
template <class T>
std::unique_ptr<ProximalNewton<T>> make_newton(const Problem<T>& problem, DualLanes<T>& z,
                                               int n_threads) {
  require(1 <= n_threads && n_threads <= kMaxThreads, "n_threads is out of range");
  require(z.n_rows() == problem.n_rows() && z.n_classes() == problem.n_classes(),
          "z must have one list per example, over the same classes");
  const Examples<T>& examples = problem.examples();
  require(z.fits(z.stride(), examples.formulation), "there are too many classes");
  require(z.stride() - z.n_classes() < z.kBlock, "z must have no column for the mean");
  const NewtonKernels<T>& kernels =
      kernels_for<NewtonKernelsByBlocks<T>>(problem.instruction_set()).of(z.stride() / z.kBlock);
  return std::make_unique<ProximalNewton<T>>(examples, kernels, z, n_threads, problem.poll());
}

}  // namespace manyclass
