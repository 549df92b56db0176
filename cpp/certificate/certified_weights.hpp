#pragma once
// W as a certificate reads it.

namespace manyclass {

// W as a certificate takes it: less what is common to all classes.
struct CertifiedWeights {
  const double* common;  // d + 1 numbers that are taken off every w_c, or null
  double norm;           // ||W||_F, which bounds the rounding of scores
};

}  // namespace manyclass
