#pragma once
// Scores of rows, w_c . x + intercept_c, for W without padding (prediction/packed_columns.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "data/examples.hpp"
#include "prediction/kernels.hpp"
#include "prediction/packed_columns.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "weights/csr_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr std::size_t kSums = 8;  // independent sums, to hide the latency of an addition
inline constexpr std::size_t kCsrRun = kVectorBytes == 64 ? 16 : 8;  // vectors of W
inline constexpr std::int64_t kFeaturesAhead = 16;  // measured on news20 and sector
inline constexpr std::size_t kLine = 64;

template <class T, std::size_t L, std::size_t N>
[[gnu::always_inline]] inline void prefetch(const T* row, const PackedColumns<T, L, N>& columns) {
  constexpr std::size_t kStep = std::max<std::size_t>(1, kLine / (L * sizeof(T)));
  __builtin_prefetch(row + columns.first);
  for (std::size_t v = kStep; v + 1 < N; v += kStep) __builtin_prefetch(row + columns.at(v));
  __builtin_prefetch(row + columns.last + L - 1);
}

// The sums of one row over the entries [p, end); entries up to `limit` may be prefetched.
template <class T, std::size_t L, std::size_t N>
inline void csr_row_scores(const LinearModel<T>& model, const Csr<T>& x, std::int64_t p,
                           std::int64_t end, std::int64_t limit,
                           const PackedColumns<T, L, N>& columns, T* out) {
  using V = typename PackedColumns<T, L, N>::V;
  constexpr std::size_t kUnroll = N >= kSums ? 1 : kSums / N;
  constexpr auto kStep = static_cast<std::int64_t>(kUnroll);
  V sum[kUnroll][N] = {};
  for (std::size_t v = 0; v < N; ++v) sum[0][v] = columns.read(model.intercepts, v);
  const auto add = [&](std::int64_t at, V* to) {
    const T* w = model.weights + x.indices[at] * model.n_classes;
    for (std::size_t v = 0; v < N; ++v) to[v] += x.values[at] * columns.read(w, v);
  };
  for (; p + kStep <= end; p += kStep) {
    for (std::size_t u = 0; u < kUnroll; ++u) {
      const std::int64_t at = p + static_cast<std::int64_t>(u);
      const std::int64_t ahead = std::min(at + kFeaturesAhead, limit - 1);
      prefetch(model.weights + x.indices[ahead] * model.n_classes, columns);
      add(at, sum[u]);
    }
  }
  for (; p < end; ++p) add(p, sum[0]);
  for (std::size_t u = 1; u < kUnroll; ++u) {
    for (std::size_t v = 0; v < N; ++v) sum[0][v] += sum[u][v];
  }
  columns.write(sum[0], out);
}

template <class T>
void csr_scores(const LinearModel<T>& model, const Csr<T>& x, T* out) {
  for_columns<T, kCsrRun>(model.n_classes, [&](const auto& columns) {
    const std::int64_t limit = x.indptr[x.n_rows];
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      csr_row_scores(model, x, x.indptr[i], x.indptr[i + 1], limit, columns,
                     out + i * model.n_classes);
    }
  });
}

// R dense rows at a time share the loads of W, and sums and weights fit into the registers.
inline constexpr std::size_t kDenseRun = kVectorBytes == 64 ? 4 : 2;
inline constexpr std::size_t kDenseSums = kVectorBytes == 64 ? 24 : 12;

template <std::size_t R, class T, std::size_t L, std::size_t N>
inline void dense_tile(const LinearModel<T>& model, const T* x,
                       const PackedColumns<T, L, N>& columns, T* out) {
  using V = typename PackedColumns<T, L, N>::V;
  const std::int64_t d = model.n_features;
  V sum[R][N];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t v = 0; v < N; ++v) sum[r][v] = columns.read(model.intercepts, v);
  }
  for (std::int64_t j = 0; j < d; ++j) {
    V w[N];
    for (std::size_t v = 0; v < N; ++v) w[v] = columns.read(model.weights + j * model.n_classes, v);
    for (std::size_t r = 0; r < R; ++r) {
      const T value = x[static_cast<std::int64_t>(r) * d + j];
      for (std::size_t v = 0; v < N; ++v) sum[r][v] += value * w[v];
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    columns.write(sum[r], out + static_cast<std::int64_t>(r) * model.n_classes);
  }
}

