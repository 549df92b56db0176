#pragma once
// Passes over the examples by a team of threads, which add to one array with the shape of W. The
// threads take batches of a block of examples and store their residuals (memory.other of
// logistic/kernels.hpp). Then each thread adds the residuals of the block to its range of features.
// Every sum has its terms in the order of the examples, for any number of threads.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dense_rows/class_major.hpp"
#include "logistic/kernels.hpp"
#include "simd/aligned_array.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// Memory of a team for two blocks of n_batches_ batches, and memory of each thread for a batch.
template <class U>
class PassMemory {
 public:
  PassMemory(const LogisticWeights<U>& w, std::size_t longest_row, int n_threads)
      : row_(w.class_major ? w.stride : 0),
        ld_(score_stride<U>(w.n_classes)),
        longest_row_((longest_row + kBlock - 1) / kBlock * kBlock),
        n_batches_(batches_of(n_threads)),
        rows_(2 * n_batches_ * kBatchRows * row_),
        residuals_(2 * n_batches_ * kBatchRows * ld_),
        scores_(n_threads * kBatchRows * ld_),
        values_(n_threads * longest_row_) {}

  // Number of batches of a block, for a team of n_threads. One thread adds to the sums batch by
  // batch, while the rows of X are in the first cache.
  std::int64_t batches_of(int n_threads) const {
    const std::int64_t batch = kBatchRows * (row_ + ld_);
    return n_threads == 1 ? 1 : n_threads * std::clamp<std::int64_t>(kNumbers / batch, 1, kBatches);
  }
  // Memory for batch `slot` of one block (`turn` 0) or the other (1), and a thread.
  LogisticMemory<U> view(int member, std::int64_t turn, std::int64_t slot) const {
    const std::int64_t first = (turn * n_batches_ + slot) * kBatchRows;
    return {rows_.data() + first * row_, nullptr, scores_.data() + member * kBatchRows * ld_,
            residuals_.data() + first * ld_, values_.data() + member * longest_row_};
  }

 private:
  static constexpr std::int64_t kBlock = 64 / sizeof(U);
  static constexpr std::int64_t kBatches = 8;        // per thread, so that it rarely waits
  static constexpr std::int64_t kNumbers = 1 << 16;  // per thread, so that they stay in its cache

  std::int64_t row_, ld_;
  std::size_t longest_row_;
  std::int64_t n_batches_;
  AlignedArray<U> rows_, residuals_, scores_, values_;
};

// fill(memory, begin, end) for every batch of the examples [first, last), and add(member, memory,
// begin, end) on all threads for every block, in order.
template <class U, class Fill, class Add>
void run_pass(ThreadTeam& team, const PassMemory<U>& memory, std::int64_t first, std::int64_t last,
              Fill fill, Add add) {
  const std::int64_t n_batches = memory.batches_of(team.size());
  const std::int64_t block = n_batches * kBatchRows;
  Barrier barrier(team.size());
  std::atomic<std::int64_t> next{0};
  team.run([&](int member) {
    std::int64_t batch = next.fetch_add(1, std::memory_order_relaxed);
    for (std::int64_t t = 0; first + t * block < last; ++t) {
      const std::int64_t begin = first + t * block, end = std::min(begin + block, last);
      for (; first + batch * kBatchRows < end;
           batch = next.fetch_add(1, std::memory_order_relaxed)) {
        const std::int64_t at = first + batch * kBatchRows;
        fill(memory.view(member, t % 2, batch % n_batches), at, std::min(at + kBatchRows, end));
      }
      // A thread reaches the next block but one when all threads have left this block.
      barrier.arrive_and_wait(true);
      add(member, memory.view(member, t % 2, 0), begin, end);
    }
  });
}

}  // namespace manyclass
