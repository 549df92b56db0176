#pragma once
// Scores w_c . x in double for certificates, for any type of X and W. As in the returned model,
// the intercept is bias * w rounded to T.
#include <algorithm>
#include <cstdint>

#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "weights/hash_tables.hpp"
#include "weights/hash_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

inline Vector<double> load_double(const double* p) { return load(p); }
inline Vector<double> load_double(const float* p) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Half*>(p), Vector<double>);
}

inline Vector<double> rounded(Vector<double> v, const double*) { return v; }
inline Vector<double> rounded(Vector<double> v, const float*) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2), may_alias));
  return __builtin_convertvector(__builtin_convertvector(v, Half), Vector<double>);
}

// V vectors of classes in registers. If V is small, several features are processed at a time, so
// that enough sums are in progress to hide the latency of an addition.
template <int V, class T>
inline void double_score_vectors(const WeightsView<T>& w, const Row<T>& row, std::int64_t first,
                                 double* out) {
  constexpr int kUnroll = V >= 4 ? 2 : 4;
  constexpr std::int64_t kL = kLanes<double>;
  constexpr std::int64_t kAhead = 8;  // features whose weights are fetched
  Vector<double> sum[kUnroll][V] = {};
  const T* base = w.data + first;
  std::int64_t p = 0;
  for (; p + kUnroll <= row.nnz; p += kUnroll) {
    for (int u = 0; u < kUnroll; ++u) {
      if (p + u + kAhead < row.nnz) {
        const T* next = base + row.indices[p + u + kAhead] * w.stride;
        for (std::size_t byte = 0; byte < V * kL * sizeof(T); byte += 64) {
          __builtin_prefetch(reinterpret_cast<const char*>(next) + byte);
        }
      }
      const T* weights = base + row.indices[p + u] * w.stride;
      const double x = static_cast<double>(row.values[p + u]);
      for (int v = 0; v < V; ++v) sum[u][v] += x * load_double(weights + v * kL);
    }
  }
  const auto add = [&](const T* weights, double x) {
    for (int v = 0; v < V; ++v) sum[0][v] += x * load_double(weights + v * kL);
  };
  for (; p < row.nnz; ++p) {
    add(base + row.indices[p] * w.stride, static_cast<double>(row.values[p]));
  }
  if (row.bias != 0) {
    const T* weights = base + w.n_features * w.stride;
    for (int v = 0; v < V; ++v) {
      sum[0][v] += rounded(static_cast<double>(row.bias) * load_double(weights + v * kL), weights);
    }
  }
  for (int u = 1; u < kUnroll; ++u) {
    for (int v = 0; v < V; ++v) sum[0][v] += sum[u][v];
  }
  for (int v = 0; v < V; ++v) store(out + first + v * kL, sum[0][v]);
}

// out[c] = w_c . x for `width` neighboring columns of W, starting at `w.data`. `width` is a
// multiple of the number of lanes, `out` is aligned to 64 bytes.
template <class T>
inline void double_scores(const WeightsView<T>& w, const Row<T>& row, std::int64_t width,
                          double* out) {
  constexpr std::int64_t kL = kLanes<double>;
  std::int64_t first = 0;
  for (; first + 8 * kL <= width; first += 8 * kL) double_score_vectors<8>(w, row, first, out);
  if (first + 4 * kL <= width) {
    double_score_vectors<4>(w, row, first, out);
    first += 4 * kL;
  }
  for (; first + 2 * kL <= width; first += 2 * kL) double_score_vectors<2>(w, row, first, out);
  if (first < width) double_score_vectors<1>(w, row, first, out);
}

// The scores of all classes of W in tables, followed by 0 up to their stride.
template <class T>
inline void double_scores(const HashTables<T>& tables, const Row<T>& row, double* out) {
  const std::size_t n = tables.stride();
  std::fill_n(out, n, 0.0);
  const auto add = [&](const typename HashTables<T>::Row& weights, double x) {
    if (weights.is_dense()) {
      for (std::size_t c = 0; c < n; c += kLanes<double>) {
        store(out + c, load(out + c) + x * load_double(weights.weights() + c));
      }
      return;
    }
    for (const WeightEntry<T>& entry : weights.entries()) {
      out[entry.label & ~kVacant] += x * static_cast<double>(entry.weight);
    }
  };
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    if (p + kTablesAhead < row.nnz) {
      __builtin_prefetch(tables.row(row.indices[p + kTablesAhead]).data);
    }
    add(tables.row(row.indices[p]), static_cast<double>(row.values[p]));
  }
  if (row.bias == 0) return;
  tables.for_each(tables.n_rows() - 1, [&](std::uint32_t label, T weight) {
    out[label] += static_cast<double>(row.bias * weight);
  });
}

// w_c . x of one class of W in tables.
template <class T>
inline double double_score(const HashTables<T>& tables, const Row<T>& row, std::int32_t label) {
  const HashWeights<T> hashed(tables);
  double sum = 0;
  hashed.for_features(row, {&label, 1}, [&](std::int64_t j, T x) {
    const T* weight = hashed.find(hashed.at(j), label);
    if (!weight) return;
    const bool is_intercept = j == tables.n_rows() - 1;
    const double product = static_cast<double>(x) * static_cast<double>(*weight);
    sum += is_intercept ? static_cast<double>(static_cast<T>(product)) : product;
  });
  return sum;
}

// w_c . x of one column of W.
template <class T>
inline double double_score(const WeightsView<T>& w, const Row<T>& row, std::int64_t column) {
  double sum = 0;
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    sum += static_cast<double>(row.values[p]) *
           static_cast<double>(w.data[row.indices[p] * w.stride + column]);
  }
  if (row.bias == 0) return sum;
  return sum + static_cast<double>(row.bias * w.data[w.n_features * w.stride + column]);
}

}  // namespace manyclass::MANYCLASS_ISA
