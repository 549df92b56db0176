#pragma once
// The two parts of a stochastic step on a shard of the classes (stochastic/kernels.hpp): scores,
// then changes of S.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "simd/exp.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "simd/wide_vector.hpp"
#include "stochastic/kernels.hpp"
#include "weights/dense_weights.hpp"
#include "weights/hash_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
inline constexpr T kNoScore = std::numeric_limits<T>::lowest();

template <class T>
inline DenseWeights<T> dense_weights(const WeightsView<T>& w, std::int64_t width) {
  return {w.data, w.n_features, w.n_classes, w.stride, width};
}

template <class T>
inline void scores_of_row(const DenseShard<T>& shard, const Row<T>& row, T* out) {
  dense_weights(shard.sum, shard.width).scores(row, out);
}
template <class T>
inline void scores_of_row(const TableShard<T>& shard, const Row<T>& row, T* out) {
  HashWeights<T>(*shard.sum).scores(row, out);
}

template <class T>
[[gnu::always_inline]] inline void fetch_row(const DenseShard<T>& shard, const Row<T>& row) {
  dense_weights(shard.sum, shard.width).fetch(row);
}
template <class T>
inline void fetch_row(const TableShard<T>&, const Row<T>&) {}  // tables are found one by one

// S += x step^T, U += A x step^T
template <class T>
inline void add_steps(const DenseShard<T>& shard, const Row<T>& row, std::span<const Step> steps,
                      const StochasticBatch<T>& batch) {
  dense_weights(shard.sum, shard.width).add(row, steps, batch.dense_step);
  if (batch.average_steps == 0) return;
  std::array<Step, 2> later{};
  for (std::size_t m = 0; m < steps.size(); ++m) {
    later[m] = {steps[m].label, steps[m].delta * batch.average_steps};
  }
  dense_weights(shard.average, shard.width)
      .add(row, std::span<const Step>(later).first(steps.size()), batch.dense_step);
}

template <class T>
inline void add_steps(const TableShard<T>& shard, const Row<T>& row, std::span<const Step> steps,
                      const StochasticBatch<T>& batch) {
  std::array<std::int32_t, 2> labels{};
  std::array<T, 2> deltas{};
  for (std::size_t m = 0; m < steps.size(); ++m) {
    labels[m] = steps[m].label;
    deltas[m] = static_cast<T>(steps[m].delta);
  }
  const auto those = std::span<const std::int32_t>(labels).first(steps.size());
  const auto by = std::span<T>(deltas).first(steps.size());
  HashUpdates<T>(*shard.sum).add(row, those, by);
  if (batch.average_steps == 0) return;
  for (T& delta : by) delta *= static_cast<T>(batch.average_steps);
  HashUpdates<T>(*shard.average).add(row, those, by);
}

// The first position of the largest of n scores; n is a multiple of the lanes, p is aligned.
template <class T>
inline std::size_t place_of(const T* p, std::size_t n, T largest) {
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    const std::uint64_t bits = bits_of(equal(load(p + c), Vector<T>{} + largest));
    if (bits != 0) return c + (std::countr_zero(bits));
  }
  return 0;
}

// scores[c] <- exp(scale (s_c - best)), and 0 after the classes; returns their sum.
template <class T>
inline double exponentials(T* scores, std::size_t n_classes, std::size_t size, T best,
                           double scale) {
  const T factor = static_cast<T>(scale);
  for (std::size_t c = 0; c < size; c += kLanes<T>) {
    store(scores + c, exponential<T>((load(scores + c) - best) * factor));
  }
  std::fill(scores + n_classes, scores + size, T{0});
  Vector<T> sum{};
  for (std::size_t c = 0; c < size; c += kLanes<T>) sum += load(scores + c);
  return static_cast<double>(reduce<T>(sum, [](Vector<T> a, Vector<T> b) { return a + b; }));
}

// Score of the best class minus the score of y; factor that corrects the exponentials of a shard.
template <class T>
inline double lead(const StochasticBatch<T>& batch, const ScoreSummary<T>& found) {
  return batch.scale * (static_cast<double>(found.best) - static_cast<double>(found.own));
}
template <class T>
inline double lag(const StochasticBatch<T>& batch, const ScoreSummary<T>& one,
                  const ScoreSummary<T>& all) {
  return std::exp(batch.scale * (static_cast<double>(one.best) - static_cast<double>(all.best)));
}

// s_c += factor base_c for n classes: scores of S, with W = scale S and factor = 1 / scale.
template <class T>
inline void add_scaled(const T* base, T factor, std::size_t n, T* __restrict s) {
  for (std::size_t c = 0; c < n; ++c) s[c] += factor * base[c];
}

