#pragma once
// W <- W(z), summed in double and rounded to T once, so that W is as close to W(z) as T allows.
// Sums of many small terms in T, such as an intercept summed over all examples, would lose digits.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "certificate/coefficient_blocks.hpp"
#include "certificate/feasible.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/examples.hpp"
#include "simd/aligned_array.hpp"
#include "threads/interrupt_poll.hpp"
#include "weights/hash_tables.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// Dense W for the classes of the coefficients from `each` (certificate/coefficient_blocks.hpp).
// Unless `common` is null, it is subtracted from every class.
template <class T, class Each>
RebuildError rebuild_dense(const RebuildKernels<T>& kernels, const Examples<T>& examples,
                           const WeightsView<T>& w, const double* common, Each each,
                           const Poll& poll) {
  constexpr auto kWidth = static_cast<std::int32_t>(kBlockClasses);
  AlignedArray<double> sums((w.n_features + 1) * kWidth);
  RebuildError error;
  const auto stride = static_cast<std::int32_t>(w.stride);
  each_range(examples.x.n_rows, stride, kWidth, each, [&](const CoefficientBlocks& blocks) {
    for (std::int32_t b = blocks.first; b < blocks.last(); ++b) {
      if (b > 0) std::fill_n(sums.data(), sums.size(), 0.0);
      error.magnitude += kernels.add_block(examples, blocks.of(b), b * kWidth, sums.data());
      error.squared += kernels.store_block(sums.data(), common, w, b * kWidth);
      poll();
    }
  });
  return error;
}

template <class T, class Duals>
RebuildError rebuild(const RebuildKernels<T>& kernels, const Examples<T>& examples,
                     const WeightsView<T>& w, const Duals& z, const double* common,
                     const Poll& poll) {
  const auto each = [&](std::int64_t i, auto f) { each_coefficient(examples, z, i, f); };
  return rebuild_dense(kernels, examples, w, common, each, poll);
}

// The weights of one class in double, and a list of the features with a weight.
template <class T>
class ClassSums {
 public:
  explicit ClassSums(const Csr<T>& x) : x_(x), sums_(x.n_features + 1) {}

  void add(std::int64_t i, double a) {
    const Row<T> row = x_.row(i);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      add_to(row.indices[p], a * static_cast<double>(row.values[p]));
    }
    if (row.bias != 0) add_to(x_.n_features, a * static_cast<double>(row.bias));
  }
  // Call store(j, weight) for the non-zero weights, then clear them.
  template <class Store>
  void drain(Store store) {
    for (const std::int64_t j : touched_) {
      const double weight = std::exchange(sums_[j], 0.0);
      if (weight != 0) store(j, weight);
    }
    touched_.clear();
  }

 private:
  void add_to(std::int64_t j, double weight) {
    double& sum = sums_[j];
    if (sum == 0) touched_.push_back(j);
    sum += weight;
  }

  const Csr<T>& x_;
  std::vector<double> sums_;
  std::vector<std::int64_t> touched_;
};

// Fill empty tables, whose first class is `first`. Every block has one class; classes without
// a block stay empty.
template <class T>
RebuildError rebuild_tables(const Examples<T>& examples, HashTables<T>& tables, std::int32_t first,
                            const CoefficientBlocks& blocks, ClassSums<T>& sums) {
  RebuildError error;
  const std::int32_t end = std::min(first + tables.n_classes(), blocks.last());
  for (std::int32_t c = std::max(first, blocks.first); c < end; ++c) {
    for (const Coefficient& a : blocks.of(c)) {
      sums.add(a.row, a.value);
      error.magnitude += std::abs(a.value) * std::sqrt(examples.norms[a.row]);
    }
    sums.drain([&](std::int64_t j, double weight) {
      const T rounded = static_cast<T>(weight);
      const double lost = weight - static_cast<double>(rounded);
      error.squared += lost * lost;
      if (rounded != 0) *tables.insert(j, static_cast<std::uint32_t>(c - first)) = rounded;
    });
  }
  return error;
}

}  // namespace manyclass
