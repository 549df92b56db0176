#pragma once
// Ranges of features, one for each thread, to whose sums or weights it adds (logistic/pass_team.hpp,
// dual/round_loops.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"

namespace manyclass {

// Neighboring features or classes [first, last).
struct Range {
  std::int64_t first, last;
};

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

  // Whether there may be several.
  bool can_share() const { return !sample_.empty(); }
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

}  // namespace manyclass
