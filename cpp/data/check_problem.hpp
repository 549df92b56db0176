#pragma once
// Validation of arguments and of a training problem. The kernels do not check their input, so the
// engines check it before they call a kernel. Each check is one pass over its array.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

#include "data/examples.hpp"
#include "simd/vector.hpp"

namespace manyclass {

inline constexpr int kMaxThreads = 1 << 16;

inline void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

// Throws if there is an error; `flaw` is its description, or null.
inline void require_none(const char* flaw) {
  if (flaw != nullptr) throw std::invalid_argument(flaw);
}

inline constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max() - 64;

// Every function returns the description of an error, or nullptr.

inline const char* flaw_of(const Formulation& f) {
  if (!f.others && !f.own) return "a formulation must have targets";
  if (f.relative && (f.own || !f.others)) return "relative margins are those of the other classes";
  if (f.relative && f.centred) return "relative margins need no mean of W";
  if (f.maximum && (f.loss.has_ridge() || !f.others))
    return "the largest loss is a hinge of other classes";
  const bool finite = std::isfinite(f.gamma) && std::isfinite(f.gamma_own);
  return finite ? nullptr : "margins must be finite";
}

// `n_entries` is the length of the arrays of indices and values.
template <class T>
const char* flaw_of(const Csr<T>& x, std::int64_t n_entries) {
  if (x.n_features < 0 || x.n_features > kMaxCount) return "n_features is out of range";
  if (x.n_rows > kMaxCount) return "there are too many rows";
  if (!std::isfinite(x.bias)) return "bias must be finite";
  const std::int64_t* end = x.indptr + x.n_rows;
  if (*x.indptr < 0 || *end > n_entries || !std::is_sorted(x.indptr, end + 1)) {
    return "X is not a valid CSR matrix: its indptr is inconsistent";
  }
  if (x.is_dense) return nullptr;
  std::uint32_t largest = 0;  // a negative index is larger than every valid index
  for (std::int64_t p = *x.indptr; p < *end; ++p) {
    largest = std::max(largest, static_cast<std::uint32_t>(x.indices[p]));
  }
  if (*x.indptr < *end && static_cast<std::int64_t>(largest) >= x.n_features) {
    return "X is not a valid CSR matrix: an index is out of range";
  }
  return nullptr;
}

// For a dense X, whose rows all share the indices.
template <class T>
const char* flaw_of_dense(const Csr<T>& x, std::span<const std::int32_t> indices,
                          std::int64_t n_values) {
  const auto d = std::ssize(indices);
  if (d != x.n_features || d * x.n_rows != n_values) {
    return "indices and values must have one length, or X be dense";
  }
  for (std::int64_t j = 0; j < d; ++j) {
    if (indices[j] != j) return "indices of a dense X must ascend from 0";
  }
  for (std::int64_t i = 0; i <= x.n_rows; ++i) {
    if (x.indptr[i] != i * d) return "indptr of a dense X must be multiples of n_features";
  }
  return nullptr;
}

inline const char* flaw_of(std::span<const std::int32_t> labels, std::int32_t n_classes) {
  if (n_classes < 1 || n_classes > kMaxCount) return "n_classes is out of range";
  const auto odd = [=](std::int32_t y) { return y < kElsewhere || y >= n_classes; };
  return std::any_of(labels.begin(), labels.end(), odd) ? "label out of range" : nullptr;
}

inline const char* flaw_of_costs(std::span<const double> costs) {
  const auto odd = [](double cost) { return !(cost > 0 && std::isfinite(cost)); };
  return std::any_of(costs.begin(), costs.end(), odd) ? "costs must be positive and finite"
                                                      : nullptr;
}

inline const char* flaw_of_base(std::span<const double> scores) {
  const auto odd = [](double score) { return !std::isfinite(score); };
  return std::any_of(scores.begin(), scores.end(), odd) ? "base scores must be finite" : nullptr;
}

inline bool in_range(std::span<const std::int32_t> rows, std::int64_t n_rows) {
  std::uint32_t largest = 0;
  for (const std::int32_t i : rows) largest = std::max(largest, static_cast<std::uint32_t>(i));
  return rows.empty() || static_cast<std::int64_t>(largest) < n_rows;
}

}  // namespace manyclass
