#pragma once
// The random numbers of training, and random orders of examples that keep neighboring rows
// together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace manyclass {

// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, the same on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  // From 0 to n - 1; n below 2^32. The bias of the multiplication, n / 2^32, is negligible here.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

template <class Value>
void shuffle(std::span<Value> order, Random& random) {
  for (std::size_t n = order.size(); n > 1; --n) {
    std::swap(order[n - 1], order[random.below(static_cast<std::uint32_t>(n))]);
  }
}

// Regions of n_rows neighboring rows, which are visited one after the other, in random order, if
// X does not fit into memory. `read` is called with the rows of each region before its visits.
struct Regions {
  std::int64_t n_rows = 0;  // 0: all rows are one region
  std::function<void(std::span<const std::int32_t>)> read = [](std::span<const std::int32_t>) {};
};

// Random orders that suit the caches: blocks of neighboring rows in random order, and the rows of
// each block in ascending order. Rows in fully random order take up to twice as much time, mostly
// because of TLB misses.
class VisitOrder {
 public:
  // `interleaved`: the number of blocks whose rows are visited in turn.
  VisitOrder(std::int64_t n_rows, std::int64_t rows_in_block, std::int64_t interleaved,
             Regions regions = {})
      : regions_(std::move(regions)),
        stays_(n_rows),
        rows_in_block_(rows_in_block),
        interleaved_(interleaved) {}

  // The rows (ascending) of each region, with the regions in a new order.
  std::vector<std::span<const std::int32_t>> regions(std::span<const std::int32_t> rows,
                                                     Random& random) const {
    std::vector<std::span<const std::int32_t>> found;
    while (!rows.empty()) {
      const std::int64_t size = regions_.n_rows == 0 ? std::ssize(rows) : size_of_first(rows);
      found.push_back(rows.first(size));
      rows = rows.subspan(size);
    }
    shuffle(std::span(found), random);
    return found;
  }
  void read(std::span<const std::int32_t> region) const { regions_.read(region); }

  // The rows (ascending) of a region in a new order.
  std::span<std::int32_t> shuffled(std::span<const std::int32_t> rows, Random& random) {
    const std::int64_t n_blocks = (std::ssize(rows) + rows_in_block_ - 1) / rows_in_block_;
    blocks_.resize(n_blocks);
    std::iota(blocks_.begin(), blocks_.end(), 0);
    shuffle(std::span(blocks_), random);
    order_.clear();
    for (std::int64_t first = 0; first < n_blocks; first += interleaved_) {
      const std::int64_t last = std::min(first + interleaved_, n_blocks);
      for (std::int64_t place = 0; place < rows_in_block_; ++place) {
        for (std::int64_t b = first; b < last; ++b) {
          const std::int64_t at = blocks_[b] * rows_in_block_ + place;
          if (at < std::ssize(rows)) order_.push_back(rows[at]);
        }
      }
    }
    return order_;
  }

  void choose(std::span<const std::int32_t> chosen) {
    for (const std::int32_t i : chosen) stays_[i] = 1;
  }
  // Write the `rows` that were chosen to `out` (may be `rows`), ascending.
  void restore(std::span<const std::int32_t> rows, std::int32_t* out) {
    for (const std::int32_t i : rows) {
      if (stays_[i]) *out++ = i;
      stays_[i] = 0;
    }
  }

 private:
  // The number of `rows` in the region of the first one.
  std::int64_t size_of_first(std::span<const std::int32_t> rows) const {
    const std::int64_t end = (rows.front() / regions_.n_rows + 1) * regions_.n_rows;
    return std::ranges::lower_bound(rows, end) - rows.begin();
  }

  Regions regions_;
  std::vector<std::int32_t> blocks_;
  std::vector<std::int32_t> order_;
  std::vector<std::uint8_t> stays_;
  std::int64_t rows_in_block_;
  std::int64_t interleaved_;
};

}  // namespace manyclass