template <class T, class Shard>
void score_batch(const Examples<T>& examples, const Shard& shard, const StochasticBatch<T>& batch) {
  const std::size_t size = shard.size();
  const auto n_classes = shard.n_classes();
  const bool log_loss = batch.loss == StochasticLoss::kLogLoss;
  T* s = batch.scores;
  if (batch.next >= 0) fetch_row(shard, examples.x.row(batch.next));
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const std::int32_t i = batch.rows[b];
    scores_of_row(shard, examples.x.row(i), s);
    if (const T* base = examples.base.of(i)) {
      add_scaled(base + batch.first(), static_cast<T>(1 / batch.scale), n_classes, s);
    }
    std::fill(s + n_classes, s + size, kNoScore<T>);
    ScoreSummary<T> found{};
    const std::int32_t y = examples.labels[i] - batch.first();
    if (0 <= y && y < shard.n_classes()) {
      found.own = s[y];
      if (!log_loss) s[y] = kNoScore<T>;
    }
    found.best = largest(s, size);
    if (log_loss) {
      found.sum = exponentials(s, n_classes, size, found.best, batch.scale);
      s += size;
    } else {
      found.label = static_cast<std::int32_t>(place_of(s, size, found.best));
    }
    batch.summaries[b * batch.n_shards + batch.shard] = found;
  }
}

// Combined summaries of all shards for row b of the batch; the label is counted over all classes.
template <class T>
inline ScoreSummary<T> joined(const StochasticBatch<T>& batch, std::size_t b, std::int32_t y) {
  const std::span<const ScoreSummary<T>> all =
      batch.summaries.subspan(b * batch.n_shards, batch.n_shards);
  ScoreSummary<T> found = all[0];
  std::size_t at = 0;
  for (std::size_t shard = 1; shard < all.size(); ++shard) {
    if (all[shard].best > all[at].best) at = shard;
  }
  found.best = all[at].best;
  found.label = all[at].label + static_cast<std::int32_t>(at) * batch.shard_size;
  found.own = all[y / batch.shard_size].own;
  if (batch.loss == StochasticLoss::kLogLoss) {
    found.sum = 0;
    for (const ScoreSummary<T>& one : all) found.sum += one.sum * lag(batch, one, found);
  }
  return found;
}

// v_i l_i
template <class T>
inline double weighted_loss(const ScoreSummary<T>& found, double weight,
                            const StochasticBatch<T>& batch) {
  const double ahead = lead(batch, found);
  if (batch.loss == StochasticLoss::kLogLoss) return weight * (ahead + std::log(found.sum));
  return weight * std::max(0.0, batch.loss == StochasticLoss::kHinge ? 1 + ahead : ahead);
}

// The step along the negative sub-gradient of a maximum: x for y, -x for the best other class.
// Returns whether there was a step.
template <class T, class Shard>
inline bool move_two(const Shard& shard, const Row<T>& row, std::int32_t y, double weight,
                     const ScoreSummary<T>& found, const StochasticBatch<T>& batch) {
  const bool hinge = batch.loss == StochasticLoss::kHinge;
  if (hinge ? 1 + lead(batch, found) <= 0 : found.best < found.own) return false;
  std::array<Step, 2> steps{};
  std::size_t n_steps = 0;
  const auto change = [&](std::int32_t label, double delta) {
    label -= batch.first();
    if (0 <= label && label < shard.n_classes()) steps[n_steps++] = {label, delta};
  };
  change(y, weight);
  change(found.label, -weight);
  if (n_steps > 0) add_steps(shard, row, std::span<const Step>(steps).first(n_steps), batch);
  return true;
}

// The step v_i ([c = y] - p_c) x for all classes of the shard; `e` are the `exponentials`.
template <class T>
inline void move_all(const DenseShard<T>& shard, const Row<T>& row, std::int32_t y, double weight,
                     double share, T* e, const StochasticBatch<T>& batch) {
  const auto scale_by = [&](T factor) {
    for (std::size_t c = 0; c < shard.size(); c += kLanes<T>) store(e + c, load(e + c) * factor);
  };
  scale_by(static_cast<T>(-weight * share));
  y -= batch.first();
  if (0 <= y && y < shard.n_classes()) e[y] += static_cast<T>(weight);
  dense_weights(shard.sum, shard.width).add_vectors(row, e);
  if (batch.average_steps == 0) return;
  scale_by(static_cast<T>(batch.average_steps));
  dense_weights(shard.average, shard.width).add_vectors(row, e);
}

template <class T, class Shard>
double step_batch(const Examples<T>& examples, const Shard& shard,
                  const StochasticBatch<T>& batch) {
  double losses = 0;
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const std::int32_t i = batch.rows[b];
    const std::int32_t y = examples.labels[i];
    const double weight = examples.costs[i];
    const ScoreSummary<T> found = joined(batch, b, y);
    losses += weighted_loss(found, weight, batch);
    if (batch.loss != StochasticLoss::kLogLoss) {
      const bool moves = move_two(shard, examples.x.row(i), y, weight, found, batch);
      if (!batch.moved.empty() && batch.shard == 0) {
        batch.moved[i] = moves ? found.label : -1;
      }
    } else if constexpr (requires { shard.width; }) {
      const ScoreSummary<T>& own = batch.summaries[b * batch.n_shards + batch.shard];
      move_all(shard, examples.x.row(i), y, weight, lag(batch, own, found) / found.sum,
               batch.scores + b * shard.size(), batch);
    }
  }
  return losses;
}

}  // namespace manyclass::MANYCLASS_ISA
