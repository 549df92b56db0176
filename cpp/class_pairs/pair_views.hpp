#pragma once
// A pair of class blocks, whose examples are visited together, and W of the pair as the kernels see
// it: two slots side by side in an array, or two sets of hash tables.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "class_pairs/pair_kernels.hpp"
#include "class_pairs/pair_tables.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "subproblem/entering_classes.hpp"

namespace manyclass {

// The columns of a slot, the classes in each, and the column of every y_i (kElsewhere where y_i is
// in neither block). own_too: full loops also score all classes of an example's own block.
struct ClassPair {
  ClassPair(std::int32_t width_, std::int32_t n_first, std::int32_t n_second,
            std::span<const std::int32_t> labels_, bool own_too_)
      : width(width_), n_classes{n_first, n_second}, labels(labels_), own_too(own_too_) {
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
      : best_(2 * static_cast<std::size_t>(weights.width())) {
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
