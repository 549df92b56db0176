#pragma once
// The matrices of the preconditioners: 1/k sum_zone tr(B^T J B) x x^T, and sum_zone (B^T J B) (x)
// x x^T over all features and classes, in double because its condition is the condition of the
// problem; and their Cholesky factors.
#include <algorithm>
#include <bit>
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

// Rows [i, i + kRows) of A += sign P^T P, for kColumns vectors from column j; P has `depth` rows.
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

// A += sign P^T P in the rows and columns from `first`, a multiple of kPanel.
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

// Rows [begin, begin + kPanel) of the factor, with 1 / U_ii on the diagonal, then their part in all
// rows below. Rounding may make a pivot less than 1, the least eigenvalue of A; it is reset to 1.
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

// x <- U^-1 U^-T x; x has rows of B blocks. U is read four rows at a time, to read x less often.
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

// a += weight x x^T (upper triangle), entry by entry, for x with few features.
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

// Sparse rows are added entry by entry, other rows in whole panels: a vector operation of a panel
// takes about as long as kSparse single entries.
template <class T, int B>
void gram_zone(const Proximal<T>& problem, const Response<T>& response, T* a, std::int64_t size,
               T* panel, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kSparse = 5;
  using Visitor = ProximalVisitor<T, B>;
  const Examples<T>& examples = problem.examples;
  const RowVisitor<T, B> visitor(examples, response.moves, response.z);
  const Visitor proximal(problem);
  const std::int32_t k = response.moves.n_classes;
  std::int64_t depth = 0;
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int32_t i = response.zone[m];
    const auto e = visitor.view_of(i, Visitor::zero());
    const double trace = proximal.trace(e, e.z, static_cast<double>(response.share[m]), k);
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

// The whole Hessian.

// The upper triangle of x x^T, row by row.
template <class T>
std::int64_t dense_square(const Row<T>& row, std::int64_t n_features, const SquareOfRow& to) {
  const std::int64_t width = n_features + (row.bias != 0);
  std::fill_n(to.row, width, 0.0);
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    to.row[row.indices[p]] = static_cast<double>(row.values[p]);
  }
  if (row.bias != 0) to.row[n_features] = static_cast<double>(row.bias);
  double* value = to.values;
  for (std::int64_t p = 0; p < width; ++p) {
    const double own = to.row[p];
    for (std::int64_t q = p; q < width; ++q) value[q - p] = own * to.row[q];
    value += width - p;
  }
  return value - to.values;
}

// The non-zero numbers of the triangle, and their positions.
template <class T>
std::int64_t sparse_square(const Row<T>& row, std::int64_t n_features, const SquareOfRow& to) {
  const std::int64_t width = n_features + (row.bias != 0);
  std::int64_t n = 0;
  const auto add_row = [&](std::int64_t p, std::int64_t j, double own) {
    const std::int64_t start = j * width - j * (j + 1) / 2;
    for (std::int64_t q = p; q < row.nnz; ++q, ++n) {
      to.values[n] = own * static_cast<double>(row.values[q]);
      to.places[n] = static_cast<std::int32_t>(start + row.indices[q]);
    }
    if (row.bias == 0) return;
    to.values[n] = own * static_cast<double>(row.bias);
    to.places[n++] = static_cast<std::int32_t>(start + n_features);
  };
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    add_row(p, row.indices[p], static_cast<double>(row.values[p]));
  }
  if (row.bias != 0) add_row(row.nnz, n_features, static_cast<double>(row.bias));
  return n;
}

inline void add_to_block(const SquareOfRow& square, std::int64_t n, bool is_dense, double weight,
                         double* a) {
  const double* const values = square.values;
  if (is_dense) {
    for (std::int64_t m = 0; m < n; ++m) a[m] += weight * values[m];
  } else {
    for (std::int64_t m = 0; m < n; ++m) a[square.places[m]] += weight * values[m];
  }
}

// add(b, c, value) for the non-zero entries b <= c of B^T J B.
template <class T, int B, class Add>
void for_each_pair(const Proximal<T>& problem, const RowVisitor<T, B>& visitor, std::int32_t i,
                   double share, Add add) {
  using Visitor = ProximalVisitor<T, B>;
  const Visitor proximal(problem);
  const bool relative = problem.examples.formulation.relative;
  const std::int32_t y = problem.examples.labels[i];
  const auto e = visitor.view_of(i, Visitor::zero());
  alignas(kBlockBytes) T scales[Visitor::kStride];
  proximal.scale(e).put(scales);
  const std::uint64_t free =
      (proximal.at_free(e, e.z, Visitor::Lanes::all(1)) > Visitor::zero()).bits();
  for (std::uint64_t left = free; left != 0; left &= left - 1) {
    const std::int32_t b = std::countr_zero(left);
    const auto scale = static_cast<double>(scales[b]);
    add(b, b, scale * (1 - share));
    if (share == 0) {
      if (relative) add(std::min(b, y), std::max(b, y), -scale);
      continue;
    }
    for (std::uint64_t right = left & (left - 1); right != 0; right &= right - 1) {
      const std::int32_t c = std::countr_zero(right);
      const double signs = !relative && (b == y) != (c == y) ? -1 : 1;
      add(b, c, -scale * share * signs);
    }
  }
  if (!relative || share > 0) return;
  const int n = std::popcount(free);
  add(y, y, proximal.mean_scale(e, e.z, n) * n);
}

template <class T, int B>
void whole_hessian(const Proximal<T>& problem, const Response<T>& response, const ClassBlocks& to,
                   const SquareOfRow& square, std::int64_t begin, std::int64_t end) {
  const Csr<T>& x = problem.examples.x;
  const RowVisitor<T, B> visitor(problem.examples, response.moves, response.z);
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int32_t i = response.zone[m];
    const auto share = static_cast<double>(response.share[m]);
    const Row<T> row = x.row(i);
    const bool is_dense = kNearlyDense * row.nnz >= x.n_features;
    const std::int64_t n = is_dense ? dense_square(row, x.n_features, square)
                                    : sparse_square(row, x.n_features, square);
    for_each_pair(problem, visitor, i, share, [&](std::int32_t b, std::int32_t c, double value) {
      if (square.has_turn(c)) add_to_block(square, n, is_dense, value, to.at(b, c));
    });
  }
}

// x <- U^-1 U^-T x for one vector.
inline void solve_whole(const double* u, std::int64_t size, double* x) {
  constexpr auto kLane = static_cast<std::int64_t>(kLanes<double>);
  for (std::int64_t i = 0; i < size; ++i) {
    const double* row = u + i * size;
    const double own = x[i] *= row[i];
    for (std::int64_t j = i + 1; j < size; ++j) x[j] -= own * row[j];
  }
  for (std::int64_t i = size - 1; i >= 0; --i) {
    const double* row = u + i * size;
    const std::int64_t first = std::min(size, (i / kLane + 1) * kLane);
    double sum = 0;
    for (std::int64_t j = i + 1; j < first; ++j) sum += row[j] * x[j];
    Vector<double> sums = {};
    for (std::int64_t j = first; j < size; j += kLane) sums += load(row + j) * load(x + j);
    for (std::int64_t lane = 0; lane < kLane; ++lane) sum += sums[lane];
    x[i] = (x[i] - sum) * row[i];
  }
}

}  // namespace manyclass::MANYCLASS_ISA
