#pragma once
// Visits of batches of dense rows by a team of threads. Each thread owns a range of classes for the
// products and the updates. The first thread visits the examples of the batch one after the other,
// while the others prepare the next batches; afterwards it helps them. The result does not depend
// on the number of threads.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dense_rows/class_major.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// Number of threads that save time: each should compute products for microseconds between barriers.
inline int threads_worth_visits(std::int64_t n_rows, std::int64_t n_features,
                                std::int64_t n_classes) {
  constexpr std::int64_t kLeastWork = 1 << 18;  // multiply-adds of a thread for a batch
  constexpr std::int64_t kLeastBatches = 16;
  if (n_rows < kLeastBatches * kBatchRows) return 1;
  const std::int64_t blocks = (n_classes + kClassBlock - 1) / kClassBlock;
  const std::int64_t most = std::min(kBatchRows * n_features * n_classes / kLeastWork, blocks);
  return static_cast<int>(std::max<std::int64_t>(1, most));
}

// Maximum number of batches in a round (threads/rounds.hpp), or 0 if the scores of a batch take
// less time than a barrier.
inline std::size_t batches_in_round(std::int64_t n_rows, std::int64_t n_weights) {
  constexpr std::int64_t kLeastWork = 1 << 16;
  return kBatchRows * n_weights < kLeastWork ? 0 : most_in_round(n_rows) / kBatchRows;
}

// Rows between two polls if one thread visits `at_once` rows: whole batches, at least one for each
// thread. In rounds, whose batches begin and end together, some dozen batches.
inline std::size_t rows_between_polls(std::size_t at_once, int n_threads) {
  constexpr std::size_t kLonger = 4;
  const std::size_t whole = kBatchRows * n_threads;
  if (n_threads >= kLeastRoundThreads) return (kLonger * at_once / whole + 1) * whole;
  return std::max((at_once + kBatchRows - 1) / kBatchRows * kBatchRows, whole);
}

// The first class, and the end of the classes, of a member of a team of `size`.
inline std::pair<std::int64_t, std::int64_t> classes_of(int member, int size,
                                                        std::int64_t n_classes) {
  const std::int64_t blocks = (n_classes + kClassBlock - 1) / kClassBlock;
  const auto at = [&](std::int64_t m) {
    return std::min(n_classes, blocks * m / size * kClassBlock);
  };
  return {at(member), at(member + 1)};
}

// The number of rows of a batch that a thread prepares at a time.
inline constexpr std::int64_t kSharedRows = 4;

// Parts of the rows of a batch. Each part is taken once, by the next thread that is free.
class SharedParts {
 public:
  void reset() { next_.store(0, std::memory_order_relaxed); }

  // Call each(first, last) for the rows of the remaining parts.
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

// `steps` has, for batch t, rows or classes [first, last): copy(t, first, last), which does not
// need the other calls; prepare(t, first, last) after the copies of batch t; score(t, first, last);
// visit(t); update(t, first, last). The functions must ignore rows and batches beyond the end.
// The loop ends when visit returns false.
template <class Steps>
void run_batches(ThreadTeam& team, std::size_t n_batches, std::int64_t n_classes, Steps& steps) {
  Barrier barrier(team.size());
  // The parts of a batch are reset while threads take parts of a different batch, between barriers.
  SharedParts parts[3];
  const auto prepare = [&](std::size_t t) {  // batch t, and the rows of the next batch
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
