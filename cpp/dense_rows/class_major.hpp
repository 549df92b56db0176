#pragma once
// Dense W with one row per class, and a batch of examples as dense rows, as memory. A row of either
// has `stride` numbers, whole blocks of 64 bytes: d features, the intercept's weight or the bias,
// and zeros.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"

namespace manyclass {

template <class T>
struct ClassMajorView {
  T* data;  // 64-byte aligned, n_classes x stride
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;

  T* of(std::int64_t c) const { return data + c * stride; }
};

// Number of examples visited together. Larger batches read W less often but correct more scores.
inline constexpr std::int64_t kBatchRows = 32;

// Length of a row of scores: whole blocks of 64 bytes.
template <class T>
std::int64_t score_stride(std::int32_t n_classes) {
  constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(T));
  return (n_classes + kBlock - 1) / kBlock * kBlock;
}

// The classes of a thread are whole blocks of this size: whole tiles of products (row_product.hpp).
inline constexpr std::int64_t kClassBlock = 12;

// A block of classes of W, and some of its columns: whole blocks of 64 bytes.
struct Tile {
  std::int64_t first_class, last_class, first_column, last_column;

  std::int64_t n_classes() const { return last_class - first_class; }
  std::int64_t n_columns() const { return last_column - first_column; }
};
inline constexpr std::int64_t kTileBytes = 1024;  // maximum size of the columns of a tile

// Tiles of W, which the threads of a round share (threads/rounds.hpp). Each tile reads some columns
// of the round's rows and steps of some classes. Sums do not depend on the number of threads.
template <class T>
class RoundTiles {
 public:
  RoundTiles(std::int32_t n_classes, std::int64_t stride)
      : n_classes_(n_classes),
        n_blocks_(stride / kBlock),
        columns_(std::max<std::int64_t>(1, stride * sizeof(T) / kColumnBytes)),
        squares_(columns_ * ((n_classes + kClassBlock - 1) / kClassBlock)) {}

  // Store the results of add(tile), parts of ||Delta W||^2, for the tiles of a member of a team.
  template <class Add>
  void measure(int member, int n_members, Add add) {
    const std::size_t last = begin(member + 1, n_members);
    for (std::size_t t = begin(member, n_members); t < last; ++t) squares_[t] = add(tile(t));
  }
  template <class Add>
  void each(int member, int n_members, Add add) const {
    const std::size_t last = begin(member + 1, n_members);
    for (std::size_t t = begin(member, n_members); t < last; ++t) add(tile(t));
  }
  // ||Delta W||^2
  double squares() const { return std::accumulate(squares_.begin(), squares_.end(), 0.0); }

 private:
  static constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(T));
  // Size of the rows of a tile, such that the rows of some dozen batches fit into the cache of a
  // core; always less than kTileBytes.
  static constexpr std::int64_t kColumnBytes = kTileBytes / 2;

  std::size_t begin(std::size_t member, std::size_t n_members) const {
    return squares_.size() * member / n_members;
  }
  // Neighboring tiles in this order have the same columns.
  Tile tile(std::int64_t t) const {
    const std::int64_t in_column = std::ssize(squares_) / columns_;
    const std::int64_t column = t / in_column, c = t % in_column * kClassBlock;
    const auto at = [&](std::int64_t m) { return n_blocks_ * m / columns_ * kBlock; };
    return {c, std::min<std::int64_t>(c + kClassBlock, n_classes_), at(column), at(column + 1)};
  }

  std::int64_t n_classes_, n_blocks_, columns_;
  std::vector<double> squares_;
};

// The step of a batch on one class: w_c += delta x, with x in the given row of the batch.
template <class T>
struct BatchStep {
  std::int32_t row;
  T delta;
};

// A batch between the copies of its rows and the update of W. The caller owns the arrays.
template <class T>
struct RowBatch {
  std::span<const std::int32_t> order;  // the examples, at most kBatchRows
  T* rows;                              // order.size() x stride of W
  T* gram;                              // kBatchRows x kBatchRows: x_b . x_j for j < b
  T* scores;                            // kBatchRows x score_stride; steps, after the visits
  Step* steps;                          // kBatchRows x (n_classes + 2), in order of examples
  std::size_t* ends;                    // kBatchRows: where the steps of each example end
  bool* is_dense;                       // kBatchRows: whether `scores` holds the example's step
  double* means;                        // kBatchRows: the part of the step that every class loses
  std::size_t* class_begins;            // n_classes + 1, into class_steps
  BatchStep<T>* class_steps;            // kBatchRows x n_classes
  T* mean_step;                         // stride: sum_b means_b x_b

  std::int64_t size() const { return std::ssize(order); }
};

// Notes of the visits of a batch in a round (dense_rows/round_visits.hpp). The caller owns the
// arrays.
template <class T>
struct RoundNotes {
  T* shifts;              // kBatchRows x score_stride: corrections of the scores
  DualEntry<T>* old;      // kBatchRows x n_classes: z before the visits, by example
  std::size_t* old_ends;  // kBatchRows: where the old z of each example ends
  bool* moved;            // kBatchRows: whether the z of the example changed
  double* slope;          // of D along the batch's step, at the W of the round
  double* ridge;          // quadratic decrease of D along the step (squared hinge)
};

}  // namespace manyclass
