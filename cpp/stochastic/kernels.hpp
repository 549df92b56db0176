#pragma once
// Stochastic sub-gradient steps on
//
//   f(W) = alpha/2 ||W||^2 + sum_i v_i l(W; x_i, y_i) / sum_i v_i        (v_i: weights of examples)
//
//   hinge        l = max(0, 1 + max_{c != y} w_c.x - w_y.x)    dl = x at arg max, -x at y, if l > 0
//   perceptron   l = max(0, max_{c != y} w_c.x - w_y.x)        likewise, if the maximum >= w_y.x
//   log_loss     l = log sum_c exp(w_c.x) - w_y.x              dl_c = (p_c - [c = y]) x
//
// Step t takes a batch of examples A_t and, with T_t the weight of all examples of steps 1 to t,
//
//   W_t = T_{t-1} / T_t W_{t-1} - 1 / (alpha T_t) sum_{i in A_t} v_i dl_i(W_{t-1}).
//
// With v_i = 1 and |A_t| = r this is the step of Chen et al. 2011, algorithm 1 (eq. 14), which
// shrinks W by 1 - 1/t and adds a step of length 1/(alpha t r): T_t = r t. It follows that
// W_t = S_t / (alpha T_t), and S_t is minus the sum of all v_i dl_i so far. The kernels store S, so
// that shrinking takes no time.
//
// Averages: sum_s a_s S_s over the steps since averaging began is A S - U, with A = sum_s a_s and
// U the sum of the steps of S, each multiplied by A before the step.
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "weights/hash_tables.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

enum class StochasticLoss { kHinge, kLogLoss, kPerceptron };

// Summary of an example's scores on a shard of the classes.
template <class T>
struct ScoreSummary {
  T own;               // the score of y, if it is in the shard
  T best;              // the largest score: without y (hinge, perceptron), or of all classes
  std::int32_t label;  // the class of `best`, counted in the shard
  double sum;          // log_loss: sum_c exp(scale (s_c - best))
};

// Some neighboring classes of S and, with averages, of U.
template <class T>
struct DenseShard {
  WeightsView<T> sum;
  WeightsView<T> average;  // data: null without averages
  std::int64_t width;      // numbers per feature, whole blocks

  std::size_t size() const { return width; }
  std::int32_t n_classes() const { return sum.n_classes; }
  bool averages() const { return average.data != nullptr; }
};

template <class T>
struct TableShard {
  HashTables<T>* sum;
  HashTables<T>* average;  // null without averages

  std::size_t size() const { return sum->stride(); }
  std::int32_t n_classes() const { return sum->n_classes(); }
  bool averages() const { return average != nullptr; }
};

// The part of a batch for one shard.
template <class T>
struct StochasticBatch {
  StochasticLoss loss;
  std::span<const std::int32_t> rows;
  std::int32_t next;     // a row of the next batch, or -1
  double scale;          // W = scale S
  double average_steps;  // A; 0 before averaging
  std::size_t shard;     // its number, of n_shards with shard_size classes each except the last
  std::size_t n_shards;
  std::int32_t shard_size;
  std::span<ScoreSummary<T>> summaries;  // of row b and shard s: [b * n_shards + s]
  T* scores;      // of one row or (log_loss) of all rows: the shard's size for each, aligned
  T* dense_step;  // the shard's size, zeros before and after, aligned
  std::span<std::int32_t> moved;  // hinge, perceptron: [i] = class with a step against i, or -1

  std::int32_t first() const { return static_cast<std::int32_t>(shard) * shard_size; }
};

template <class T, class Shard>
struct StochasticKernels {
  // Score the rows, and write the summaries of the shard.
  void (*score)(const Examples<T>&, const Shard&, const StochasticBatch<T>&);
  // Add the steps of the rows to S (and U), given all summaries. Returns sum_i v_i l_i.
  double (*move)(const Examples<T>&, const Shard&, const StochasticBatch<T>&);
};

}  // namespace manyclass
