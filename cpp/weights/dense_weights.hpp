#pragma once
// Dense W, with one row per feature: the k weights of a feature are contiguous, padded with zeros
// to whole blocks of 64 bytes, so that one feature is a run of vector loads. Models WeightAccess
// (weights/weights_view.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr std::size_t kBlockBytes = kRowBlockBytes;
inline constexpr int kPrefetchDistance = 8;  // features ahead, measured on news20 and sector

template <class T>
struct DenseWeights {
  T* data;  // 64-byte aligned, (n_features + 1) x stride; the intercepts are the last row
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;
  std::int64_t width = stride;  // columns that are read: whole blocks
  // Low digits of the intercepts (compensated summation), or null. Every step changes the
  // intercepts, so their rounding errors would add up.
  T* carry = nullptr;

  static constexpr std::int64_t kBlock = kBlockBytes / sizeof(T);  // weights in a block

  T* feature(std::int64_t j) const { return data + j * stride; }
  void scores(const Row<T>& row, T* out) const;
  template <int M>
  void scores_of(const Row<T>& row, const std::int32_t* labels, T* out) const;
  void scores_of(const Row<T>& row, std::span<const std::int32_t> labels, T* out) const;
  void add(const Row<T>& row, std::span<const Step> step, T* dense_step) const;
  // W += x dense_step^T, for a step of `width` numbers
  void add_vectors(const Row<T>& row, const T* dense_step) const;
  // Prefetch the weights of the first features of a row that is needed soon.
  [[gnu::always_inline]] void fetch(const Row<T>& row) const {
    constexpr std::int64_t kFeatures = 2 * kPrefetchDistance;
    const auto blocks = std::min<std::int64_t>(width / kBlock, 4);
    for (std::int64_t p = 0; p < std::min(row.nnz, kFeatures); ++p) {
      const T* w = feature(row.indices[p]);
      for (std::int64_t b = 0; b < blocks; ++b) __builtin_prefetch(w + b * kBlock);
    }
  }

 private:
  template <int B>
  void block_scores(const Row<T>& row, std::int64_t first, T* out) const;
  template <int M>
  void add_entries(const Row<T>& row, const Step* step) const;
  void add_to_intercept(std::int32_t label, T delta) const {
    add_with_carry(feature(n_features)[label], carry ? carry + label : nullptr, delta);
  }
  [[gnu::always_inline]] void prefetch(const Row<T>& row, std::int64_t p, std::int64_t first,
                                       int blocks) const {
    const std::int64_t ahead = p + kPrefetchDistance;
    if (ahead >= row.nnz) return;
    const T* next = feature(row.indices[ahead]) + first;
    for (int b = 0; b < blocks; ++b) __builtin_prefetch(next + b * kBlock);
  }
};

// Scores of B blocks of classes in registers. If B is small, several features are processed at a
// time, so that enough independent sums are in progress to hide the latency of an addition.
template <class T>
template <int B>
inline void DenseWeights<T>::block_scores(const Row<T>& row, std::int64_t first, T* out) const {
  constexpr std::size_t kV = B * kBlockBytes / kVectorBytes;
  constexpr std::size_t kUnroll = kV >= 8 ? 1 : 8 / kV;
  constexpr std::size_t kL = kLanes<T>;
  Vector<T> sum[kUnroll][kV] = {};
  const T* base = data + first;
  std::int64_t p = 0;
  for (; p + static_cast<std::int64_t>(kUnroll) <= row.nnz;
       p += static_cast<std::int64_t>(kUnroll)) {
    for (std::size_t u = 0; u < kUnroll; ++u) {
      const std::int64_t at = p + static_cast<std::int64_t>(u);
      prefetch(row, at, first, B);
      const T* w = base + row.indices[at] * stride;
      const T x = row.values[at];
      for (std::size_t v = 0; v < kV; ++v) sum[u][v] += x * load(w + v * kL);
    }
  }
  for (; p < row.nnz; ++p) {
    const T* w = base + row.indices[p] * stride;
    const T x = row.values[p];
    for (std::size_t v = 0; v < kV; ++v) sum[0][v] += x * load(w + v * kL);
  }
  if (row.bias != 0) {
    const T* w = base + n_features * stride;
    for (std::size_t v = 0; v < kV; ++v) sum[0][v] += row.bias * load(w + v * kL);
  }
  for (std::size_t u = 1; u < kUnroll; ++u) {
    for (std::size_t v = 0; v < kV; ++v) sum[0][v] += sum[u][v];
  }
  for (std::size_t v = 0; v < kV; ++v) store(out + first + v * kL, sum[0][v]);
}

