#pragma once
// Ranges of features, one for each thread, to whose sums it adds (logistic/pass_team.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"
#include "logistic/kernels.hpp"

namespace manyclass {

// The d + 1 features of X by rows, in ranges that have about equally many numbers of X, as a sample
// of rows says. Where the features of a row do not ascend, one range has all.
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
  std::vector<std::int32_t> sample_;  // their features, ascending
};

// The range of columns of a class-major W with rows of `stride` numbers, whole blocks of 64 bytes.
template <class U>
Range columns_of(int member, int size, std::int64_t stride) {
  constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(U));
  const auto at = [&](std::int64_t m) { return stride / kBlock * m / size * kBlock; };
  return {at(member), at(member + 1)};
}

}  // namespace manyclass
