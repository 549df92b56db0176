#pragma once
// The threads that visit dense rows: batches in rounds (dense_rows/round_team.hpp), or one after the
// other, where threads share the products alone (dense_rows/batch_loop.hpp).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <thread>

#include "data/examples.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/owned_batch.hpp"
#include "dense_rows/round_team.hpp"
#include "dense_rows/row_kernels.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/scratch.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class BatchTeam {
 public:
  BatchTeam(const Examples<T>& examples, const RowKernels<T>& kernels, std::int32_t n_classes,
            std::int64_t stride, int n_threads)
      : examples_(examples),
        kernels_(kernels),
        batch_(n_classes, stride),
        scratch_(n_classes, score_stride<T>(n_classes)),
        team_(n_threads),
        choice_(std::min(team_.capacity(), threads_worth_visits(examples.x.n_rows,
                                                                examples.x.n_features, n_classes))),
        n_threads_(n_threads),
        stride_(stride),
        most_batches_(most_in_round(examples.x.n_rows, stride * n_classes)),
        all_(n_threads, std::min<std::size_t>(n_threads, most_batches_)),
        some_(n_threads, std::min<std::size_t>(kShrunkBatches * n_threads, most_batches_)),
        all_choice_(cores_for(team_.capacity())),
        some_choice_(cores_for(team_.capacity())) {}

  // Visit the examples `order` in batches, over all classes.
  SweepResult batched(const ClassMajorView<T>& w, DualLists<T>& z,
                      std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    if (order.size() > kRows && in_rounds(all_))
      return rounds(w, z, order, min_gap, active, all_, true);
    return choice_.measure(static_cast<double>(order.size()), [&](int n_threads) {
      team_.limit(n_threads);
      return visit_all(w, z, order, min_gap, active);
    });
  }

  // Visit the examples `order` one by one, each over its non-zero z.
  SweepResult single(const ClassMajorView<T>& w, DualLists<T>& z,
                     std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    if (order.size() > kRows && in_rounds(some_)) {
      return rounds(w, z, order, min_gap, active, some_, false);
    }
    return kernels_.single(examples_, w, z, scratch_.view(), batch_.row(), order, min_gap, active);
  }

  // All threads, for work without barriers.
  ThreadTeam& threads() {
    team_.limit(team_.capacity());
    return team_;
  }

 private:
  static constexpr auto kRows = kBatchRows;
  // Rounds are for so many threads. Two share the products as well (measured, two cores, 20,000 rows
  // of 384 features, 150 classes: full loops 0.5 s either way), and single visits of one thread take
  // half the time of those in rounds, whose rows and steps go through memory.
  static constexpr int kLeastThreads = 4;
  // At most so many batches of a thread in a round of shrunk loops, which have little work.
  static constexpr std::size_t kShrunkBatches = 4;

  // Batches of a round at most: a 40th of the rows, as a round's rows do not see each other's steps.
  // None where the scores of a batch take less time than threads take to meet.
  static std::size_t most_in_round(std::int64_t n_rows, std::int64_t n_weights) {
    constexpr std::int64_t kShareOfRows = 40, kLeastWork = 1 << 16;
    if (kRows * n_weights < kLeastWork) return 0;
    return n_rows / (kShareOfRows * kRows);
  }

  // Threads that meet after some ten microseconds must have a core each.
  static int cores_for(int n_threads) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    return cores > 0 ? std::min(n_threads, cores) : n_threads;
  }

  // Whether the next loop is made in rounds; a size of one batch grows again.
  bool in_rounds(RoundSize& size) {
    if (n_threads_ < kLeastThreads || most_batches_ < 2) return false;
    if (size.value() > 1) return true;
    size.recover();
    return false;
  }

  SweepResult rounds(const ClassMajorView<T>& w, DualLists<T>& z,
                     std::span<const std::int32_t> order, double min_gap, std::int32_t* active,
                     RoundSize& size, bool over_all) {
    if (!rounds_) {
      const std::size_t most = std::min<std::size_t>(kShrunkBatches * n_threads_, most_batches_);
      rounds_ = std::make_unique<RoundTeam<T>>(examples_, kernels_, w.n_classes, stride_, most,
                                               n_threads_);
    }
    return (over_all ? all_choice_ : some_choice_)
        .measure(static_cast<double>(order.size()), [&](int n_threads) {
          team_.limit(n_threads);
          return rounds_->visit(team_, w, z, order, min_gap, active, size, over_all);
        });
  }

  // Callbacks of run_batches.
  struct Steps {
    BatchTeam& team;
    const ClassMajorView<T>& w;
    DualLists<T>& z;
    std::span<const std::int32_t> order;
    double min_gap;
    std::int32_t* active;
    SweepResult result{};
    std::exception_ptr error{};

    RowBatch<T> batch(std::size_t t) { return team.view(order, t); }
    void copy(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.copy(team.examples_.x, batch(t), w.stride, first, last);
    }
    void prepare(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.multiply(batch(t), w.stride, first, last);
    }
    void score(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.score(batch(t), w, first, last);
    }
    bool visit(std::size_t t) {
      try {
        result.add(team.kernels_.visit(team.examples_, w, batch(t), z, team.scratch_.view(),
                                       min_gap, active + result.n_active));
      } catch (...) {  // no memory for z
        error = std::current_exception();
      }
      return !error;
    }
    void update(std::size_t t, std::int64_t first, std::int64_t last) {
      team.kernels_.update(batch(t), w, first, last, team.examples_.formulation.centred);
    }
  };

  SweepResult visit_all(const ClassMajorView<T>& w, DualLists<T>& z,
                        std::span<const std::int32_t> order, double min_gap, std::int32_t* active) {
    Steps steps{*this, w, z, order, min_gap, active};
    run_batches(team_, (order.size() + kRows - 1) / kRows, w.n_classes, steps);
    if (steps.error) std::rethrow_exception(steps.error);
    return steps.result;
  }

  RowBatch<T> view(std::span<const std::int32_t> order, std::int64_t t) {
    const std::int64_t begin = std::min(t * kRows, std::ssize(order));
    return batch_.view(order.subspan(begin, std::min(kRows, std::ssize(order) - begin)), t);
  }

  const Examples<T>& examples_;
  const RowKernels<T>& kernels_;
  OwnedBatch<T> batch_;
  OwnedScratch<T> scratch_;
  ThreadTeam team_;
  ThreadChoice choice_;
  int n_threads_;
  std::int64_t stride_;
  std::size_t most_batches_;
  RoundSize all_, some_;  // of loops over all classes, and over those with z > 0
  ThreadChoice all_choice_, some_choice_;
  std::unique_ptr<RoundTeam<T>> rounds_;
};

}  // namespace manyclass
