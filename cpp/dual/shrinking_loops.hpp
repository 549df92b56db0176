#pragma once
// Loops over the examples with shrinking (an active set): the order of visits, polls, and the rule
// for leaving the shrunk problem. The visits are kernels (dual/kernels.hpp). Source: Keerthi et al.
// 2008, sec. 2.1.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "data/examples.hpp"
#include "data/visit_order.hpp"
#include "threads/interrupt_poll.hpp"

namespace manyclass {

// One loop over `rows` (ascending) in a new order, region by region, with a call of `poll` after
// `at_once` visits. `sweep(part, active)` visits some examples and writes the active ones; the loop
// writes them to `active` (may be `rows`), ascending.
template <class Sweep, class Poll>
SweepResult loop_over(std::span<const std::int32_t> rows, std::int32_t* active, VisitOrder& visits,
                      std::size_t at_once, Random& random, Sweep sweep, Poll poll) {
  SweepResult sum;
  for (const std::span<const std::int32_t> region : visits.regions(rows, random)) {
    visits.read(region);
    const std::span<std::int32_t> order = visits.shuffled(region, random);
    const std::int64_t before = sum.n_active;
    for (std::size_t begin = 0; begin < order.size(); begin += at_once) {
      const std::size_t size = std::min(at_once, order.size() - begin);
      sum.add(sweep(order.subspan(begin, size), order.data() + (sum.n_active - before)));
      poll();
    }
    visits.choose(order.first(sum.n_active - before));
  }
  visits.restore(rows, active);
  return sum;
}

// The stopping rule of the shrunk problem: the first of three conditions that holds.
struct ShrunkGoal {
  double gap;                // the sum of gaps of the loop is at most this
  double violation;          // the largest violation of the loop is below this
  std::int64_t evaluations;  // at least so many scores were computed
  double min_gap;            // examples with a smaller gap are left to the full loop
};

struct ShrunkResult {
  double dual_gain = 0;
  std::int64_t evaluations = 0;
  std::int64_t n_active = 0;
  std::int64_t loops = 0;
};

// Loops over the active examples, each in a new order, until the goal is met. The first `n_active`
// entries of `active` are the examples that stay active.
template <class Sweep, class Poll>
ShrunkResult shrunk_loops(std::span<std::int32_t> active, const ShrunkGoal& goal,
                          VisitOrder& visits, std::size_t at_once, Random& random, Sweep sweep,
                          Poll poll) {
  ShrunkResult result;
  result.n_active = std::ssize(active);
  while (result.n_active > 0 && result.evaluations < goal.evaluations) {
    const auto rows = active.first(result.n_active);
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