template <class T>
inline void DenseWeights<T>::scores(const Row<T>& row, T* out) const {
  std::int64_t first = 0;
  for (; first + 8 * kBlock <= width; first += 8 * kBlock) block_scores<8>(row, first, out);
  switch ((width - first) / kBlock) {
    case 1:
      return block_scores<1>(row, first, out);
    case 2:
      return block_scores<2>(row, first, out);
    case 3:
      return block_scores<3>(row, first, out);
    case 4:
      return block_scores<4>(row, first, out);
    case 5:
      return block_scores<5>(row, first, out);
    case 6:
      return block_scores<6>(row, first, out);
    case 7:
      return block_scores<7>(row, first, out);
    default:
      return;
  }
}

template <class T>
template <int M>
inline void DenseWeights<T>::scores_of(const Row<T>& row, const std::int32_t* labels,
                                       T* out) const {
  constexpr int kUnroll = 4;  // sums in progress, to hide the latency of an addition
  T sum[kUnroll][M] = {};
  std::int64_t p = 0;
  for (; p + kUnroll <= row.nnz; p += kUnroll) {
    for (int u = 0; u < kUnroll; ++u) {
      const T* w = feature(row.indices[p + u]);
      for (int m = 0; m < M; ++m) sum[u][m] += row.values[p + u] * w[labels[m]];
    }
  }
  for (; p < row.nnz; ++p) {
    const T* w = feature(row.indices[p]);
    for (int m = 0; m < M; ++m) sum[0][m] += row.values[p] * w[labels[m]];
  }
  const T* intercepts = feature(n_features);
  for (int m = 0; m < M; ++m) {
    const T total = (sum[0][m] + sum[1][m]) + (sum[2][m] + sum[3][m]);
    out[m] = row.bias != 0 ? total + row.bias * intercepts[labels[m]] : total;
  }
}

template <class T>
inline void DenseWeights<T>::scores_of(const Row<T>& row, std::span<const std::int32_t> labels,
                                       T* out) const {
  std::size_t m = 0;
  for (; m + 4 <= labels.size(); m += 4) scores_of<4>(row, labels.data() + m, out + m);
  switch (labels.size() - m) {
    case 1:
      return scores_of<1>(row, labels.data() + m, out + m);
    case 2:
      return scores_of<2>(row, labels.data() + m, out + m);
    case 3:
      return scores_of<3>(row, labels.data() + m, out + m);
    default:
      return;
  }
}

template <class T>
template <int M>
inline void DenseWeights<T>::add_entries(const Row<T>& row, const Step* step) const {
  T delta[M];
  std::int32_t label[M];
  for (int m = 0; m < M; ++m) {
    delta[m] = static_cast<T>(step[m].delta);
    label[m] = step[m].label;
  }
  for (std::int64_t p = 0; p < row.nnz; ++p) {
    T* w = feature(row.indices[p]);
    const T x = row.values[p];
    for (int m = 0; m < M; ++m) w[label[m]] += delta[m] * x;
  }
  if (row.bias != 0) {
    for (int m = 0; m < M; ++m) add_to_intercept(label[m], delta[m] * row.bias);
  }
}

template <class T>
inline void DenseWeights<T>::add_vectors(const Row<T>& row, const T* dense_step) const {
  const auto add_to = [this, dense_step](T* w, T x) {
    for (std::int64_t c = 0; c < width; c += kLanes<T>) {
      store(w + c, load(w + c) + x * load(dense_step + c));
    }
  };
  for (std::int64_t p = 0; p < row.nnz; ++p) add_to(feature(row.indices[p]), row.values[p]);
  if (row.bias == 0) return;
  if (!carry) return add_to(feature(n_features), row.bias);
  T* const w = feature(n_features);
  for (std::int64_t c = 0; c < width; c += kLanes<T>) {
    const auto [sum, rest] =
        two_sum(load(w + c), load(carry + c) + row.bias * load(dense_step + c));
    store(w + c, sum);
    store(carry + c, rest);
  }
}

// `dense_step` is scratch memory of `width` zeros, which are restored on return.
template <class T>
inline void DenseWeights<T>::add(const Row<T>& row, std::span<const Step> step,
                                 T* dense_step) const {
  const std::int64_t vectors = width / kLanes<T>;
  if (std::ssize(step) > vectors) {
    for (const Step& s : step) dense_step[s.label] = static_cast<T>(s.delta);
    add_vectors(row, dense_step);
    for (const Step& s : step) dense_step[s.label] = 0;
    return;
  }
  std::size_t m = 0;
  for (; m + 4 <= step.size(); m += 4) add_entries<4>(row, step.data() + m);
  switch (step.size() - m) {
    case 1:
      return add_entries<1>(row, step.data() + m);
    case 2:
      return add_entries<2>(row, step.data() + m);
    case 3:
      return add_entries<3>(row, step.data() + m);
    default:
      return;
  }
}

static_assert(WeightAccess<DenseWeights<float>, float>);

}  // namespace manyclass::MANYCLASS_ISA
