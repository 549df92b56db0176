#pragma once
// Random orders of examples that keep neighbouring rows together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "data/random.hpp"

namespace manyclass {

// Random orders that suit the caches: blocks of neighbouring rows in random order, the rows of a
// block in their own order. Rows in fully random order cost up to twice as much time, most of it
// for TLB misses.
class VisitOrder {
 public:
  VisitOrder(std::int64_t n_rows, std::size_t rows_in_block)
      : stays_(static_cast<std::size_t>(n_rows)), rows_in_block_(rows_in_block) {}

  // The rows (ascending) in a new order.
  std::span<std::int32_t> shuffled(std::span<const std::int32_t> rows, Random& random) {
    const std::size_t n_blocks = (rows.size() + rows_in_block_ - 1) / rows_in_block_;
    blocks_.resize(n_blocks);
    std::iota(blocks_.begin(), blocks_.end(), 0);
    shuffle(blocks_, random);
    order_.clear();
    for (std::size_t first = 0; first < n_blocks; first += kInterleaved) {
      const std::size_t last = std::min(first + kInterleaved, n_blocks);
      for (std::size_t place = 0; place < rows_in_block_; ++place) {
        for (std::size_t b = first; b < last; ++b) {
          const std::size_t at = static_cast<std::size_t>(blocks_[b]) * rows_in_block_ + place;
          if (at < rows.size()) order_.push_back(rows[at]);
        }
      }
    }
    return order_;
  }

  // Write those of `rows` that are among `chosen` to `out` (may be `rows`), ascending.
  void restore(std::span<const std::int32_t> chosen, std::span<const std::int32_t> rows,
               std::int32_t* out) {
    for (const std::int32_t i : chosen) stays_[static_cast<std::size_t>(i)] = 1;
    for (const std::int32_t i : rows) {
      if (stays_[static_cast<std::size_t>(i)]) *out++ = i;
      stays_[static_cast<std::size_t>(i)] = 0;
    }
  }

 private:
  static constexpr std::size_t kInterleaved = 4;
  std::vector<std::int32_t> blocks_;
  std::vector<std::int32_t> order_;
  std::vector<std::uint8_t> stays_;
  std::size_t rows_in_block_;
};

}  // namespace manyclass
