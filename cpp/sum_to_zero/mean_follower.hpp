#pragma once
// The mean m of the weights of all classes, if the classes are distributed over ranks. The sum of
// all u_c is
//
//     sum_c u_c = sum_i sigma_i x_i,    sigma_i = sum_c v_ic z_ic,  v_ic = 1 for c = y_i, else -1.
//
// Each rank knows its part of sigma_i, one number for each example. m follows mean_c u_c by
// successive over-relaxation, coordinate by coordinate. Source: Alber et al. 2017, sec. 3 (separate
// mean; in the paper, ranks send the vector itself).
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/examples.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// The state of one rank, for each feature and, last, the intercept.
class MeanFollower {
 public:
  explicit MeanFollower(std::size_t n_features)
      : entries_(n_features + 1), is_listed_(n_features) {}

  std::int64_t n_features() const { return std::ssize(entries_) - 1; }
  double sum(std::int64_t j) const { return entries_[j].sum; }
  double behind(std::int64_t j) const { return entries_[j].behind; }
  // m is the mean of all u_c; the sum S is given.
  void restart(std::span<const double> sum) {
    for (std::size_t j = 0; j < entries_.size(); ++j) entries_[j] = {sum[j], 0};
  }

  template <class T>
  double dot(const Row<T>& row) const {
    double total = static_cast<double>(row.bias) * entries_.back().sum;
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      total += static_cast<double>(row.values[p]) * entries_[row.indices[p]].sum;
    }
    return total;
  }
  // Add `here` x to S, and `everywhere` x to the mean of all u_c. If m then differs from the mean,
  // the features of x are listed. All ranks list the same features because m is the same on all
  // ranks.
  template <class T>
  void move(const Row<T>& row, double here, double everywhere) {
    const auto add = [&](Entry& entry, double x) {
      entry.sum += here * x;
      entry.behind += everywhere * x;
    };
    add(entries_.back(), static_cast<double>(row.bias));
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const std::int32_t j = row.indices[p];
      add(entries_[j], static_cast<double>(row.values[p]));
      if (everywhere != 0 && !std::exchange(is_listed_[j], 1)) listed_.push_back(j);
    }
  }
  // Call follow(j) for all listed features and the intercept, then clear the list.
  template <class Follow>
  void each_listed(Follow follow) {
    for (const std::int32_t j : listed_) {
      is_listed_[j] = 0;
      follow(j);
    }
    listed_.clear();
    follow(n_features());
  }
  // Add v to m_j, which changes all w_c of this rank; returns the change of -1/2 sum_c ||w_c||^2.
  double take_off(std::int64_t j, double v, std::int32_t n_classes) {
    Entry& entry = entries_[j];
    const double gain = v * (entry.sum - 0.5 * n_classes * v);
    entry.sum -= n_classes * v;
    entry.behind -= v;
    return gain;
  }

 private:
  struct Entry {
    double sum;     // of w_c, over the classes of this rank
    double behind;  // mean_c u_c - m, over all classes
  };
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> is_listed_;
  std::vector<std::int32_t> listed_;
};

// Subtract v from w_j of all classes.
template <class T>
void take_off_classes(const WeightsView<T>& w, std::int64_t j, T v) {
  if (v == 0) return;
  T* const row = w.data + j * w.stride;
  for (std::int32_t c = 0; c < w.n_classes; ++c) row[c] -= v;
}

// Visits have changed sigma of `rows` by `moved`, and m by the drift. The mean of all u_c has moved
// sum_i steps_i x_i further than m. For the features of these rows, m moves by `relaxation`
// times its distance from the mean. Column k of W stores m, which is subtracted from every w_c. The
// m of the intercepts is subtracted at once: all examples change the intercepts, so their sums grow
// and the difference would be lost to cancellation. Moves that rounding removes in the column wait
// until they are larger. Returns the gain of the part of D of these classes by all moves of m,
// without the gains of the visits.
template <class T>
double follow_mean(const Examples<T>& examples, const WeightsView<T>& w, double drift,
                   std::span<const std::int32_t> rows, const double* moved, const double* steps,
                   double relaxation, MeanFollower& mean) {
  const Csr<T>& x = examples.x;
  double gain = 0;
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (moved[m] == 0 && steps[m] == 0) continue;
    const Row<T> row = x.row(rows[m]);
    const double drifted = drift * moved[m], rest = moved[m] - w.n_classes * drifted;
    if (drifted != 0) gain += drifted * (mean.dot(row) + 0.5 * examples.norms[rows[m]] * rest);
    mean.move(row, rest, steps[m]);
  }
  T* const column = w.data + w.n_classes;
  T* const intercepts = w.data + x.n_features * w.stride;
  mean.each_listed([&](std::int64_t j) {
    T& off = column[j * w.stride];
    const T before = off;
    off += static_cast<T>(relaxation * mean.behind(j));
    gain += mean.take_off(j, static_cast<double>(off) - static_cast<double>(before), w.n_classes);
  });
  take_off_classes(w, x.n_features, std::exchange(intercepts[w.n_classes], T{0}));
  return gain;
}

// Set m to the mean of all u_c, and subtract the column from the classes; the column is 0 then.
// Returns the gain of the part of D of these classes.
template <class T>
double settle_mean(const WeightsView<T>& w, MeanFollower& mean) {
  double gain = 0;
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    const double rest = mean.behind(j);
    gain += mean.take_off(j, rest, w.n_classes);
    // One after the other: rounding their sum would shift all classes alike.
    take_off_classes(w, j, std::exchange(w.data[j * w.stride + w.n_classes], T{0}));
    take_off_classes(w, j, static_cast<T>(rest));
  }
  return gain;
}

}  // namespace manyclass
