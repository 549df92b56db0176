#pragma once
// Functions by feature: ranges for threads that add to sums (logistic/pass_team.hpp), the numbers
// of X, the largest weights (logistic/kernels.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"
#include "logistic/kernels.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// The d + 1 features of X by rows, in ranges with about equally many numbers of X, estimated from a
// sample of rows. If the features of a row are not ascending, one range has all features.
class FeatureShares {
 public:
  template <class T>
  explicit FeatureShares(const Csr<T>& x) : n_(x.n_features + 1) {
    if (!x.is_dense && !all_ascend(x)) return;
    const std::int64_t step = 1 + (x.indptr[x.n_rows] - x.indptr[0]) / kSampled;
    for (std::int64_t i = 0; i < x.n_rows; i += step) {
      const Row<T> row = x.row(i);
      sample_.insert(sample_.end(), row.indices, row.indices + row.nnz);
      if (row.bias != 0) sample_.push_back(static_cast<std::int32_t>(x.n_features));
    }
    std::sort(sample_.begin(), sample_.end());
  }

  // The range of a member of a team of `size`.
  Range of(int member, int size) const { return {begin(member, size), begin(member + 1, size)}; }

 private:
  static constexpr std::int64_t kSampled = 1 << 15;  // numbers of X

  template <class T>
  static bool all_ascend(const Csr<T>& x) {
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      const Row<T> row = x.row(i);
      if (!std::is_sorted(row.indices, row.indices + row.nnz)) return false;
    }
    return true;
  }

  std::int64_t begin(std::int64_t member, std::int64_t size) const {
    if (member == 0) return 0;
    if (member == size || sample_.empty()) return n_;
    return sample_[std::ssize(sample_) * member / size];
  }

  std::int64_t n_;
  std::vector<std::int32_t> sample_;  // features of the sampled numbers, ascending
};

// The range of columns of a class-major W with rows of `stride` numbers, whole blocks of 64 bytes.
template <class U>
Range columns_of(int member, int size, std::int64_t stride) {
  constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(U));
  const auto at = [&](std::int64_t m) { return stride / kBlock * m / size * kBlock; };
  return {at(member), at(member + 1)};
}

// A copy of the numbers of X by feature, with ascending rows.
template <class T>
class ColumnLists {
 public:
  explicit ColumnLists(const Csr<T>& x) : begins_(x.n_features + 1), bias_(x.bias) {
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      const Row<T> row = x.row(i);
      for (std::int64_t p = 0; p < row.nnz; ++p) ++begins_[row.indices[p]];
    }
    std::int64_t total = 0;  // begins_[j] moves to the end of feature j while its list is filled
    for (std::int64_t& begin : begins_) {
      const std::int64_t count = begin;
      begin = total;
      total += count;
    }
    rows_.resize(total);
    values_.resize(total);
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      const Row<T> row = x.row(i);
      for (std::int64_t p = 0; p < row.nnz; ++p) {
        const std::int64_t at = begins_[row.indices[p]]++;
        rows_[at] = static_cast<std::int32_t>(i);
        values_[at] = row.values[p];
      }
    }
    begins_.insert(begins_.begin(), 0);
  }

  Columns<T> view() const {
    return {begins_.data(), rows_.data(), values_.data(), bias_,
            static_cast<std::int64_t>(begins_.size()) - 2};
  }

  // Size in bytes of the lists of n_values numbers.
  static std::size_t bytes_of(std::size_t n_values) {
    return n_values * (sizeof(std::int32_t) + sizeof(T));
  }

 private:
  std::vector<std::int64_t> begins_;
  std::vector<std::int32_t> rows_;
  std::vector<T> values_;
  T bias_;
};

// max_c |w_jc| for the d + 1 features of a W with a row of whole blocks for each feature.
template <class T>
std::vector<double> feature_sizes(const LogisticWeights<T>& w) {
  constexpr std::int64_t kBlock = kRowBlockBytes / sizeof(T);
  std::vector<double> sizes(w.n_features + 1);
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T lanes[kBlock] = {};
    for (const T *p = w.data + j * w.stride, *end = p + w.stride; p < end; p += kBlock) {
      for (std::int64_t lane = 0; lane < kBlock; ++lane) {
        const T size = p[lane] < 0 ? -p[lane] : p[lane];
        lanes[lane] = lanes[lane] < size ? size : lanes[lane];
      }
    }
    sizes[j] = static_cast<double>(*std::max_element(lanes, lanes + kBlock));
  }
  return sizes;
}

}  // namespace manyclass
