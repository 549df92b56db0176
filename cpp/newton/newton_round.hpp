#pragma once
// Result of a round of the proximal Newton method.
#include <cstdint>

namespace manyclass {

// Gap, loss and violation are of W and zbar after the round.
struct NewtonRound {
  double primal = 0;  // P, without the examples x_i = 0
  double gap = 0;
  double max_violation = 0;
  std::int64_t steps = 0;        // of Newton's method
  std::int64_t n_zone = 0;       // examples that its last system saw
  std::int64_t evaluations = 0;  // scores computed
};

}  // namespace manyclass
