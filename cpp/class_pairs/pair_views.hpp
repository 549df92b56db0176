#pragma once
// A pair of class blocks, whose examples are visited together, and W of the pair as the kernels use
// it: two slots next to each other in an array, or two sets of hash tables.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "class_pairs/pair_kernels.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "simd/compensated_sum.hpp"
#include "subproblem/entering_classes.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass {

// W of a pair in hash tables, one set per block, so that each block can be sent separately.
template <class T>
class PairTables {
 public:
  PairTables(std::int64_t n_rows, std::int32_t width, std::size_t dense_from)
      : slots_{{n_rows, width, dense_from}, {n_rows, width, dense_from}} {}

  PairTables(const PairTables&) = delete;
  PairTables& operator=(const PairTables&) = delete;

  std::int64_t n_rows() const { return slots_[0].n_rows(); }
  std::int32_t width() const { return slots_[0].n_classes(); }
  HashTables<T>& slot(int s) { return slots_[s]; }
  const HashTables<T>& slot(int s) const { return slots_[s]; }

  void clear() {
    for (HashTables<T>& slot : slots_) slot.clear();
  }
  double squared_norm() const {
    CompensatedSum sum;
    for (const HashTables<T>& slot : slots_) slot.add_squares(sum);
    return sum.value();
  }
  // The non-zero weights of the last row, in any order.
  std::vector<T> intercepts() const {
    std::vector<T> found;
    for (const HashTables<T>& slot : slots_) {
      slot.for_each(n_rows() - 1, [&](std::uint32_t, T weight) { found.push_back(weight); });
    }
    return found;
  }
  std::int64_t n_slots() const { return slots_[0].n_slots() + slots_[1].n_slots(); }
  std::int64_t n_bytes() const { return slots_[0].n_bytes() + slots_[1].n_bytes(); }

 private:
  HashTables<T> slots_[2];
};

// The columns of a slot, the classes in each, and the column of every y_i (kElsewhere if y_i is in
// neither block). own_too: full loops also score all classes of an example's own block. `classes`
// has the class of every column of both slots, or -1 if there is none, for base scores and factors.
struct ClassPair {
  ClassPair(std::int32_t width_, std::int32_t n_first, std::int32_t n_second,
            std::span<const std::int32_t> labels_, bool own_too_,
            std::span<const std::int32_t> classes_)
      : width(width_),
        n_classes{n_first, n_second},
        labels(labels_),
        own_too(own_too_),
        classes(classes_) {
    require(width > 0 && width < (1 << 30), "a slot must have a column");
    for (const std::int32_t n : n_classes) {
      require(0 <= n && n <= width, "a slot has too few columns for its classes");
    }
    for (const std::int32_t label : labels) {
      require(kElsewhere <= label && label < 2 * width, "label out of range");
    }
  }
  std::int32_t width;
  std::int32_t n_classes[2];
  std::span<const std::int32_t> labels;
  bool own_too;
  std::span<const std::int32_t> classes;
};

template <class T>
class DensePair {
 public:
  using View = PairView<T>;
  DensePair(const ClassPair& pair, const MatrixView<T>& weights, std::int64_t n_features) {
    const std::int64_t stride = weights.n_columns;
    require(weights.n_rows == n_features + 1, "weights must have n_features + 1 rows");
    require(stride == 2 * pair.width && stride * sizeof(T) % 128 == 0,
            "rows of weights must be two slots, in whole blocks of 64 bytes");
    require(weights.is_aligned(), "weights must be aligned to 64 bytes");
    view = {{weights.data, n_features, static_cast<std::int32_t>(stride), stride},
            pair.width,
            {pair.n_classes[0], pair.n_classes[1]},
            pair.own_too};
  }
  View view;
};

template <class T>
class TablePair {
 public:
  using View = TablePairView<T>;
  TablePair(const ClassPair& pair, PairTables<T>& weights, std::int64_t n_features)
      : best_(2 * weights.width()) {
    require(weights.n_rows() == n_features + 1, "weights must have n_features + 1 rows");
    require(weights.width() == pair.width, "slots of weights must be as wide as the pair's");
    view = {{&weights.slot(0), &weights.slot(1)},
            pair.width,
            {pair.n_classes[0], pair.n_classes[1]},
            pair.own_too,
            best_.data()};
  }
  View view;

 private:
  std::vector<Scored<T>> best_;
};

}  // namespace manyclass
