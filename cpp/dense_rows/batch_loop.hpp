#pragma once
// Visits of batches of dense rows by a team of threads. Each owns a range of classes for the
// products and the updates. The first visits the batch's examples one after the other, while the
// others prepare the next batches, and it helps them afterwards. The result does not depend on the
// number of threads.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dense_rows/class_major.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// Threads that visits are worth: between barriers each should have some microseconds of products.
inline int threads_worth_visits(std::int64_t n_rows, std::int64_t n_features,
                                std::int64_t n_classes) {
  constexpr std::int64_t kLeastWork = 1 << 18;  // multiply-adds of a thread for a batch
  constexpr std::int64_t kLeastBatches = 16;
  if (n_rows < kLeastBatches * kBatchRows) return 1;
  const std::int64_t blocks = (n_classes + kClassBlock - 1) / kClassBlock;
  const std::int64_t most = std::min(kBatchRows * n_features * n_classes / kLeastWork, blocks);
  return static_cast<int>(std::max<std::int64_t>(1, most));
}

// Batches of a round (threads/rounds.hpp) at most; none where the scores of a batch take less time than
// threads take to meet.
inline std::size_t batches_in_round(std::int64_t n_rows, std::int64_t n_weights) {
  constexpr std::int64_t kLeastWork = 1 << 16;
  return kBatchRows * n_weights < kLeastWork ? 0 : most_in_round(n_rows) / kBatchRows;
}

// Rows between two polls, of which one thread visits `at_once`: whole batches, one of each thread at
// least; in rounds, some dozen of them, as they begin and end together.
inline std::size_t rows_between_polls(std::size_t at_once, int n_threads) {
  constexpr std::size_t kLonger = 4;
  const std::size_t whole = kBatchRows * n_threads;
  if (n_threads >= kLeastRoundThreads) return (kLonger * at_once / whole + 1) * whole;
  return std::max((at_once + kBatchRows - 1) / kBatchRows * kBatchRows, whole);
}

// First and last of the classes of a member of a team of `size`.
inline std::pair<std::int64_t, std::int64_t> classes_of(int member, int size,
                                                        std::int64_t n_classes) {
  const std::int64_t blocks = (n_classes + kClassBlock - 1) / kClassBlock;
  const auto at = [&](std::int64_t m) {
    return std::min(n_classes, blocks * m / size * kClassBlock);
  };
  return {at(member), at(member + 1)};
}

// Rows of a batch that a thread prepares at a time.
inline constexpr std::int64_t kSharedRows = 4;

// Parts of the rows of a batch, which threads take as they find time: each once.
class SharedParts {
 public:
  void reset() { next_.store(0, std::memory_order_relaxed); }

  // Call each(first, last) for the rows of the parts that are left.
  template <class Each>
  void take(Each each) {
    for (;;) {
      const std::int64_t first = kSharedRows * next_.fetch_add(1, std::memory_order_relaxed);
      if (first >= kBatchRows) return;
      each(first, first + kSharedRows);
    }
  }

 private:
  alignas(64) std::atomic<std::int64_t> next_{0};
};

// `steps` has, for batch t, rows or classes [first, last): copy(t, first, last), which needs none of
// the other calls; prepare(t, first, last) after the copies of batch t; score(t, first, last);
// visit(t); update(t, first, last). Rows beyond the end, and of batches beyond it, are to be
// ignored. All ends when visit returns false.
template <class Steps>
void run_batches(ThreadTeam& team, std::size_t n_batches, std::int64_t n_classes, Steps& steps) {
  Barrier barrier(team.size());
  // Those of a batch are reset while another batch's are taken, with barriers between them.
  SharedParts parts[3];
  const auto prepare = [&](std::size_t t) {  // batch t, and the rows of the one after it
    parts[t % 3].take([&](std::int64_t first, std::int64_t last) {
      steps.copy(t + 1, first, last);
      steps.prepare(t, first, last);
    });
  };
  team.run([&](int member) {
    const auto [first, last] = classes_of(member, team.size(), n_classes);
    parts[2].take([&](std::int64_t from, std::int64_t to) { steps.copy(0, from, to); });
    barrier.arrive_and_wait(true);
    prepare(0);
    for (std::size_t t = 0; t < n_batches; ++t) {
      if (first < last) steps.score(t, first, last);
      barrier.arrive_and_wait(true);
      if (member == 0) parts[(t + 2) % 3].reset();
      const bool goes_on = member != 0 || steps.visit(t);
      prepare(t + 1);
      if (!barrier.arrive_and_wait(goes_on)) return;
      if (first < last) steps.update(t, first, last);
    }
  });
}

}  // namespace manyclass
