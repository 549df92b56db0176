#pragma once
// Scores and steps of W in hash tables (weights/hash_tables.hpp). Models WeightAccess.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "weights/hash_tables.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

// Prefetch distances in entries of a row: for the descriptor of a feature, and for its table.
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

  // out[m] = w_c . x for the classes c = labels[m].
  void scores_of(const Row<T>& row, std::span<const std::int32_t> labels, T* out) const {
    std::fill_n(out, labels.size(), T{0});
    for_features(row, labels, [&](std::int64_t j, T x) {
      const auto& weights = at(j);
      for (std::size_t m = 0; m < labels.size(); ++m) {
        const T* weight = find(weights, labels[m]);
        if (weight) out[m] += x * *weight;
      }
    });
  }

  // Call `visit(j, x_j)` for the features of a row, and prefetch the weights of `labels`.
  template <class Visit>
  void for_features(const Row<T>& row, std::span<const std::int32_t> labels, Visit visit) const {
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      if (p + kRowsAhead < row.nnz) __builtin_prefetch(&at(row.indices[p + kRowsAhead]));
      if (p + kTablesAhead < row.nnz) fetch(at(row.indices[p + kTablesAhead]), labels);
      visit(std::int64_t{row.indices[p]}, row.values[p]);
    }
    if (row.bias != 0) visit(weights_.n_rows() - 1, row.bias);
  }

  // The weight of a class, or null if the feature does not have one.
  T* find(const typename HashTables<T>::Row& row, std::int32_t label_) const {
    const auto label = static_cast<std::uint32_t>(label_);
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
  [[gnu::always_inline]] static void fetch(const typename HashTables<T>::Row& row) {
    const char* data = static_cast<const char*>(row.data);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(data + 64 * line);
  }
  [[gnu::always_inline]] void fetch(const typename HashTables<T>::Row& row,
                                    std::span<const std::int32_t> labels) const {
    if (row.is_dense()) {
      for (const std::int32_t label : labels) __builtin_prefetch(row.weights() + label);
      return;
    }
    const auto* entries = static_cast<const WeightEntry<T>*>(row.data);
    for (const std::int32_t label : labels)
      __builtin_prefetch(entries + weights_.home(static_cast<std::uint32_t>(label), row.capacity));
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

// Steps on the hash tables of the classes [first, first + n_classes) of W. Labels of steps count
// over all classes of W.
template <class T>
class HashUpdates : public HashWeights<T> {
 public:
  // `carry` has the low digits of the intercepts (weights/dense_weights.hpp), or is null.
  explicit HashUpdates(HashTables<T>& tables, std::int32_t first = 0, T* carry = nullptr)
      : HashWeights<T>(tables), tables_(tables), first_(first), carry_(carry) {}

  // w_c += step_c x for the classes of the step in these tables.
  void add(const Row<T>& row, std::span<const Step> step, T*) const {
    std::int32_t labels[kAtOnce];
    T deltas[kAtOnce];
    std::size_t size = 0;
    const auto flush = [&] {
      if (size > 0) add(row, {labels, size}, std::span<const T>{deltas, size});
      size = 0;
    };
    for (const Step& s : step) {
      const std::int32_t label = s.label - first_;
      if (s.delta == 0 || label < 0 || label >= tables_.n_classes()) continue;
      labels[size] = label;
      deltas[size++] = static_cast<T>(s.delta);
      if (size == kAtOnce) flush();
    }
    flush();
  }

  // The steps for labels that count from `first`.
  void add(const Row<T>& row, std::span<const std::int32_t> labels,
           std::span<const T> deltas) const {
    Row<T> features = row;
    features.bias = 0;
    this->for_features(features, labels, [&](std::int64_t j, T x) {
      for (std::size_t m = 0; m < labels.size(); ++m) *weight_of(j, labels[m]) += x * deltas[m];
    });
    if (row.bias == 0) return;
    for (std::size_t m = 0; m < labels.size(); ++m) {
      T* const low = carry_ ? carry_ + labels[m] : nullptr;
      add_with_carry(*weight_of(tables_.n_rows() - 1, labels[m]), low, row.bias * deltas[m]);
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 64;  // classes of a step

  T* weight_of(std::int64_t j, std::int32_t label) const {
    T* weight = this->find(this->at(j), label);
    return weight ? weight : tables_.insert(j, static_cast<std::uint32_t>(label));
  }

  HashTables<T>& tables_;
  std::int32_t first_;
  T* carry_;
};

static_assert(WeightScores<HashWeights<float>, float>);
static_assert(WeightAccess<HashUpdates<float>, float>);

}  // namespace manyclass::MANYCLASS_ISA
