#pragma once
// X by features, for sums over the rows of each (logistic/kernels.hpp).
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"
#include "logistic/kernels.hpp"

namespace manyclass {

// A copy of the numbers of X, the rows of each feature ascending.
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

  // Bytes of the lists of so many numbers.
  static std::size_t bytes_of(std::size_t n_values) {
    return n_values * (sizeof(std::int32_t) + sizeof(T));
  }

 private:
  std::vector<std::int64_t> begins_;
  std::vector<std::int32_t> rows_;
  std::vector<T> values_;
  T bias_;
};

}  // namespace manyclass
