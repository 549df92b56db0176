#pragma once
// Columns of X that can be merged: x_j = a_j g, with the same rows and exactly proportional
// numbers. The features are rotated so that each set of columns becomes one column ||a|| g. W,
// scores, P and D stay the same, with w_j = (a_j / ||a||) w_g.
//
// Numbers are compared by their ratio to the first number of their column, in double. Proportional
// columns have equal ratios. Other columns of floats have ratios that differ by 2^-48 or more.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/array_views.hpp"
#include "data/examples.hpp"

namespace manyclass {

// Sets of columns. `groups` and `factors` have an entry for each column: its set, and a_j / ||a||
// or 0 for a column of zeros. `first` is the first column of each set.
struct MergedColumns {
  std::vector<std::int32_t> groups;
  std::vector<double> factors;
  std::vector<std::int32_t> first;
};

// Larger and smaller numbers (also denormal ones) are not merged: ratios and norms might overflow.
inline constexpr double kLargestMerged = 0x1p100, kSmallestMerged = 0x1p-100;

inline std::uint64_t mixed(std::uint64_t bits) {  // the finalizer of SplitMix64
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// The print of a column after some rows. `hash` is a sum over its numbers, of row and ratio.
struct ColumnPrint {
  double first = 0;  // its first number; 0: no number yet
  std::uint64_t hash = 0;
  std::int32_t count = 0;
  bool odd = false;  // must not be merged

  void add(std::int64_t row, double value) {
    const double size = std::abs(value);
    odd |= !(size >= kSmallestMerged && size <= kLargestMerged);
    if (count == 0) first = value;
    ++count;
    const double ratio = value / first;
    const auto place = static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15u;
    hash += mixed(place ^ std::bit_cast<std::uint64_t>(ratio));
  }
  std::uint64_t key() const { return hash ^ mixed(static_cast<std::uint64_t>(count)); }
};

// The fraction of the non-zeros of X that would remain, estimated from some of its rows. Columns of
// these rows that differ are separated row by row, until the rest would not change the result.
template <class T>
class MergedSample {
 public:
  MergedSample(const Csr<T>& x, std::int64_t n_rows, double enough) : x_(x), enough_(enough) {
    n_rows = std::min(n_rows, x.n_rows);
    places_.assign(x.n_features, -1);
    sampled_.assign(x.n_rows, false);
    for (std::int64_t t = 0; t < n_rows; ++t) {
      // One row from each of n_rows parts, at a random position.
      const std::int64_t begin = t * x.n_rows / n_rows, end = (t + 1) * x.n_rows / n_rows;
      const auto shift =
          mixed(static_cast<std::uint64_t>(t)) % static_cast<std::uint64_t>(end - begin);
      take(begin + static_cast<std::int64_t>(shift));
    }
  }

  double share() {
    constexpr std::int64_t kParts = 16;
    double found = separated();
    for (std::int64_t part = 0; part < kParts && found < enough_; ++part) {
      for (std::int64_t i = part; i < x_.n_rows; i += kParts) {
        if (!sampled_[i]) look(i);
      }
      if (((part + 1) & part) == 0) found = separated();  // after 1, 2, 4, ... parts
    }
    return found;
  }

 private:
  void take(std::int64_t i) {
    sampled_[i] = true;
    const Row<T> row = x_.row(i);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      if (row.values[p] == 0) continue;
      ++total_;
      std::int32_t& place = places_[row.indices[p]];
      if (place < 0) {
        place = static_cast<std::int32_t>(prints_.size());
        prints_.emplace_back();
        columns_.push_back(row.indices[p]);
        weights_.push_back(0);
        alive_.push_back(place);
      }
      prints_[place].add(i, row.values[p]);
      ++weights_[place];
    }
  }

  void look(std::int64_t i) {
    const Row<T> row = x_.row(i);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const std::int32_t place = places_[row.indices[p]];
      if (place >= 0 && row.values[p] != 0) {
        prints_[place].add(i, row.values[p]);
      }
    }
  }

