#pragma once
// Sparse W for many classes: one small hash table per feature, class -> weight, or a plain row of
// all weights if a feature has many classes. The memory of tables comes from an arena.
//
// A table stores its classes in nearly ascending order: class c of n is at or just after the slot
// c * capacity / n (linear probing), so that a pass over the table visits the scores in order. Even
// spacing needs classes in random order; the caller permutes them. If neighboring classes share
// features, as in the depth-first order of a taxonomy, tables would have long runs of full slots.
// In this case, multiples of the golden ratio spread the classes (Knuth, vol. 3, sec. 6.4).
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "simd/compensated_sum.hpp"

namespace manyclass {

// A slot of a table. A vacant slot has weight 0 and a label with this bit set, so that a pass over
// the table needs no branch.
inline constexpr std::uint32_t kVacant = 1u << 31;

template <class T>
struct WeightEntry {
  std::uint32_t label;
  T weight;
};

// Memory for tables and rows, in blocks of a few sizes. Freed blocks are reused.
class Arena {
 public:
  // `size_class` identifies the size of the block.
  void* take(std::size_t n_bytes, int size_class);
  void give_back(void* block, int size_class) { free_[size_class].push_back(block); }
  std::int64_t n_bytes() const { return n_bytes_; }
  void clear();

  static constexpr int kSizeClasses = 64;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::array<std::vector<void*>, kSizeClasses> free_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::int64_t n_bytes_ = 0;
};

template <class T>
class HashTables {
 public:
  // The weights of one feature.
  struct Row {
    void* data = nullptr;
    std::uint32_t size = 0;      // classes in the table
    std::uint32_t capacity = 0;  // its slots; kDense: a plain row of all weights

    bool is_dense() const { return capacity == kDense; }
    T* weights() const { return static_cast<T*>(data); }
    std::span<WeightEntry<T>> entries() const {
      return {static_cast<WeightEntry<T>*>(data), capacity};
    }
  };
  static constexpr std::uint32_t kDense = UINT32_MAX;
  static constexpr std::size_t kBlock = 64 / sizeof(T);  // plain rows end with whole blocks

  // A plain row replaces tables with a slot for every `dense_from` classes: it may be larger (not
  // with 2), but is read in whole vectors. `clustered`: neighboring classes share features.
  HashTables(std::int64_t n_rows, std::int32_t n_classes, std::size_t dense_from,
             bool clustered = false)
      : rows_(n_rows),
        n_classes_(n_classes),
        scale_(clustered ? kGoldenRatio : 0xffffffffu / static_cast<std::uint32_t>(n_classes)),
        dense_from_(dense_from) {}

  std::int64_t n_rows() const { return std::ssize(rows_); }
  std::int32_t n_classes() const { return n_classes_; }
  std::size_t stride() const { return (n_classes_ + kBlock - 1) / kBlock * kBlock; }
  const Row& row(std::int64_t j) const { return rows_[j]; }

  // The first slot in the search for a class.
  [[gnu::always_inline]] std::uint32_t home(std::uint32_t label, std::uint32_t capacity) const {
    return static_cast<std::uint32_t>((std::uint64_t{label * scale_} * capacity) >> 32);
  }
  // Insert a class with weight 0. The table must not contain it.
  T* insert(std::int64_t j, std::uint32_t label);

  // Reserve room for n classes of a feature without classes.
  void reserve(std::int64_t j, std::size_t n);
  void drop(std::int64_t j);     // weights of a feature = 0; frees its memory
  void clear();                  // W = 0
  std::int64_t n_slots() const;  // weights that a pass over all features reads
  std::int64_t n_bytes() const;
  // Add ||W||^2; the sum of each feature is not compensated.
  void add_squares(CompensatedSum& sum) const;
  double squared_norm() const {
    CompensatedSum sum;
    add_squares(sum);
    return sum.value();
  }
  // Call `take(label, weight)` for the non-zero weights of a feature, in any order.
  template <class Take>
  void for_each(std::int64_t j, Take take) const {
    const Row& r = row(j);
    if (r.is_dense()) {
      for (std::int32_t c = 0; c < n_classes_; ++c) {
        if (r.weights()[c] != 0) take(static_cast<std::uint32_t>(c), r.weights()[c]);
      }
      return;
    }
    for (const WeightEntry<T>& entry : r.entries()) {
      if (entry.weight != 0) take(entry.label, entry.weight);
    }
  }

 private:
  static constexpr std::uint32_t kGoldenRatio = 0x9e3779b9;  // (golden ratio - 1) times 2^32

  void grow(Row& row);
  void grow_to(Row& row, std::uint32_t capacity);
  void give_back(const Row& row);
  void to_dense(Row& row);
  WeightEntry<T>* new_table(std::uint32_t capacity);

  std::vector<Row> rows_;
  std::int32_t n_classes_;
  std::uint32_t scale_;
  std::size_t dense_from_;
  Arena arena_;
};

}  // namespace manyclass
