#pragma once
// Visits of batches of dense rows by a team of threads. Each owns a range of classes for the
// products and the updates. The first visits the batch's examples one after the other, while the
// last packs the next batch. The result does not depend on the number of threads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "threads/thread_team.hpp"

namespace manyclass {

// Classes of a thread are whole blocks of these.
inline constexpr std::int64_t kClassBlock = 64;

// Threads that have classes at all.
inline int most_threads(std::int64_t n_classes) {
  return static_cast<int>((n_classes + kClassBlock - 1) / kClassBlock);
}

// Threads that visits of so many rows are worth: between barriers each has little to do, and on few
// rows that costs more than it gains.
inline int threads_worth_visits(std::int64_t n_rows, std::int64_t n_features,
                                std::int64_t n_classes) {
  constexpr double kLeastWork = 1 << 28;  // multiply-adds of a thread, in a pass over the rows
  const double work = static_cast<double>(n_rows) * static_cast<double>(n_features * n_classes);
  const double most = std::min(work / kLeastWork, static_cast<double>(most_threads(n_classes)));
  return std::max(1, static_cast<int>(most));
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

// `steps` has pack(t), score(t, first, last), visit(t) and update(t, first, last) for batch t and
// classes [first, last); all ends when visit returns false.
template <class Steps>
void run_batches(ThreadTeam& team, std::size_t n_batches, std::int64_t n_classes, Steps& steps) {
  Barrier barrier(team.size());
  team.run([&](int member) {
    const bool packs = member == team.size() - 1;
    const auto [first, last] = classes_of(member, team.size(), n_classes);
    if (packs && n_batches > 0) steps.pack(0);
    barrier.arrive_and_wait(true);
    for (std::size_t t = 0; t < n_batches; ++t) {
      if (first < last) steps.score(t, first, last);
      barrier.arrive_and_wait(true);
      const bool goes_on = member != 0 || steps.visit(t);
      if (packs && t + 1 < n_batches) steps.pack(t + 1);
      if (!barrier.arrive_and_wait(goes_on)) return;
      if (first < last) steps.update(t, first, last);
    }
  });
}

}  // namespace manyclass
