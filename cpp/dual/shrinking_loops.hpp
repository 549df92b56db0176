#pragma once
// Loops over examples: the order of the visits, how much is done in one go, when to leave the
// shrunk problem. The visits themselves are kernels (dual/kernels.hpp).
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "dual/kernels.hpp"

namespace manyclass {

// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  // From 0 to n - 1; n below 2^32. The bias of the multiplication, n / 2^32, does not matter here.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

inline void shuffle(std::span<std::int32_t> order, Random& random) {
  for (std::size_t n = order.size(); n > 1; --n) {
    std::swap(order[n - 1], order[random.below(static_cast<std::uint32_t>(n))]);
  }
}

inline void add(const SweepResult& part, SweepResult& sum) {
  sum.gap += part.gap;
  sum.loss += part.loss;
  sum.dual_gain += part.dual_gain;
  sum.max_violation = std::max(sum.max_violation, part.max_violation);
  sum.evaluations += part.evaluations;
  sum.steps += part.steps;
  sum.n_active += part.n_active;
}

// Random orders that spare the memory: blocks of neighbouring rows in random order, the rows of a
// block in their own. Rows that are visited one by one at random cost up to twice as much time,
// most of it for finding their pages.
class VisitOrder {
 public:
  VisitOrder(std::int64_t n_rows, std::size_t rows_in_block)
      : stays_(static_cast<std::size_t>(n_rows)), rows_in_block_(rows_in_block) {}

  // The rows (ascending) in a new order.
  std::span<std::int32_t> of(std::span<const std::int32_t> rows, Random& random) {
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

  // Write those of `rows` that are among `chosen` to `out` (`rows` itself will do), ascending.
  void in_order(std::span<const std::int32_t> chosen, std::span<const std::int32_t> rows,
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

// One loop over `rows` (ascending) in a new order, `at_once` visits at a time with a call of `poll`
// between them. `sweep(part, active)` visits some examples and writes those that stay active; they
// end in `active` (`rows` itself will do), ascending.
template <class Sweep, class Poll>
SweepResult loop_over(std::span<const std::int32_t> rows, std::int32_t* active, VisitOrder& visits,
                      std::size_t at_once, Random& random, Sweep sweep, Poll poll) {
  const std::span<std::int32_t> order = visits.of(rows, random);
  SweepResult sum;
  for (std::size_t begin = 0; begin < order.size(); begin += at_once) {
    const std::size_t size = std::min(at_once, order.size() - begin);
    add(sweep(order.subspan(begin, size), order.data() + sum.n_active), sum);
    poll();
  }
  visits.in_order(order.first(static_cast<std::size_t>(sum.n_active)), rows, active);
  return sum;
}

// When the shrunk problem is solved well enough: any of the three.
struct ShrunkGoal {
  double gap;                // the loop's sum of gaps is at most this
  double violation;          // its largest violation is below this
  std::int64_t evaluations;  // so much effort was spent
  double min_gap;            // examples with a smaller gap of their own are left to the full loop
};

struct ShrunkResult {
  double dual_gain = 0;
  std::int64_t evaluations = 0;
  std::int64_t n_active = 0;
  std::int64_t loops = 0;
};

// Loops over the active examples, each in a new order, until the goal is met. An example that is
// active no more leaves the front of `active`, where the `n_active` that remain are kept.
template <class Sweep, class Poll>
ShrunkResult shrunk_loops(std::span<std::int32_t> active, const ShrunkGoal& goal,
                          VisitOrder& visits, std::size_t at_once, Random& random, Sweep sweep,
                          Poll poll) {
  ShrunkResult result;
  result.n_active = static_cast<std::int64_t>(active.size());
  while (result.n_active > 0 && result.evaluations < goal.evaluations) {
    const auto rows = active.first(static_cast<std::size_t>(result.n_active));
    const SweepResult loop = loop_over(rows, rows.data(), visits, at_once, random, sweep, poll);
    result.dual_gain += loop.dual_gain;
    result.evaluations += loop.evaluations;
    result.n_active = loop.n_active;
    ++result.loops;
    if (loop.gap <= goal.gap || loop.max_violation < goal.violation) break;
  }
  return result;
}

}  // namespace manyclass