  // Remove columns that differ from all others; return the fraction if the others are merged.
  double separated() {
    const auto key = [this](std::int32_t place) { return prints_[place].key(); };
    std::sort(alive_.begin(), alive_.end(),
              [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
    std::vector<std::int32_t> kept;
    std::int64_t saved = 0;
    for (std::size_t begin = 0, end = 0; begin < alive_.size(); begin = end) {
      while (end < alive_.size() && key(alive_[end]) == key(alive_[begin])) ++end;
      const auto size = static_cast<std::int64_t>(end - begin);
      for (std::size_t p = begin; p < end; ++p) {
        const auto place = alive_[p];
        if (size > 1 && !prints_[place].odd) {
          kept.push_back(alive_[p]);
        } else {
          places_[columns_[place]] = -1;
        }
      }
      saved += (size - 1) * weights_[alive_[begin]];
    }
    alive_ = std::move(kept);
    return total_ == 0 ? 1.0 : 1.0 - static_cast<double>(saved) / static_cast<double>(total_);
  }

  Csr<T> x_;
  double enough_;
  std::int64_t total_ = 0;
  std::vector<std::int32_t> places_;  // positions of columns in the sample; else -1
  std::vector<bool> sampled_;
  std::vector<ColumnPrint> prints_;
  std::vector<std::int32_t> columns_, alive_;
  std::vector<std::int64_t> weights_;  // numbers in the sampled rows
};

// The first column with the same print as each column; -1 for columns that are not merged.
inline std::vector<std::int32_t> first_alike(std::span<const ColumnPrint> prints) {
  std::vector<std::int32_t> with(prints.size(), -1);
  // A hash table of columns, with linear probing.
  std::vector<std::int32_t> slots(std::bit_ceil(2 * prints.size() + 1), -1);
  for (std::size_t j = 0; j < prints.size(); ++j) {
    if (prints[j].count == 0 || prints[j].odd) continue;
    std::size_t at = prints[j].key() & (slots.size() - 1);
    const auto differs = [&](std::int32_t other) { return prints[other].key() != prints[j].key(); };
    while (slots[at] >= 0 && differs(slots[at])) at = (at + 1) & (slots.size() - 1);
    if (slots[at] < 0) {
      slots[at] = static_cast<std::int32_t>(j);
    } else {
      with[j] = with[slots[at]] = slots[at];
    }
  }
  return with;
}

// Whether each column is, number by number, the multiple of the column `with` given by its print.
template <class T>
std::vector<bool> verified(const Csr<T>& x, std::span<const ColumnPrint> prints,
                           std::span<const std::int32_t> with) {
  std::vector<bool> same(with.size(), true);
  struct Seen {
    std::int64_t row = -1;
    double ratio = 0;
  };
  std::vector<Seen> seen(with.size());
  const auto ratio_of = [&](std::size_t j, T value) {
    return static_cast<double>(value) / prints[j].first;
  };
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    const Row<T> row = x.row(i);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const auto j = row.indices[p];
      if (row.values[p] != 0 && with[j] == row.indices[p])
        seen[j] = {i, ratio_of(j, row.values[p])};
    }
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const auto j = row.indices[p];
      if (row.values[p] == 0 || with[j] < 0 || with[j] == row.indices[p]) continue;
      const Seen& other = seen[with[j]];
      if (other.row != i || other.ratio != ratio_of(j, row.values[p])) same[j] = false;
    }
  }
  return same;
}

// Find all columns that can be merged. The first one of the columns with equal prints is compared
// with the others.
template <class T>
MergedColumns merged_columns(const Csr<T>& x) {
  const auto d = x.n_features;
  std::vector<ColumnPrint> prints(d);
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    const Row<T> row = x.row(i);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      if (row.values[p] != 0) prints[row.indices[p]].add(i, row.values[p]);
    }
  }
  const std::vector<std::int32_t> with = first_alike(prints);
  const std::vector<bool> same = verified<T>(x, prints, with);
  MergedColumns found{std::vector<std::int32_t>(d, 0), std::vector<double>(d, 0), {}};
  std::vector<double> squares;
  for (std::int64_t j = 0; j < d; ++j) {
    if (prints[j].count == 0) continue;
    const bool joins =
        with[j] >= 0 && with[j] != j && same[j] && prints[j].count == prints[with[j]].count;
    const std::int64_t head = joins ? with[j] : j;
    if (!joins) {
      found.groups[j] = static_cast<std::int32_t>(found.first.size());
      found.first.push_back(static_cast<std::int32_t>(j));
      squares.push_back(0);
    }
    found.groups[j] = found.groups[head];
    found.factors[j] = joins ? prints[j].first / prints[head].first : 1.0;
    squares[found.groups[j]] += found.factors[j] * found.factors[j];
  }
  for (std::int64_t j = 0; j < d; ++j) {
    if (prints[j].count != 0) {
      found.factors[j] /= std::sqrt(squares[found.groups[j]]);
    }
  }
  return found;
}

// X with one column for each set, without zeros. `first`, `groups` and `factors` are defined in
// MergedColumns; X may consist of some rows of the matrix in which the sets were found.
template <class T>
CsrArrays<T> with_merged(const Csr<T>& x, std::span<const std::int32_t> groups,
                         std::span<const double> factors, std::span<const std::int32_t> first) {
  CsrArrays<T> merged;
  merged.indptr.reserve(x.n_rows + 1);
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    const Row<T> row = x.row(i);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const auto j = row.indices[p];
      if (row.values[p] == 0 || first[groups[j]] != row.indices[p]) continue;
      merged.labels.push_back(groups[j]);
      merged.values.push_back(static_cast<T>(static_cast<double>(row.values[p]) / factors[j]));
    }
    merged.indptr.push_back(std::ssize(merged.labels));
  }
  return merged;
}

}  // namespace manyclass
