#pragma once
// Loops over dense rows in rounds (dense_rows/round_visits.hpp): a team of threads shares the batches
// of a round, then the classes whose weights the round's step changes.
//
// How many batches a round has follows from the lengths theta of the rounds before and from the
// number of threads that are allowed, not from those that work: the result is the same for any.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/owned_batch.hpp"
#include "dense_rows/row_kernels.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "subproblem/scratch.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

// Batches of a round.
class RoundSize {
 public:
  RoundSize(std::size_t first, std::size_t most)
      : most_(static_cast<double>(most)), size_(std::min(static_cast<double>(first), most_)) {}

  std::size_t value() const { return static_cast<std::size_t>(size_); }
  // Follow the length of a round's step: rows that agree may be more, those that do not, fewer.
  void follow(double theta) {
    if (theta > kAgree) size_ = std::min(most_, kMore * size_);
    if (theta < kDisagree) size_ = std::max(1.0, kFewer * size_);
  }
  // Try rounds again after some loops without.
  void recover() { size_ = std::min(most_, kMore * size_); }

 private:
  static constexpr double kAgree = 0.9, kDisagree = 0.6, kMore = 1.1, kFewer = 0.7;

  double most_, size_;
};

template <class T>
class RoundTeam {
 public:
  // `n_batches`: of a round at most.
  RoundTeam(const Examples<T>& examples, const RowKernels<T>& kernels, std::int32_t n_classes,
            std::int64_t stride, std::size_t n_batches, int n_threads)
      : examples_(examples),
        kernels_(kernels),
        n_classes_(n_classes),
        stride_(stride),
        views_(n_batches) {
    for (int member = 0; member < n_threads; ++member) {
      scratch_.push_back(std::make_unique<OwnedScratch<T>>(n_classes, score_stride<T>(n_classes)));
      dense_.push_back(std::make_unique<AlignedArray<T>>(n_classes));
    }
    squares_.resize((n_classes + kClassBlock - 1) / kClassBlock);
  }

  // Visit the examples `order`, over all classes, or over those with z > 0 alone.
  SweepResult visit(ThreadTeam& team, const ClassMajorView<T>& w, DualLists<T>& z,
                    std::span<const std::int32_t> order, double min_gap, std::int32_t* active,
                    RoundSize& size, bool over_all) {
    const std::size_t most = std::min(views_.size(), (order.size() + kRows - 1) / kRows);
    while (batches_.size() < most) {
      batches_.push_back(std::make_unique<RoundBatch<T>>(n_classes_, stride_));
    }
    Round round{w, z, order, min_gap, active, over_all};
    next(round, size);
    Barrier barrier(team.size());
    team.run([&](int member) {
      const auto [first, last] = classes_of(member, team.size(), n_classes_);
      while (round.n_batches > 0) {
        if (!barrier.arrive_and_wait(visit_some(round, member, team.size()))) return;
        measure_and_add(round, first, last);
        barrier.arrive_and_wait(true);
        const Length length = length_of(round);
        bool succeeded = true;
        if (length.theta < 1) {
          add(round, first, last, length.theta - 1);  // takes a part off again
          succeeded = move_back(round, member, team.size(), length.theta);
        }
        if (!barrier.arrive_and_wait(succeeded)) return;
        if (member == 0) {
          finish(round, length);
          // The few rows of a last round say nothing of full ones.
          if (round.n_batches == std::min(size.value(), views_.size())) size.follow(length.wanted);
          next(round, size);
        }
        barrier.arrive_and_wait(true);
      }
    });
    if (round.error) std::rethrow_exception(round.error);
    return round.result;
  }

 private:
  static constexpr std::size_t kRows = kBatchRows;
  // A whole step is made where the best one is at least so long: it gains half as much or more.
  static constexpr double kWhole = 0.6;

  struct Round {
    const ClassMajorView<T>& w;
    DualLists<T>& z;
    std::span<const std::int32_t> order;
    double min_gap;
    std::int32_t* active;
    bool over_all;
    std::size_t begin = 0;      // of the round, in the order
    std::size_t n_batches = 0;  // 0: the end
    SweepResult result{};
    std::exception_ptr error{};
  };
  struct Length {
    double wanted;     // that maximizes D
    double theta;      // of the step
    double dual_gain;  // by it
  };

