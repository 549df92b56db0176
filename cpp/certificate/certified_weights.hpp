#pragma once
// W as a certificate reads it.

namespace manyclass {

// What a certificate needs of W beside its numbers.
struct CertifiedWeights {
  const double* common;  // d + 1 numbers that are subtracted from every w_c, or null
  double norm;           // ||W||_F, which bounds the rounding of scores
};

}  // namespace manyclass
