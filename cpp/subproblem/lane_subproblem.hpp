#pragma once
// The subproblem of one example in registers, if there are few classes: a box, or the simplex of
// Crammer-Singer. It is solved in units of xi: with r = q z + xi, beta = q times the b of
// subproblem/root_finding.hpp. The sources are the same.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "simd/wide_vector.hpp"
#include "weights/dense_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// Far below every xi, and safe in calculations.
template <class T>
inline constexpr T kNoSlack = -std::numeric_limits<T>::max() / 1024;

// The factors of an example's classes (data/examples.hpp), or null.
template <class T, bool kFactors>
struct LaneFactors {
  const T* factors = nullptr;
};
// For examples without factors: the compiler removes the code that depends on factors.
template <class T>
struct LaneFactors<T, false> {
  static constexpr const T* factors = nullptr;
};

// Input of a visit of one example; B blocks of 64 bytes contain its classes.
template <class T, int B, bool kFactors>
struct LaneView : LaneFactors<T, kFactors> {
  using LaneFactors<T, kFactors>::factors;
  static constexpr int kV = B * static_cast<int>(kBlockBytes / kVectorBytes);
  using Lanes = Wide<T, kV>;
  Lanes z;
  Lanes xi;  // about kNoSlack<T> if c is not a target
  Lanes v;   // +1 or -1 (absolute margins)
  WideMask<T, kV> own;
  double q;
  double cost;
  double xi_max = 0;  // for maximum formulations
  double sum_z = 0;

  // of(C) in lanes, with C the cost of each class.
  template <class Of>
  [[gnu::always_inline]] Lanes of_costs(Of of) const {
    if (!factors) return Lanes::all(static_cast<T>(of(cost)));
    constexpr int kNumbers = kV * static_cast<int>(kLanes<T>);
    alignas(kBlockBytes) T numbers[kNumbers];
    for (int c = 0; c < kNumbers; ++c) {
      numbers[c] = static_cast<T>(of(cost * static_cast<double>(factors[c])));
    }
    return Lanes::at(numbers);
  }
};

// `sigma` belongs to the matrix of the subproblem, a I + sigma v v^T.
template <class T, int B, bool kFactors>
class LaneSubproblem {
 public:
  using View = LaneView<T, B, kFactors>;
  using Lanes = typename View::Lanes;

  LaneSubproblem(const Formulation& formulation, double sigma) : f_(formulation), sigma_(sigma) {}

  // The best z of an example.
  Lanes solve(const View& e) const { return without_noise(f_.maximum ? simplex(e) : box(e)); }

  // A z below the rounding error of the largest z is noise, and would look like a violation.
  static Lanes without_noise(const Lanes& z) {
    const Lanes noise = Lanes::all(z.largest() * std::numeric_limits<T>::epsilon());
    return select(z > noise, z, zero());
  }

 private:
  static Lanes zero() { return Lanes::all(0); }

  static T inverse(double a) {
    return static_cast<T>(std::min(1 / a, static_cast<double>(std::numeric_limits<T>::max())));
  }

  // Crammer-Singer: z_c = max(0, beta_c - theta) / q with the one root theta of
  //     sum_c max(0, beta_c - theta) = min(theta + origin, q cost),
  //     beta_c = q z_c + xi_c - xi_max.
  // Newton's method from the left, like simplex_root (subproblem/root_finding.hpp).
  Lanes simplex(const View& e) const {
    const Lanes beta = e.z * static_cast<T>(e.q) + (e.xi - Lanes::all(static_cast<T>(e.xi_max)));
    const double origin = e.q * e.sum_z + e.xi_max;
    const double largest = static_cast<double>(beta.largest());
    double theta = std::max((largest - origin) / 2, largest - e.q * e.cost);
    std::uint64_t previous = ~std::uint64_t{0};
    for (;;) {
      const auto above = beta > Lanes::all(static_cast<T>(theta));
      const std::uint64_t bits = above.bits();
      const int n = std::popcount(bits);
      if (n == 0 || bits == previous || n > std::popcount(previous)) break;
      previous = bits;
      if (n == 1) continue;  // the first root belongs to the largest coordinate alone
      const double sum = static_cast<double>(select(above, beta, zero()).sum());
      theta = std::max((sum - origin) / (n + 1), (sum - e.q * e.cost) / n);
    }
    return max(beta - Lanes::all(static_cast<T>(theta)), zero()) * inverse(e.q);
  }

  // The box: z = clip((r - sigma v omega) / (q a), 0, upper), omega the one root of
  //     h(omega) = v^T z - v^T z_old - omega / q,
  // which is decreasing and piecewise linear: Newton's method, with bisection in a bracket. It is
  // exact when two consecutive values have the same coordinates free and at their bounds.
  Lanes box(const View& e) const {
    const Lanes r = e.z * static_cast<T>(e.q) + e.xi;
    const Lanes scale = e.of_costs([&](double C) { return inverse(e.q + f_.loss.ridge(C)); });
    const Lanes upper = e.of_costs([&](double C) { return f_.loss.template finite_upper<T>(C); });
    // sigma sum_c 1 / (q a) over the free coordinates.
    const double ridge = f_.loss.ridge(e.cost);
    const auto curvature = [&](const Lanes& z, std::uint64_t free) {
      if (!e.factors) return sigma_ * std::popcount(free) / (e.q + ridge);
      const Lanes inner = select(upper > z, scale, zero());
      return sigma_ * static_cast<double>(select(z > zero(), inner, zero()).sum());
    };
    const auto clipped = [&](const Lanes& x) { return min(max(x * scale, zero()), upper); };
    if (sigma_ == 0) return clipped(r);
    const Lanes signs = f_.relative ? Lanes::all(1) : e.v;
    const double sum_old = static_cast<double>((signs * e.z).sum());
    const Lanes direction = signs * static_cast<T>(sigma_);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    double omega = 0, low = -kInf, high = kInf, stride = 0;
    std::uint64_t free_before = 0, full_before = ~std::uint64_t{0};
    Lanes z = clipped(r);
    for (int turn = 0; turn < 100; ++turn) {
      const std::uint64_t full = (z == upper).bits();
      const std::uint64_t free = (z > zero()).bits() & ~full;
      if (free == free_before && full == full_before) break;
      free_before = free;
      full_before = full;
      const double h = static_cast<double>((signs * z).sum()) - sum_old - omega / e.q;
      if (h == 0) break;
      (h > 0 ? low : high) = omega;
      const double slope = 1 / e.q + curvature(z, free);
      double next = omega + h / slope;
      if (slope * e.q < 1e-12) {  // ATS, RM with every coordinate free: flat up to a bound
        stride = 2 * std::max(stride, std::abs(h) * e.q);
        next = omega + std::copysign(stride, h);
        full_before = ~std::uint64_t{0};
      }
      if (!(next > low && next < high)) {
        next = 0.5 * (low + high);
        full_before = ~std::uint64_t{0};
      }
      if (next == omega || !std::isfinite(next)) break;
      omega = next;
      z = clipped(r - direction * static_cast<T>(omega));
    }
    return z;
  }

  const Formulation& f_;
  double sigma_;
};

}  // namespace manyclass::MANYCLASS_ISA
