#pragma once
// Sums over the classes of one example, before its block is solved.
#include <cstddef>

#include "data/loss.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/root_finding.hpp"

namespace manyclass::MANYCLASS_ISA {

// Summary of an example's coordinates and scores before its block is solved. "Others": the targets
// c != y with z = 0.
struct BlockSummary {
  std::size_t size = 0;           // coordinates in the block so far
  double offset = 0;              // xi_c = offset + s_c for c != y
  double xi_own = 0;              // xi_y, of absolute margins
  double sum_z = 0;               // sum_c z_c
  double sum_vz = 0;              // v^T z
  double z_dot_xi = 0;            // sum_c z_c xi_c
  double squares = 0;             // sum_c z_c^2
  double xi_others = -kInfinity;  // largest xi of the others
  double xi_max = -kInfinity;     // largest xi of the targets
  double xi_min = kInfinity;      // smallest xi with z > 0
  double losses = 0;              // sum of the targets' losses
  double violation = 0;           // largest violation of a coordinate (sum formulations)
};

// sum_c loss(s_c + offset); n is a multiple of the lanes.
template <class T>
inline double sum_of_losses(const T* s, std::size_t n, T offset, Loss loss) {
  Vector<T> sum = {};
  const Vector<T> zero = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    sum += loss.of_positive(maximum<T>(load(s + c) + offset, zero));
  }
  double total = 0;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) total += static_cast<double>(sum[lane]);
  return total;
}

}  // namespace manyclass::MANYCLASS_ISA
