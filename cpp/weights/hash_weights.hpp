#pragma once
// The verbs of weights/dense_weights.hpp for W in tables (weights/hash_tables.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/csr.hpp"
#include "dual/kernels.hpp"
#include "simd/vector.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass::MANYCLASS_ISA {

// Entries of a row ahead whose feature, and whose table, are fetched.
inline constexpr std::int64_t kRowsAhead = 8;
inline constexpr std::int64_t kTablesAhead = 3;

template <class T>
class HashWeights {
 public:
  explicit HashWeights(const HashTables<T>& weights) : weights_(weights) {}

  // out[c] = w_c . x for every class, and 0 up to the stride; `out` is aligned to 64 bytes.
  void scores(const Row<T>& row, T* out) const {
    std::fill_n(out, weights_.stride(), T{0});
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      if (p + kRowsAhead < row.nnz) __builtin_prefetch(&at(row.indices[p + kRowsAhead]));
      if (p + kTablesAhead < row.nnz) fetch(at(row.indices[p + kTablesAhead]));
      add_row(at(row.indices[p]), row.values[p], out);
    }
    if (row.bias != 0) add_row(at(weights_.n_rows() - 1), row.bias, out);
  }

  // out[m] += w_c . x for the classes c = labels[m].
  void scores_of(const Row<T>& row, std::span<const std::uint32_t> labels, T* out) const {
    for_features(row, labels, [&](std::int64_t j, T x) {
      const auto& weights = at(j);
      for (std::size_t m = 0; m < labels.size(); ++m) {
        const T* weight = find(weights, labels[m]);
        if (weight) out[m] += x * *weight;
      }
    });
  }

  // Call `visit(j, x_j)` for the features of a row, while the weights of `labels` are fetched
  // ahead.
  template <class Visit>
  void for_features(const Row<T>& row, std::span<const std::uint32_t> labels, Visit visit) const {
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      if (p + kRowsAhead < row.nnz) __builtin_prefetch(&at(row.indices[p + kRowsAhead]));
      if (p + kTablesAhead < row.nnz) fetch(at(row.indices[p + kTablesAhead]), labels);
      visit(std::int64_t{row.indices[p]}, row.values[p]);
    }
    if (row.bias != 0) visit(weights_.n_rows() - 1, row.bias);
  }

  // The weight of a class, or null where the feature has none.
  T* find(const typename HashTables<T>::Row& row, std::uint32_t label) const {
    if (row.is_dense()) return row.weights() + label;
    auto* entries = static_cast<WeightEntry<T>*>(row.data);
    std::uint32_t slot = weights_.home(label, row.capacity);
    for (std::uint32_t left = row.capacity; left > 0; --left) {
      WeightEntry<T>& entry = entries[slot];
      if (entry.label == label) return &entry.weight;
      if (entry.label & kVacant) return nullptr;
      slot = slot + 1 == row.capacity ? 0 : slot + 1;
    }
    return nullptr;
  }

  const typename HashTables<T>::Row& at(std::int64_t j) const { return weights_.row(j); }

 private:
  static void fetch(const typename HashTables<T>::Row& row) {
    const char* data = static_cast<const char*>(row.data);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(data + 64 * line);
  }
  void fetch(const typename HashTables<T>::Row& row, std::span<const std::uint32_t> labels) const {
    if (row.is_dense()) {
      for (const std::uint32_t label : labels) __builtin_prefetch(row.weights() + label);
      return;
    }
    const auto* entries = static_cast<const WeightEntry<T>*>(row.data);
    for (const std::uint32_t label : labels)
      __builtin_prefetch(entries + weights_.home(label, row.capacity));
  }

  void add_row(const typename HashTables<T>::Row& row, T x, T* __restrict out) const {
    if (row.is_dense()) {
      const T* w = row.weights();
      const std::size_t n = weights_.stride();
      for (std::size_t c = 0; c < n; c += kLanes<T>)
        store(out + c, load(out + c) + x * load(w + c));
      return;
    }
    const auto* entries = static_cast<const WeightEntry<T>*>(row.data);
    for (std::uint32_t slot = 0; slot < row.capacity; ++slot) {
      out[entries[slot].label & ~kVacant] += x * entries[slot].weight;
    }
  }

  const HashTables<T>& weights_;
};

// w_c += step_c x for the classes of the step; `labels` names them. `carry` has the low digits of
// the intercepts, or is null (weights/dense_weights.hpp).
template <class T>
void add(HashTables<T>& weights, const Row<T>& row, std::span<const std::uint32_t> labels,
         std::span<const T> step, T* carry = nullptr) {
  const HashWeights<T> hashed(weights);
  const auto weight_of = [&](std::int64_t j, std::uint32_t label) {
    T* weight = hashed.find(hashed.at(j), label);
    return weight ? weight : weights.insert(j, label);
  };
  Row<T> features = row;
  features.bias = 0;
  hashed.for_features(features, labels, [&](std::int64_t j, T x) {
    for (std::size_t m = 0; m < labels.size(); ++m) *weight_of(j, labels[m]) += x * step[m];
  });
  if (row.bias == 0) return;
  for (std::size_t m = 0; m < labels.size(); ++m) {
    T* const low = carry ? carry + labels[m] : nullptr;
    add_with_carry(*weight_of(weights.n_rows() - 1, labels[m]), low, row.bias * step[m]);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
