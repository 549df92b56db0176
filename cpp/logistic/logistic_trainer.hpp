#pragma once
// Loops over the examples of multinomial logistic regression (logistic/kernels.hpp): checks,
// memory, threads, polls.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dense_rows/class_major.hpp"
#include "dense_rows/row_kernels.hpp"
#include "dual/problem.hpp"
#include "logistic/by_feature.hpp"
#include "logistic/kernels.hpp"
#include "logistic/logistic_batches.hpp"
#include "logistic/logistic_rounds.hpp"
#include "logistic/pass_team.hpp"
#include "simd/compensated_sum.hpp"
#include "simd/dispatch.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/rounds.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class LogisticTrainer {
 public:
  explicit LogisticTrainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        row_kernels_(kernels_for<RowKernels<T>>(problem_->instruction_set())),
        kernels_(kernels_for<LogisticKernels<T>>(problem_->instruction_set())) {
    require(problem_->n_classes() >= 2, "there must be two classes");
    problem_->check_all_labelled();
  }

  // Set the number of threads of all later calls.
  void use_threads(int n_threads) {
    require(n_threads >= 1, "n_threads must be positive");
    team_ = std::make_unique<ThreadTeam>(n_threads);
    n_threads_ = n_threads;
    plan_.reset();
    rounds_.reset();
  }

  // One loop over all examples in random order. With dense rows, threads share the batches of
  // rounds or, if there are few threads, the classes.
  SweepResult visit(MatrixView<T> weights, MatrixView<T> v, bool fresh, bool class_major,
                    std::uint64_t seed) {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    check_duals(v);
    std::vector<std::int32_t> rows(problem_->n_rows());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
    const std::vector<std::int32_t> order = problem_->order(rows, seed);
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return std::span(order).subspan(begin, end - begin);
    };
    return class_major ? visit_batches(w, v.data, fresh, part) : visit_rows(w, v.data, fresh, part);
  }

  double gradient(MatrixView<T> weights, MatrixView<T> gradient, bool class_major) {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    const LogisticWeights<T> out = view<T>(gradient, class_major);
    std::vector<double> losses(n_batches());
    pass(
        w, 0,
        [&](std::int64_t batch, const auto&... part) {
          losses[batch] = kernels_.gradient(problem_->examples(), w, part...);
        },
        [&](int member, int size, const auto&... part) {
          kernels_.add(problem_->examples().x, out, part..., share(w, member, size));
        });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  void curvature(MatrixView<T> weights, MatrixView<T> direction, MatrixView<T> product,
                 bool class_major) {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    const LogisticWeights<T> along = view<T>(direction, class_major);
    const LogisticWeights<T> out = view<T>(product, class_major);
    pass(
        w, 0,
        [&](std::int64_t, const auto&... part) {
          kernels_.curvature(problem_->examples(), w, along, part...);
        },
        [&](int member, int size, const auto&... part) {
          kernels_.add(problem_->examples().x, out, part..., share(w, member, size));
        });
  }

  void log_softmax(MatrixView<T> weights, MatrixView<T> v, bool class_major) {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    check_duals(v);
    pass(
        w, 0,
        [&](std::int64_t, const auto&... part) {
          kernels_.log_softmax(problem_->examples(), w, v.data, part...);
        },
        [](auto&&...) {});
  }

  // At W in double and u = exp(v), or the softmax if v is null. Adds to `sums`, unless it is null,
  // and to `left`, unless it is empty. `largest`: max_c |w_jc| of the d + 1 features.
  LogisticSums inspect(MatrixView<double> weights, std::span<const double> largest,
                       const MatrixView<T>* v, const ClassShift& by, const MatrixView<double>* sums,
                       std::span<double> left, bool class_major) {
    const LogisticWeights<double> w = view<double>(weights, class_major);
    require(std::ssize(largest) == problem_->n_features() + 1,
            "largest must have a number for every feature and the appended one");
    if (v) check_duals(*v);
    return totals(w, sums, left, [&](const auto&... rest) {
      return kernels_.inspect(problem_->examples(), w, largest.data(), v ? v->data : nullptr, by,
                              rest...);
    });
  }

  // At a W with a row for each feature and u = exp(v).
  LogisticSums inspect_held(MatrixView<T> weights, MatrixView<T> v, const ClassShift& by) {
    const LogisticWeights<T> w = view<T>(weights, false);
    check_duals(v);
    const std::vector<double> largest = feature_sizes(w);
    return totals(no_sums(), nullptr, {}, [&](const auto&... rest) {
      return kernels_.inspect_held(problem_->examples(), w, largest.data(), v.data, by, rest...);
    });
  }

  // For u = exp(v); `sums` may be null.
  void dual_sums(MatrixView<T> v, const ClassShift& by, const MatrixView<double>* sums,
                 std::span<double> left, bool class_major) {
    check_duals(v);
    const LogisticWeights<double> w = sums ? view<double>(*sums, class_major) : no_sums();
    if (sums && sums_by_columns(w)) return dual_sums_by_columns(v, by, w, left);
    totals(w, sums, left, [&](const auto&... rest) {
      kernels_.dual_sums(problem_->examples(), w, v.data, by, rest...);
      return LogisticSums{};
    });
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  // The shape of W for passes that do not add to sums.
  LogisticWeights<double> no_sums() const {
    return {nullptr, problem_->n_features(), problem_->n_classes(), 0, false};
  }

  // Whether W(u) is summed feature by feature (logistic/passes.hpp). This copies X and the steps of
  // all rows, which must take less than twice the memory of the sums.
  bool sums_by_columns(const LogisticWeights<double>& w) const {
    const std::int64_t n = problem_->n_rows(), ld = score_stride<double>(w.n_classes);
    if (w.class_major || n >= w.n_features) return false;
    const Csr<T>& x = problem_->examples().x;
    const std::size_t copied =
        n * ld * sizeof(double) + ColumnLists<T>::bytes_of(x.indptr[n] - x.indptr[0]);
    return copied <= 2 * (w.n_features + 1) * w.stride * sizeof(double);
  }

  void dual_sums_by_columns(MatrixView<T> v, const ClassShift& by, const LogisticWeights<double>& w,
                            std::span<double> left) {
    const std::int64_t n = problem_->n_rows(), ld = score_stride<double>(w.n_classes);
    if (!columns_) columns_.emplace(problem_->examples().x);
    const AlignedArray<double> steps(n * ld);
    class_sums(
        no_sums(), left,
        [&](const auto&... rest) {
          kernels_.dual_sums(problem_->examples(), no_sums(), v.data, by, rest...);
          return LogisticSums{};
        },
        [&](int member, int size, const LogisticMemory<double>& memory, std::int64_t begin,
            std::int64_t end) {
          const auto [first, last] = classes_of(member, size, end - begin);
          std::copy_n(memory.other + first * ld, (last - first) * ld,
                      steps.data() + (begin + first) * ld);
        });
    in_ranges(w.n_features + 1, [&](const Range& features) {
      kernels_.add_columns(columns_->view(), w, steps.data(), n, features);
    });
  }

  // f(range) for ranges of n features, on all threads, with polls.
  template <class F>
  void in_ranges(std::int64_t n, F f) {
    constexpr std::int64_t kRange = 256, kBetweenPolls = 1 << 13;
    ThreadTeam& team = this->team();
    const Poll poll = problem_->poll();
    sums_.allow(team.capacity());
    for (std::int64_t begin = 0; begin < n; begin += kBetweenPolls) {
      const std::int64_t end = std::min(begin + kBetweenPolls, n);
      sums_.measure(static_cast<double>(end - begin), [&](int n_threads) {
        team.limit(n_threads);
        std::atomic<std::int64_t> next{begin};
        team.run([&](int) {
          for (std::int64_t at = next.fetch_add(kRange); at < end; at = next.fetch_add(kRange)) {
            f(Range{at, std::min(at + kRange, end)});
          }
        });
        return n_threads;
      });
      poll();
    }
  }

  template <class Part>
  SweepResult visit_batches(const LogisticWeights<T>& w, T* v, bool fresh, Part part) {
    LogisticBatches<T> batches(problem_->examples(), {row_kernels_, kernels_}, w, v, fresh);
    ThreadTeam& team = this->team();
    visits_.allow(std::min(team.capacity(),
                           threads_worth_visits(problem_->n_rows(), w.n_features, w.n_classes)));
    SweepResult in_rounds;
    const std::size_t size = rows_between_polls(problem_->rows_at_once(), n_threads_);
    in_parts(static_cast<std::int64_t>(size), [&](std::int64_t begin, std::int64_t end) {
      const std::span<const std::int32_t> rows = part(begin, end);
      if (std::ssize(rows) > kBatchRows && plan_for(w).allows_rounds()) {
        in_rounds.add(rounds_for(w).visit(team, *plan_, w, v, fresh, rows));
        return;
      }
      batches.begin(rows);
      visits_.measure(static_cast<double>(end - begin), [&](int n_threads) {
        team.limit(n_threads);
        run_batches(team, batches.size(), w.n_classes, batches);
        return n_threads;
      });
    });
    in_rounds.add(batches.result());
    return in_rounds;
  }

  std::size_t most_batches(const LogisticWeights<T>& w) const {
    return std::min<std::size_t>(n_threads_,
                                 batches_in_round(problem_->n_rows(), w.stride * w.n_classes));
  }
  RoundPlan& plan_for(const LogisticWeights<T>& w) {
    if (!plan_) plan_.emplace(n_threads_, team().capacity(), most_batches(w));
    return *plan_;
  }
  LogisticRounds<T>& rounds_for(const LogisticWeights<T>& w) {
    if (!rounds_) {
      rounds_ = std::make_unique<LogisticRounds<T>>(problem_->examples(),
                                                    LogisticBatchKernels<T>{row_kernels_, kernels_},
                                                    w, most_batches(w));
    }
    return *rounds_;
  }

  template <class Part>
  SweepResult visit_rows(const LogisticWeights<T>& w, T* v, bool fresh, Part part) {
    const OwnedLogisticMemory<T> memory(w, 0);
    SweepResult result;
    in_parts([&](std::int64_t begin, std::int64_t end) {
      result.add(
          kernels_.visit(problem_->examples(), w, v, fresh, memory.view(), part(begin, end)));
    });
    return result;
  }

  // Sums over all batches of inspect(memory, begin, end), and the totals of its residuals.
  template <class Inspect>
  LogisticSums totals(const LogisticWeights<double>& w, const MatrixView<double>* sums,
                      std::span<double> left, Inspect inspect) {
    std::optional<LogisticWeights<double>> out;
    if (sums) out = view<double>(*sums, w.class_major);
    const LogisticTotals into{out ? &*out : nullptr, nullptr, w.n_classes};
    return class_sums(w, left, inspect, [&](int member, int size, const auto&... part) {
      kernels_.add_totals(problem_->examples().x, into, part..., share(w, member, size), {0, 0});
    });
  }

  // The sums, with add(member, size of the team, memory, begin, end) for every block.
  template <class Inspect, class Add>
  LogisticSums class_sums(const LogisticWeights<double>& w, std::span<double> left, Inspect inspect,
                          Add add) {
    require(left.empty() || std::ssize(left) == w.n_classes,
            "left must have a number for every class");
    std::vector<CompensatedSum> of_classes(left.size());
    const LogisticTotals into{nullptr, left.empty() ? nullptr : of_classes.data(), w.n_classes};
    std::vector<LogisticSums> of_batches(n_batches());
    pass(
        w, longest_row(),
        [&](std::int64_t batch, const auto&... part) { of_batches[batch] = inspect(part...); },
        [&](int member, int size, const auto&... part) {
          const auto [first, last] = classes_of(member, size, w.n_classes);
          add(member, size, part...);
          kernels_.add_totals(problem_->examples().x, into, part..., {0, 0}, {first, last});
        });
    LogisticSums found;
    for (const LogisticSums& part : of_batches) found.add(part);
    for (std::size_t c = 0; c < left.size(); ++c) left[c] += of_classes[c].value();
    return found;
  }

  std::size_t longest_row() const {
    const Csr<T>& x = problem_->examples().x;
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < x.n_rows; ++i) longest = std::max(longest, x.row(i).nnz);
    return longest;
  }

  ThreadTeam& team() {
    if (!team_) use_threads(1);
    return *team_;
  }
  std::size_t n_batches() const {
    return (static_cast<std::size_t>(problem_->n_rows()) + kBatchRows - 1) / kBatchRows;
  }

  // f(begin, end) for parts of the examples in whole batches, about 20 ms for one thread, with
  // polls between them.
  template <class F>
  void in_parts(F f) const {
    in_parts((static_cast<std::int64_t>(problem_->rows_at_once()) / kBatchRows + 1) * kBatchRows,
             f);
  }
  template <class F>
  void in_parts(std::int64_t size, F f) const {
    const Poll poll = problem_->poll();
    for (std::int64_t begin = 0; begin < problem_->n_rows(); begin += size) {
      f(begin, std::min(begin + size, problem_->n_rows()));
      poll();
    }
  }

  // A pass over all examples (logistic/pass_team.hpp): fill(batch, memory, begin, end), and
  // add(member, size of the team, memory, begin, end).
  template <class U, class Fill, class Add>
  void pass(const LogisticWeights<U>& w, std::size_t longest, Fill fill, Add add) {
    ThreadTeam& team = this->team();
    passes_.allow(static_cast<int>(std::min<std::size_t>(team.capacity(), n_batches())));
    if (!shares_ && !w.class_major && passes_.most() > 1) shares_.emplace(problem_->examples().x);
    const PassMemory<U> memory(w, longest, passes_.most());
    in_parts([&](std::int64_t first, std::int64_t last) {
      passes_.measure(static_cast<double>(last - first), [&](int n_threads) {
        team.limit(n_threads);
        run_pass(
            team, memory, first, last,
            [&](const LogisticMemory<U>& of, std::int64_t begin, std::int64_t end) {
              fill(begin / kBatchRows, of, begin, end);
            },
            [&](int member, const auto&... part) { add(member, n_threads, part...); });
        return n_threads;
      });
    });
  }

  // The range to which a member of a team adds: features or, class-major, columns.
  template <class U>
  Range share(const LogisticWeights<U>& w, int member, int size) const {
    if (w.class_major) return columns_of<U>(member, size, w.stride);
    return size == 1 ? Range{0, w.n_features + 1} : shares_->of(member, size);
  }

  template <class U>
  LogisticWeights<U> view(const MatrixView<U>& weights, bool class_major) const {
    constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(U));
    const std::int64_t features = problem_->n_features() + 1, classes = problem_->n_classes();
    const std::int64_t rows = class_major ? classes : features;
    const std::int64_t columns = class_major ? features : classes;
    require(weights.n_rows == rows && weights.n_columns == (columns + kBlock - 1) / kBlock * kBlock,
            "weights must have a row for each feature (or class), in whole blocks of 64 bytes");
    require(weights.is_aligned(), "weights must be aligned to 64 bytes");
    return {weights.data, problem_->n_features(), problem_->n_classes(), weights.n_columns,
            class_major};
  }

  void check_duals(const MatrixView<T>& v) const {
    require(v.n_rows == problem_->n_rows() && v.n_columns == score_stride<T>(problem_->n_classes()),
            "v must have a row for each example, of the classes in whole blocks of 64 bytes");
    require(v.is_aligned(), "v must be aligned to 64 bytes");
  }

  std::shared_ptr<const Problem<T>> problem_;
  const RowKernels<T>& row_kernels_;
  const LogisticKernels<T>& kernels_;
  int n_threads_ = 1;
  std::unique_ptr<ThreadTeam> team_;
  ThreadChoice visits_, passes_, sums_;
  std::optional<RoundPlan> plan_;
  std::unique_ptr<LogisticRounds<T>> rounds_;
  std::optional<FeatureShares> shares_;
  std::optional<ColumnLists<T>> columns_;
};

}  // namespace manyclass
