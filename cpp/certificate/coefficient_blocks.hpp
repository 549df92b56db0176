#pragma once
// The coefficients a_ic of W(z) = sum_i a_ic x_i, collected by blocks of classes. All functions
// here take `each(i, f)`, which calls f(c, a_ic) for the coefficients of row i.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace manyclass {

struct Coefficient {
  std::int32_t row;
  std::int32_t label;
  double value;
};

// The coefficients of some neighboring blocks of `width` classes, sorted by rows in each block.
struct CoefficientBlocks {
  std::int32_t first;  // block
  std::vector<std::size_t> ends;
  std::vector<Coefficient> entries;

  std::int32_t last() const { return first + static_cast<std::int32_t>(ends.size()); }
  std::span<const Coefficient> of(std::int32_t block) const {
    const auto at = block - first;
    const std::size_t begin = at == 0 ? 0 : ends[at - 1];
    return {entries.data() + begin, ends[at] - begin};
  }
};

// The coefficients of the blocks [first, last); `counts` has the number in each block.
template <class Each>
CoefficientBlocks coefficient_blocks(std::int64_t n_rows, std::int32_t first, std::int32_t last,
                                     std::int32_t width, const std::vector<std::size_t>& counts,
                                     Each each) {
  CoefficientBlocks blocks{first, {}, {}};
  std::vector<std::size_t> next;
  std::size_t total = 0;
  for (std::int32_t b = first; b < last; ++b) {
    next.push_back(total);
    blocks.ends.push_back(total += counts[b]);
  }
  blocks.entries.resize(total);
  const std::int32_t begin = first * width, end = last * width;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    each(i, [&](std::int32_t c, double a) {
      if (c < begin || c >= end) return;
      const std::size_t at = next[(c - begin) / width]++;
      blocks.entries[at] = {static_cast<std::int32_t>(i), c, a};
    });
  }
  return blocks;
}

// Call visit(blocks) for ranges of the blocks that need little memory compared with z.
template <class Each, class Visit>
void each_range(std::int64_t n_rows, std::int32_t n_classes, std::int32_t width, Each each,
                Visit visit) {
  constexpr std::size_t kFew = std::size_t{1} << 22, kRanges = 12;
  const std::int32_t n_blocks = (n_classes + width - 1) / width;
  std::vector<std::size_t> counts(n_blocks);
  std::size_t total = 0;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    each(i, [&](std::int32_t c, double) {
      ++counts[c / width];
      ++total;
    });
  }
  const std::size_t most = std::max(kFew, total / kRanges);
  std::int32_t first = 0;
  std::size_t here = 0;
  for (std::int32_t b = 0; b < n_blocks; ++b) {
    here += counts[b];
    if (here < most && b + 1 < n_blocks) continue;
    visit(coefficient_blocks(n_rows, first, b + 1, width, counts, each));
    first = b + 1;
    here = 0;
  }
}

}  // namespace manyclass
