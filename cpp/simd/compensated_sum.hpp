#pragma once
// A sum in double whose rounding does not grow with the number of its terms.
#include <cmath>

namespace manyclass {

// The sum, and beside it the sum of what each addition rounded off, which two_sum knows exactly
// (simd/vector.hpp). With u the unit roundoff, `value` is within u |sum| + n^2 u^2 sum |x| of the
// exact sum of n terms x. Sources: Higham 2002, sec. 4.3; Ogita, Rump, Oishi, SIAM J. Sci. Comput.
// 26 (2005), prop. 4.5. Kernels of every instruction set share the type, so it has no symbols.
class CompensatedSum {
 public:
  [[gnu::always_inline]] void add(double x) {
    const double sum = sum_ + x;
    const double of_x = sum - sum_;
    rest_ += (sum_ - (sum - of_x)) + (x - of_x);
    sum_ = sum;
  }
  [[gnu::always_inline]] void add(const CompensatedSum& other) {
    add(other.sum_);
    rest_ += other.rest_;
  }
  // The rest of a sum that overflows is no number.
  [[gnu::always_inline]] double value() const { return std::isfinite(sum_) ? sum_ + rest_ : sum_; }

 private:
  double sum_ = 0;
  double rest_ = 0;
};

}  // namespace manyclass
