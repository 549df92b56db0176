#pragma once
// The matrix of the preconditioner, 1/k sum_zone tr(B^T J B) x x^T, and its Cholesky factor.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "data/examples.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/kernel_table.hpp"
#include "newton/proximal_kernels.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "simd/wide_vector.hpp"
#include "weights/dense_weights.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
inline std::int64_t vector_start(std::int64_t j) {
  return j - j % kLanes<T>;
}

// Rows [i, i + kRows) of A += sign P^T P, for columns from i on; P has `depth` rows.
template <class T, int kRows, int kColumns>
void rank_update_tile(T* a, std::int64_t size, std::int64_t i, std::int64_t j, const T* p,
                      std::int64_t depth, T sign) {
  Vector<T> sum[kRows][kColumns] = {};
  for (std::int64_t m = 0; m < depth; ++m) {
    const T* row = p + m * size;
    for (int v = 0; v < kColumns; ++v) {
      const Vector<T> right = load(row + j + v * kLanes<T>);
      for (int u = 0; u < kRows; ++u) sum[u][v] += right * row[i + u];
    }
  }
  for (int u = 0; u < kRows; ++u) {
    for (int v = 0; v < kColumns; ++v) {
      T* at = a + (i + u) * size + j + v * kLanes<T>;
      store(at, load(at) + sum[u][v] * sign);
    }
  }
}

// A += sign P^T P in rows and columns from `first` (a multiple of kPanel) on.
template <class T>
void rank_update(T* a, std::int64_t size, std::int64_t first, const T* p, std::int64_t depth,
                 T sign) {
  constexpr auto kLane = kLanes<T>;
  for (std::int64_t i = first; i < size; i += 4) {
    std::int64_t j = vector_start<T>(i);
    for (; j + 2 * kLane <= size; j += 2 * kLane) {
      rank_update_tile<T, 4, 2>(a, size, i, j, p, depth, sign);
    }
    for (; j < size; j += kLane) rank_update_tile<T, 4, 1>(a, size, i, j, p, depth, sign);
  }
}

// Rows [begin, begin + kPanel) of the factor, whose diagonal is kept as 1 / U_ii, then their share
// of all rows below. Rounding may push a pivot below 1, the least eigenvalue of A; it is put back.
template <class T>
void factor_panel(T* a, std::int64_t size, std::int64_t begin) {
  constexpr auto kLane = kLanes<T>;
  for (std::int64_t i = begin; i < begin + kPanel; ++i) {
    T* row = a + i * size;
    const T scale = 1 / std::sqrt(std::max(row[i], T{1}));
    for (std::int64_t j = vector_start<T>(i); j < size; j += kLane) {
      store(row + j, load(row + j) * scale);
    }
    for (std::int64_t below = i + 1; below < begin + kPanel; ++below) {
      T* other = a + below * size;
      const T factor = row[below];
      for (std::int64_t j = vector_start<T>(below); j < size; j += kLane) {
        store(other + j, load(other + j) - load(row + j) * factor);
      }
    }
    row[i] = scale;
  }
  if (begin + kPanel < size) {
    rank_update(a, size, begin + kPanel, a + begin * size, kPanel, T{-1});
  }
}

// x <- U^-1 U^-T x; x has rows of B blocks. Four rows of U at a time, to read x less often.
template <class T, int B>
void solve_factor(const T* u, std::int64_t size, T* x) {
  constexpr int kV = B * static_cast<int>(kBlockBytes / kVectorBytes);
  constexpr std::int64_t kStride = B * DualLanes<T>::kBlock;
  constexpr int kRows = 4;
  using Lanes = Wide<T, kV>;
  const auto at = [x](std::int64_t j) { return Lanes::at(x + j * kStride); };
  const auto put = [x](std::int64_t j, const Lanes& value) { value.put(x + j * kStride); };
  for (std::int64_t i = 0; i < size; i += kRows) {
    Lanes own[kRows];
    for (int r = 0; r < kRows; ++r) {
      own[r] = at(i + r);
      for (int s = 0; s < r; ++s) own[r] = own[r] - own[s] * u[(i + s) * size + i + r];
      own[r] = own[r] * u[(i + r) * size + i + r];
      put(i + r, own[r]);
    }
    for (std::int64_t j = i + kRows; j < size; ++j) {
      Lanes sum = at(j);
      for (int r = 0; r < kRows; ++r) sum = sum - own[r] * u[(i + r) * size + j];
      put(j, sum);
    }
  }
  for (std::int64_t i = size - kRows; i >= 0; i -= kRows) {
    Lanes own[kRows];
    for (int r = 0; r < kRows; ++r) own[r] = at(i + r);
    for (std::int64_t j = i + kRows; j < size; ++j) {
      const Lanes known = at(j);
      for (int r = 0; r < kRows; ++r) own[r] = own[r] - known * u[(i + r) * size + j];
    }
    for (int r = kRows - 1; r >= 0; --r) {
      for (int s = r + 1; s < kRows; ++s) own[r] = own[r] - own[s] * u[(i + r) * size + i + s];
      own[r] = own[r] * u[(i + r) * size + i + r];
      put(i + r, own[r]);
    }
  }
}

// a += x x^T, one by one of its few features.
template <class T>
void add_square(const Row<T>& row, std::int64_t bias_at, T weight, T* a, std::int64_t size) {
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    T* to = a + row.indices[p] * size;
    const T value = weight * row.values[p];
    for (std::int64_t q = p; q < row.nnz; ++q) to[row.indices[q]] += value * row.values[q];
    if (row.bias != 0) to[bias_at] += value * row.bias;
  }
  if (row.bias != 0) a[bias_at * size + bias_at] += weight * row.bias * row.bias;
}

template <class T>
void put_row(const Row<T>& row, std::int64_t bias_at, T factor, T* to, std::int64_t size) {
  std::fill_n(to, size, T{0});
  for (std::int64_t p = 0; p < row.nnz; ++p) to[row.indices[p]] = factor * row.values[p];
  if (row.bias != 0) to[bias_at] = factor * row.bias;
}

// Sparse rows are added entry by entry, others in whole panels: a vector operation of a panel costs
// about as much as kSparse single entries.
template <class T, int B>
void gram_zone(const Proximal<T>& problem, const Response<T>& response, T* a, std::int64_t size,
               T* panel, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kSparse = 5;
  using Visitor = ProximalVisitor<T, B>;
  const Examples<T>& examples = problem.examples;
  const LaneVisitor<T, B> visitor(examples, response.moves, response.z);
  const Visitor proximal(problem);
  const std::int32_t k = response.moves.n_classes;
  std::int64_t depth = 0;
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int32_t i = response.zone[m];
    const auto e = visitor.view_of(i, Visitor::zero());
    const double trace =
        proximal.trace(e, proximal.n_free(e, e.z), static_cast<double>(response.share[m]), k);
    const Row<T> row = examples.x.row(i);
    if (kSparse * row.nnz < size) {
      add_square(row, examples.x.n_features, static_cast<T>(trace / k), a, size);
      continue;
    }
    put_row(row, examples.x.n_features, static_cast<T>(std::sqrt(trace / k)),
            panel + depth++ * size, size);
    if (depth == kPanel || m + 1 == end) {
      rank_update(a, size, 0, panel, depth, T{1});
      depth = 0;
    }
  }
  if (depth > 0) rank_update(a, size, 0, panel, depth, T{1});
}

}  // namespace manyclass::MANYCLASS_ISA
