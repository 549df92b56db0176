// The kernels that rebuild W from z. CMakeLists.txt compiles this file once per
// instruction set.
#include "certificate/rebuild_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "certificate/coefficient_blocks.hpp"
#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"
#include "simd/vector.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, class Add>
inline void for_features(const Csr<T>& x, std::int64_t i, double* sums, Add add) {
  const Row<T> row = x.row(i);
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    add(sums + row.indices[p] * kBlockClasses, static_cast<double>(row.values[p]));
  }
  if (row.bias != 0) add(sums + x.n_features * kBlockClasses, static_cast<double>(row.bias));
}

template <class T>
inline void add_row(const Csr<T>& x, std::int64_t i, const double* a, double* sums) {
  constexpr std::int64_t kL = kLanes<double>, kVectors = kBlockClasses / kL;
  Vector<double> factors[kVectors];
  for (int v = 0; v < kVectors; ++v) factors[v] = load(a + v * kL);
  for_features(x, i, sums, [&](double* sum, double value) {
    for (int v = 0; v < kVectors; ++v) {
      store(sum + v * kL, load(sum + v * kL) + value * factors[v]);
    }
  });
}

template <class T>
double add_block(const Examples<T>& examples, std::span<const Coefficient> entries,
                 std::int32_t first, double* sums) {
  double magnitude = 0;
  for (std::size_t e = 0; e < entries.size();) {
    const std::int32_t i = entries[e].row;
    alignas(64) double a[kBlockClasses] = {};
    double size = 0;
    for (; e < entries.size() && entries[e].row == i; ++e) {
      a[entries[e].label - first] += entries[e].value;
      size += std::abs(entries[e].value);
    }
    magnitude += size * std::sqrt(examples.norms[i]);
    add_row(examples.x, i, a, sums);
  }
  return magnitude;
}

template <class T>
double store_block(const double* sums, const double* common, const WeightsView<T>& w,
                   std::int64_t first) {
  const std::int64_t n = std::clamp<std::int64_t>(w.n_classes - first, 0, kBlockClasses);
  double error = 0;
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T* weights = w.data + j * w.stride + first;
    const double off = common ? common[j] : 0;
    for (std::int64_t c = 0; c < kBlockClasses; ++c) {
      const double value = c < n ? sums[j * kBlockClasses + c] - off : 0;
      weights[c] = static_cast<T>(value);
      const double lost = value - static_cast<double>(weights[c]);
      error += lost * lost;
    }
  }
  return error;
}

template <class T>
struct TableOf<RebuildKernels<T>> {
  static constexpr RebuildKernels<T> value{add_block<T>, store_block<T>};
};

template const RebuildKernels<float>& kernel_table();
template const RebuildKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
