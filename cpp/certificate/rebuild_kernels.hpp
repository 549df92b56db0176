#pragma once
// The table of the kernels that rebuild W from z (certificate/rebuild.hpp), and the rebuild error.
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "certificate/coefficient_blocks.hpp"
#include "data/examples.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// Distance of W from W(z).
struct RebuildError {
  double squared = 0;    // ||W - computed W(z)||^2
  double magnitude = 0;  // sum_ic |a_ic| ||x_i||

  void add(const RebuildError& other) {
    squared += other.squared;
    magnitude += other.magnitude;
  }
  // Upper bound of ||W - W(z)||: the errors of sums in double over the rows, after sums over the
  // classes, and the errors of the mean that is subtracted.
  double bound(std::int64_t n_rows_and_classes) const {
    constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
    return std::sqrt(squared) + 2 * static_cast<double>(n_rows_and_classes + 2) * kUnit * magnitude;
  }
};

// The number of classes whose sums in double for one feature fill 64 bytes.
inline constexpr std::int64_t kBlockClasses = 8;

// The loops that rebuild a block of classes of W (certificate/rebuild.hpp). `sums` has one row of
// kBlockClasses numbers for every feature, and a last row for the intercept.
template <class T>
struct RebuildKernels {
  // w_c += a_ic x_i for the classes c >= first of the block; returns sum_ic |a_ic| ||x_i||.
  double (*add_block)(const Examples<T>&, std::span<const Coefficient> entries, std::int32_t first,
                      double* sums);
  // Round to the classes of W that start at `first`, minus `common` (or null); zeros after the last
  // class of W. Returns the sum of the squared errors.
  double (*store_block)(const double* sums, const double* common, const WeightsView<T>&,
                        std::int64_t first);
};

}  // namespace manyclass