// With one class, a row of W is a single weight, and the vectors run along the features.
template <class T>
inline T dense_product(const T* w, const T* x, std::int64_t d) {
  using V = typename LanesOf<T, kLanes<T>>::type;
  constexpr auto kL = kLanes<T>;
  constexpr auto kStep = static_cast<std::int64_t>(kSums) * kL;
  V sum[kSums] = {};
  std::int64_t j = 0;
  for (; j + kStep <= d; j += kStep) {
    for (std::size_t v = 0; v < kSums; ++v) {
      const std::int64_t at = j + static_cast<std::int64_t>(v) * kL;
      sum[v] += unaligned<V>(w + at) * unaligned<V>(x + at);
    }
  }
  for (; j + kL <= d; j += kL) sum[0] += unaligned<V>(w + j) * unaligned<V>(x + j);
  for (std::size_t v = 1; v < kSums; ++v) sum[0] += sum[v];
  T total = 0;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) total += sum[0][lane];
  for (; j < d; ++j) total += w[j] * x[j];
  return total;
}

template <class T>
void dense_scores(const LinearModel<T>& model, const DenseRows<T>& x, T* out) {
  if (model.n_classes == 1) {
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      const T* row = x.values + i * x.n_features;
      out[i] = dense_product(model.weights, row, x.n_features) + model.intercepts[0];
    }
    return;
  }
  for_columns<T, kDenseRun>(
      model.n_classes, [&]<std::size_t L, std::size_t N>(const PackedColumns<T, L, N>& columns) {
        constexpr std::size_t kR = std::min<std::size_t>(8, kDenseSums / N);
        constexpr auto kRows = static_cast<std::int64_t>(kR);
        std::int64_t i = 0;
        for (; i + kRows <= x.n_rows; i += kRows) {
          dense_tile<kR>(model, x.values + i * x.n_features, columns, out + i * model.n_classes);
        }
        for (; i < x.n_rows; ++i) {
          dense_tile<1>(model, x.values + i * x.n_features, columns, out + i * model.n_classes);
        }
      });
}

template <class T>
bool in_range(const Csr<T>& x) {
  std::uint32_t largest = 0;
  for (std::int64_t p = x.indptr[0]; p < x.indptr[x.n_rows]; ++p) {
    largest = std::max(largest, static_cast<std::uint32_t>(x.indices[p]));
  }
  return x.indptr[0] == x.indptr[x.n_rows] || static_cast<std::int64_t>(largest) < x.n_features;
}

// Scores of rows, w_c . x + intercept_c, for sparse W (weights/csr_weights.hpp).

// The k scores of a row stay in the second-level cache, and entries are read in memory order. Runs
// of classes whose scores fit into the first cache, or gathers and scatters of whole vectors, were
// not faster with 16,551 and 27,875 classes.
template <class T, class W>
void sparse_scores(const CsrWeights<W>& w, const T* intercepts, const Csr<T>& x, T* out) {
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    T* scores = out + i * w.n_classes;
    __builtin_memcpy(scores, intercepts, w.n_classes * sizeof(T));
    for (std::int64_t p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
      const T value = x.values[p];
      const std::int64_t end = w.indptr[x.indices[p] + 1];
      for (std::int64_t e = w.indptr[x.indices[p]]; e < end; ++e) {
        scores[w.classes[e]] += value * static_cast<T>(w.values[e]);
      }
    }
  }
}

}  // namespace manyclass::MANYCLASS_ISA
