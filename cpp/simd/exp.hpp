#pragma once
// e^x of vectors, for x <= 0.
#include <array>
#include <cstddef>
#include <cstdint>

#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct ExponentialOf;
template <>
struct ExponentialOf<float> {
  typedef std::uint32_t bits __attribute__((vector_size(kVectorBytes), may_alias));
  static constexpr float kRound = 0x1.8p23f;      // adding it rounds to integers
  static constexpr float kLn2High = 0x1.62ep-1f;  // few digits, so that n times it is exact
  static constexpr float kLn2Low = 0x1.0bfbe8p-15f;
  static constexpr float kSmallest = -86;  // for smaller x, e^x counts as 0
  static constexpr int kMantissa = 23;
  static constexpr int kDegree = 7;
};
template <>
struct ExponentialOf<double> {
  typedef std::uint64_t bits __attribute__((vector_size(kVectorBytes), may_alias));
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42fefa0000p-1;
  static constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;
  static constexpr double kSmallest = -707;
  static constexpr int kMantissa = 52;
  static constexpr int kDegree = 13;
};

// e^x = 2^n e^r with x = n ln 2 + r, |r| <= ln 2 / 2, and e^r by its Taylor polynomial. The error
// is at most two units in the last place.
template <class T>
inline Vector<T> exponential(Vector<T> x) {
  using E = ExponentialOf<T>;
  using Bits = typename E::bits;
  const Vector<T> zero{};
  const Vector<T> bounded = maximum<T>(x, zero + E::kSmallest);
  const Vector<T> rounded = bounded * static_cast<T>(0x1.71547652b82fep0) + E::kRound;
  const Vector<T> n = rounded - E::kRound;
  const Vector<T> r = (bounded - n * E::kLn2High) - n * E::kLn2Low;
  constexpr auto inverse_factorials = [] {
    std::array<T, E::kDegree + 1> values{};
    double factorial = 1;
    for (int i = 0; i <= E::kDegree; ++i) {
      values[i] = static_cast<T>(1 / factorial);
      factorial *= i + 1;
    }
    return values;
  }();
  Vector<T> sum = zero + inverse_factorials[E::kDegree];
  for (std::size_t i = E::kDegree; i > 0; --i) sum = sum * r + inverse_factorials[i - 1];
  // The last digits of `rounded` are n. Shifted to the exponent, they multiply by 2^n.
  const Bits scaled =
      reinterpret_cast<const Bits&>(sum) + (reinterpret_cast<const Bits&>(rounded) << E::kMantissa);
  return x < E::kSmallest ? zero : reinterpret_cast<const Vector<T>&>(scaled);
}

}  // namespace manyclass::MANYCLASS_ISA
