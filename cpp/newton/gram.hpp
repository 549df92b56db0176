#pragma once
// The Gram matrix of the preconditioner, 1/k sum_zone tr(B^T J B) x x^T: its upper triangle.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "data/csr.hpp"
#include "data/examples.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "newton/cholesky.hpp"
#include "newton/kernel_table.hpp"
#include "newton/proximal_kernels.hpp"
#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

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
