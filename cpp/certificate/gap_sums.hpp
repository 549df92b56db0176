#pragma once
// Input and sums of a certificate pass over examples (certificate/gap.hpp).
#include <algorithm>

#include "simd/compensated_sum.hpp"

namespace manyclass {

// Properties of W that a certificate needs in addition to its values.
struct CertifiedWeights {
  const double* common;  // d + 1 numbers that are subtracted from every w_c, or null
  double norm;           // ||W||_F, which bounds the rounding of scores
};

// Sums and the largest violation.
struct GapSums {
  CompensatedSum gap;        // sum_i of upper bounds of the terms of P - D
  CompensatedSum loss;       // sum_i C_i loss_i
  CompensatedSum most_loss;  // sum_i of upper bounds of C_i loss_i
  double max_violation = 0;  // largest v_i (Keerthi et al. 2008, eq. 6)

  [[gnu::always_inline]] void add(const GapSums& part) {
    gap.add(part.gap);
    loss.add(part.loss);
    most_loss.add(part.most_loss);
    max_violation = std::max(max_violation, part.max_violation);
  }
};

}  // namespace manyclass
