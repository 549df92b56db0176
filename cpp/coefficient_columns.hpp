#pragma once
// The coefficients a_ic of W(z) = sum_i a_ic x_i, gathered class by class. `each(i, f)`, which all
// functions here take, calls f(c, a_ic) for the coefficients of row i.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace manyclass {

// Those of some neighbouring classes.
struct CoefficientColumns {
  std::int32_t first;             // class
  std::vector<std::size_t> ends;  // of each class, in the two below
  std::vector<std::int32_t> rows;
  std::vector<double> values;

  std::int32_t last() const { return first + static_cast<std::int32_t>(ends.size()); }
  std::span<const std::int32_t> rows_of(std::int32_t c) const {
    return {rows.data() + begin(c), ends[static_cast<std::size_t>(c - first)] - begin(c)};
  }
  const double* values_of(std::int32_t c) const { return values.data() + begin(c); }

 private:
  std::size_t begin(std::int32_t c) const {
    return c == first ? 0 : ends[static_cast<std::size_t>(c - first) - 1];
  }
};

// Those of the classes [first, last), of which `counts` has the numbers.
template <class Each>
CoefficientColumns coefficient_columns(std::int64_t n_rows, std::int32_t first, std::int32_t last,
                                       const std::vector<std::size_t>& counts, Each each) {
  CoefficientColumns columns{first, {}, {}, {}};
  std::vector<std::size_t> next;
  std::size_t total = 0;
  for (std::int32_t c = first; c < last; ++c) {
    next.push_back(total);
    columns.ends.push_back(total += counts[static_cast<std::size_t>(c)]);
  }
  columns.rows.resize(total);
  columns.values.resize(total);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    each(i, [&](std::int32_t c, double a) {
      if (c < first || c >= last) return;
      const std::size_t at = next[static_cast<std::size_t>(c - first)]++;
      columns.rows[at] = static_cast<std::int32_t>(i);
      columns.values[at] = a;
    });
  }
  return columns;
}

// Call visit(columns) for ranges of the classes, each a multiple of `block` unless it is the last,
// that take little memory beside z.
template <class Each, class Visit>
void each_range(std::int64_t n_rows, std::int32_t n_classes, std::int32_t block, Each each,
                Visit visit) {
  constexpr std::size_t kFew = std::size_t{1} << 22, kRanges = 12;
  std::vector<std::size_t> counts(static_cast<std::size_t>(n_classes));
  std::size_t total = 0;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    each(i, [&](std::int32_t c, double) {
      ++counts[static_cast<std::size_t>(c)];
      ++total;
    });
  }
  const std::size_t most = std::max(kFew, total / kRanges);
  std::int32_t first = 0;
  std::size_t here = 0;
  for (std::int32_t c = 0; c < n_classes; ++c) {
    here += counts[static_cast<std::size_t>(c)];
    const bool ends = (c + 1) % block == 0 && here >= most;
    if (!ends && c + 1 < n_classes) continue;
    visit(coefficient_columns(n_rows, first, c + 1, counts, each));
    first = c + 1;
    here = 0;
  }
}

}  // namespace manyclass