  // Lay out the next round.
  void next(Round& round, const RoundSize& size) {
    const std::size_t left = round.order.size() - round.begin;
    const std::size_t most = std::min(size.value(), views_.size());
    round.n_batches = std::min(most, (left + kRows - 1) / kRows);
    for (std::size_t b = 0; b < round.n_batches; ++b) {
      const std::size_t first = round.begin + b * kRows;
      const std::size_t n = std::min(kRows, round.order.size() - first);
      views_[b] = batches_[b]->view(round.order.subspan(first, n));
    }
  }

  // Whether memory sufficed.
  bool visit_some(Round& round, int member, int n_members) {
    return attempt(round, [&] {
      const auto visits = round.over_all ? kernels_.visit_apart : kernels_.single_apart;
      for (std::size_t b = member; b < round.n_batches; b += n_members) {
        RoundBatch<T>& batch = *batches_[b];
        const RoundNotes<T> notes = batch.notes();
        batch.result = visits(examples_, round.w, views_[b], notes, round.z,
                              scratch_[member]->view(), round.min_gap, batch.active());
      }
    });
  }

  // W += factor Delta W for classes [first, last); returns ||Delta W||^2 of these.
  double add(const Round& round, std::int64_t first, std::int64_t last, double factor) const {
    const std::span<const RowBatch<T>> batches(views_.data(), round.n_batches);
    return kernels_.add_round(batches, round.w, first, last, factor, examples_.formulation.centred);
  }
  // Whole blocks of classes, so that sums do not depend on the number of threads.
  void measure_and_add(const Round& round, std::int64_t first, std::int64_t last) {
    for (std::int64_t begin = first; begin < last; begin += kClassBlock) {
      squares_[begin / kClassBlock] = add(round, begin, std::min(begin + kClassBlock, last), 1);
    }
  }

  Length length_of(const Round& round) const {
    double slope = 0, ridge = 0, squares = 0;
    for (std::size_t b = 0; b < round.n_batches; ++b) {
      slope += batches_[b]->slope;
      ridge += batches_[b]->ridge;
    }
    for (const double part : squares_) squares += part;
    const double curvature = squares + 2 * ridge;
    const double wanted = curvature > 0 ? std::clamp(slope / curvature, 0.0, 1.0) : 1.0;
    const double theta = wanted >= kWhole ? 1.0 : wanted;
    return {wanted, theta, theta * slope - 0.5 * theta * theta * curvature};
  }

  // Whether memory sufficed.
  bool move_back(Round& round, int member, int n_members, double theta) {
    return attempt(round, [&] {
      for (std::size_t b = member; b < round.n_batches; b += n_members) {
        batches_[b]->move_back(views_[b].order, theta, round.z, dense_[member]->data());
      }
    });
  }

  // Whether a member's work succeeded: what it throws waits until all have met.
  template <class Work>
  bool attempt(Round& round, Work work) {
    try {
      work();
      return true;
    } catch (...) {  // no memory for z
      const std::lock_guard lock(failing_);
      round.error = std::current_exception();
      return false;
    }
  }

  // Add up what the batches found.
  void finish(Round& round, const Length& length) {
    for (std::size_t b = 0; b < round.n_batches; ++b) {
      RoundBatch<T>& batch = *batches_[b];
      std::copy_n(batch.active(), batch.result.n_active, round.active + round.result.n_active);
      batch.result.dual_gain = 0;
      round.result.add(batch.result);
    }
    round.result.dual_gain += length.dual_gain;
    round.begin = std::min(round.begin + round.n_batches * kRows, round.order.size());
  }

  const Examples<T>& examples_;
  const RowKernels<T>& kernels_;
  std::int32_t n_classes_;
  std::int64_t stride_;
  std::vector<RowBatch<T>> views_;
  std::vector<std::unique_ptr<RoundBatch<T>>> batches_;
  std::vector<std::unique_ptr<OwnedScratch<T>>> scratch_;
  std::vector<std::unique_ptr<AlignedArray<T>>> dense_;
  std::vector<double> squares_;  // ||Delta w_c||^2 of each block of classes
  std::mutex failing_;
};

}  // namespace manyclass
