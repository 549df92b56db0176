#pragma once
// Sums in double whose rounding error does not grow with the number of terms, and squared norms.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace manyclass {

// The sum, and the sum of the rounding errors of each addition, which two_sum computes exactly
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
  // `rest_` is NaN if the sum overflows.
  [[gnu::always_inline]] double value() const { return std::isfinite(sum_) ? sum_ + rest_ : sum_; }

 private:
  double sum_ = 0;
  double rest_ = 0;
};

// Squares summed without compensation, in kSquareLanes sums: the relative error is below 16 u.
inline constexpr std::int64_t kSquareBlock = 64, kSquareLanes = 8;

// Add the squares of n numbers. Not for kernels, because their copies would share its symbols.
template <class Number>
void add_squares(std::int64_t n, CompensatedSum& sum, Number number) {
  for (std::int64_t begin = 0; begin < n; begin += kSquareBlock) {
    double lanes[kSquareLanes] = {};
    const std::int64_t size = std::min(kSquareBlock, n - begin);
    std::int64_t j = 0;
    for (; j + kSquareLanes <= size; j += kSquareLanes) {
      for (std::int64_t lane = 0; lane < kSquareLanes; ++lane) {
        const double x = number(begin + j + lane);
        lanes[lane] += x * x;
      }
    }
    for (; j < size; ++j) {
      const double x = number(begin + j);
      lanes[j % kSquareLanes] += x * x;
    }
    double total = 0;
    for (const double lane : lanes) total += lane;
    sum.add(total);
  }
}

// The squares of a matrix with contiguous rows.
template <class T>
double sum_of_squares(const T* p, std::int64_t n_rows, std::int64_t n_columns,
                      std::int64_t stride) {
  CompensatedSum sum;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const T* row = p + i * stride;
    add_squares(n_columns, sum, [row](std::int64_t j) { return static_cast<double>(row[j]); });
  }
  return sum.value();
}

// The squared Frobenius norm of the difference of two such matrices.
template <class T>
double squared_distance(const T* p, std::int64_t stride, const double* q, std::int64_t q_stride,
                        std::int64_t n_rows, std::int64_t n_columns) {
  CompensatedSum sum;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const T* row = p + i * stride;
    const double* other = q + i * q_stride;
    add_squares(n_columns, sum,
                [=](std::int64_t j) { return static_cast<double>(row[j]) - other[j]; });
  }
  return sum.value();
}

}  // namespace manyclass
