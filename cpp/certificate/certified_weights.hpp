#pragma once
// W for certificates.

namespace manyclass {

// Properties of W that a certificate needs in addition to its numbers.
struct CertifiedWeights {
  const double* common;  // d + 1 numbers that are subtracted from every w_c, or null
  double norm;           // ||W||_F, which bounds the rounding of scores
};

}  // namespace manyclass
