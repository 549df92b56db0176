#pragma once
// Loops over the examples of multinomial logistic regression (logistic/kernels.hpp): checks,
// memory, threads, polls.
#include <algorithm>
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
#include "logistic/kernels.hpp"
#include "logistic/logistic_batches.hpp"
#include "simd/compensated_sum.hpp"
#include "simd/dispatch.hpp"
#include "threads/interrupt_poll.hpp"
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

  // Threads of all that follows.
  void use_threads(int n_threads) {
    require(n_threads >= 1, "n_threads must be positive");
    team_ = std::make_unique<ThreadTeam>(n_threads);
  }

  // One loop over all examples in random order. Of dense rows, threads share the classes.
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
    const ThreadSums<T> out(view<T>(gradient, class_major), n_members());
    std::vector<double> losses(n_members());
    by_threads(w, 0, [&](int member, const auto& memory, auto begin, auto end) {
      losses[member] +=
          kernels_.gradient(problem_->examples(), w, out.of(member), memory, begin, end);
    });
    out.add_up();
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  void curvature(MatrixView<T> weights, MatrixView<T> direction, MatrixView<T> product,
                 bool class_major) {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    const LogisticWeights<T> along = view<T>(direction, class_major);
    const ThreadSums<T> out(view<T>(product, class_major), n_members());
    by_threads(w, 0, [&](int member, const auto& memory, auto begin, auto end) {
      kernels_.curvature(problem_->examples(), w, along, out.of(member), memory, begin, end);
    });
    out.add_up();
  }

  void log_softmax(MatrixView<T> weights, MatrixView<T> v, bool class_major) {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    check_duals(v);
    by_threads(w, 0, [&](int, const auto& memory, auto begin, auto end) {
      kernels_.log_softmax(problem_->examples(), w, v.data, memory, begin, end);
    });
  }

  // At W in double and u = exp(v), or the softmax where v is null; `sums`, if it is not null, and
  // `left`, if it is not empty, are added to. `largest`: max_c |w_jc| of the d + 1 features.
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

  // Of u = exp(v); `sums` may be null.
  LogisticSums dual_sums(MatrixView<T> v, const ClassShift& by, const MatrixView<double>* sums,
                         std::span<double> left, bool class_major) {
    check_duals(v);
    const LogisticWeights<double> w =
        sums ? view<double>(*sums, class_major)
             : LogisticWeights<double>{nullptr, problem_->n_features(), problem_->n_classes(), 0,
                                       false};
    return totals(w, sums, left, [&](const auto&... rest) {
      return kernels_.dual_sums(problem_->examples(), w, v.data, by, rest...);
    });
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  template <class Part>
  SweepResult visit_batches(const LogisticWeights<T>& w, T* v, bool fresh, Part part) {
    LogisticBatches<T> batches(problem_->examples(), {row_kernels_, kernels_}, w, v, fresh);
    ThreadTeam& team = this->team();
    visits_.allow(std::min(team.capacity(),
                           threads_worth_visits(problem_->n_rows(), w.n_features, w.n_classes)));
    in_parts(1, [&](std::int64_t begin, std::int64_t end) {
      batches.begin(part(begin, end));
      visits_.measure(static_cast<double>(end - begin), [&](int n_threads) {
        team.limit(n_threads);
        run_batches(team, batches.size(), w.n_classes, batches);
        return n_threads;
      });
    });
    return batches.result();
  }

  template <class Part>
  SweepResult visit_rows(const LogisticWeights<T>& w, T* v, bool fresh, Part part) {
    const OwnedLogisticMemory<T> memory(w, 0);
    SweepResult result;
    in_parts(1, [&](std::int64_t begin, std::int64_t end) {
      result.add(
          kernels_.visit(problem_->examples(), w, v, fresh, memory.view(), part(begin, end)));
    });
    return result;
  }

  // pass(totals, memory, begin, end) by all threads.
  template <class Pass>
  LogisticSums totals(const LogisticWeights<double>& w, const MatrixView<double>* sums,
                      std::span<double> left, Pass pass) {
    require(left.empty() || std::ssize(left) == problem_->n_classes(),
            "left must have a number for every class");
    const auto n = n_members();
    std::optional<ThreadSums<double>> out;
    if (sums) out.emplace(view<double>(*sums, w.class_major), n_members());
    std::vector<LogisticSums> found(n);
    std::vector<std::vector<CompensatedSum>> of_classes(n,
                                                        std::vector<CompensatedSum>(left.size()));
    by_threads(w, longest_row(), [&](int member, const auto& memory, auto begin, auto end) {
      const LogisticTotals into{out ? &out->of(member) : nullptr,
                                left.empty() ? nullptr : of_classes[member].data()};
      found[member].add(pass(into, memory, begin, end));
    });
    if (out) out->add_up();
    for (int m = 1; m < n; ++m) {
      for (std::size_t c = 0; c < left.size(); ++c) of_classes[0][c].add(of_classes[m][c]);
      found[0].add(found[m]);
    }
    for (std::size_t c = 0; c < left.size(); ++c) left[c] += of_classes[0][c].value();
    return found[0];
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
  // Threads of a pass.
  int n_members() {
    const Csr<T>& x = problem_->examples().x;
    const double read = static_cast<double>(x.indptr[x.n_rows] + x.n_rows);
    const double worth = threads_worth_sums(read, static_cast<double>(x.n_features + 1),
                                            problem_->n_classes(), sizeof(T));
    return static_cast<int>(std::min<double>(team().capacity(), worth));
  }

  // f(begin, end) for parts of the examples in whole batches, of some 20 ms for each thread, with
  // polls between them.
  template <class F>
  void in_parts(int n_threads, F f) const {
    const Poll poll = problem_->poll();
    const auto size =
        (n_threads * static_cast<std::int64_t>(problem_->rows_at_once()) / kBatchRows + 1) *
        kBatchRows;
    for (std::int64_t begin = 0; begin < problem_->n_rows(); begin += size) {
      f(begin, std::min(begin + size, problem_->n_rows()));
      poll();
    }
  }

  // f(member, memory, begin, end) for parts of the examples in whole batches, by all threads.
  template <class U, class F>
  void by_threads(const LogisticWeights<U>& w, std::size_t longest, F f) {
    ThreadTeam& team = this->team();
    passes_.allow(n_members());
    std::vector<OwnedLogisticMemory<U>> memory;
    for (int m = 0; m < n_members(); ++m) memory.emplace_back(w, longest);
    in_parts(n_members(), [&](std::int64_t first, std::int64_t last) {
      const std::int64_t batches = (last - first + kBatchRows - 1) / kBatchRows;
      passes_.measure(static_cast<double>(last - first), [&](int n_threads) {
        team.limit(n_threads);
        team.run([&](int member) {
          const auto at = [&](std::int64_t m) {
            return std::min(last, first + batches * m / n_threads * kBatchRows);
          };
          f(member, memory[member].view(), at(member), at(member + 1));
        });
        return n_threads;
      });
    });
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
  std::unique_ptr<ThreadTeam> team_;
  ThreadChoice visits_, passes_;
};

}  // namespace manyclass
