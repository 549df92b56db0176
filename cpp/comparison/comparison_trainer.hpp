#pragma once
// The methods that the papers compare with, on one thread of one process: loops over the examples.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "certificate/rebuild.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "comparison/kernels.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "duals/dual_lists.hpp"
#include "simd/aligned_array.hpp"
#include "simd/dispatch.hpp"
#include "subproblem/scratch.hpp"
#include "threads/interrupt_poll.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

template <class T>
class ComparisonTrainer {
 public:
  explicit ComparisonTrainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        kernels_(kernels_for<ComparisonKernels<T>>(problem_->instruction_set())) {
    problem_->check_all_labelled();
    problem_->check_no_base();
    require(!problem_->examples().formulation.centred,
            "the formulation must not constrain the sum of W");
  }

  // One loop over `rows` in random order.
  SweepResult exponentiated_gradient(MatrixView<T> weights, MatrixView<T> log_u,
                                     std::span<double> rates, std::span<const std::int32_t> rows,
                                     std::uint64_t seed) const {
    const Formulation& f = problem_->examples().formulation;
    require(f.relative && !f.loss.has_ridge(), "relative margins and the hinge loss are needed");
    const WeightsView<T> w = view(weights);
    check_all(log_u, w);
    require(std::ssize(rates) == problem_->n_rows(), "there must be a rate for every example");
    OwnedScratch<T> scratch(problem_->n_classes(), w.stride);
    AlignedArray<T> old_u(w.stride);
    const std::vector<std::int32_t> order = problem_->order(rows, seed);
    SweepResult result;
    in_parts(std::ssize(std::span(order)), [&](std::int64_t begin, std::int64_t end) {
      const auto part = std::span(order).subspan(begin, end - begin);
      result.add(kernels_.exponentiated_gradient(problem_->examples(), w, log_u.data, rates.data(),
                                                 scratch.view(), old_u.data(), part));
    });
    return result;
  }

  // W <- W(z).
  void rebuild(MatrixView<T> weights, const DualLists<T>& z) const {
    check(z);
    manyclass::rebuild(kernels_for<RebuildKernels<T>>(problem_->instruction_set()),
                       problem_->examples(), view(weights), z, nullptr, problem_->poll());
  }

  // z of the most violated constraint at W; the loss of the result is the sum of all losses.
  SweepResult separate(MatrixView<T> weights, DualLists<T>& z) const {
    const WeightsView<T> w = view(weights);
    check(z);
    OwnedScratch<T> scratch(problem_->n_classes(), w.stride);
    SweepResult result;
    in_parts(problem_->n_rows(), [&](std::int64_t begin, std::int64_t end) {
      result.add(kernels_.separate(problem_->examples(), w, z, scratch.view(), begin, end));
    });
    return result;
  }

  // w_c . x_i for the rows [begin, end), one row of `out` each.
  void scores(MatrixView<T> weights, MatrixView<T> out, std::int64_t begin,
              std::int64_t end) const {
    const WeightsView<T> w = view(weights);
    problem_->check_rows(begin, end);
    require(out.n_rows == end - begin && out.n_columns == w.stride && out.is_aligned(),
            "out must have a row like W's for every row");
    in_parts(end - begin, [&](std::int64_t first, std::int64_t last) {
      kernels_.scores(problem_->examples(), w, out.data + first * w.stride, begin + first,
                      begin + last);
    });
  }

  // v_i of all examples, from their scores.
  void violations(MatrixView<T> scores, const DualLists<T>& z, std::span<double> out) const {
    const AllScores<T> all = view(scores, z, out);
    OwnedScratch<T> scratch(problem_->n_classes(), all.stride);
    in_parts(problem_->n_rows(), [&](std::int64_t begin, std::int64_t end) {
      kernels_.violations(problem_->examples(), problem_->n_classes(), all, z, scratch.view(),
                          begin, end);
    });
  }

  // At most `n_steps` exact steps, each on the most violating example.
  SweepResult most_violating(MatrixView<T> scores, DualLists<T>& z, std::span<double> violations,
                             const Columns<T>& columns, std::int64_t n_steps) const {
    const AllScores<T> all = view(scores, z, violations);
    OwnedScratch<T> scratch(problem_->n_classes(), all.stride);
    std::vector<double> inner(violations.size());
    std::vector<std::int32_t> listed(violations.size());
    std::vector<std::uint8_t> is_listed(violations.size());
    const ProductScratch products{inner.data(), listed.data(), is_listed.data()};
    SweepResult result;
    const Poll poll = problem_->poll();
    while (result.steps < n_steps) {
      const std::int64_t wanted = std::min<std::int64_t>(n_steps - result.steps, kStepsAtOnce);
      const SweepResult part =
          kernels_.most_violating(problem_->examples(), problem_->n_classes(), all, z, columns,
                                  scratch.view(), products, wanted);
      result.add(part);
      result.max_violation = part.max_violation;
      if (part.steps < wanted) break;
      poll();
    }
    return result;
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  static constexpr std::int64_t kStepsAtOnce = 16;  // each takes as long as some visits

  template <class F>
  void in_parts(std::int64_t n, F f) const {
    const Poll poll = problem_->poll();
    const auto size = static_cast<std::int64_t>(problem_->rows_at_once());
    for (std::int64_t begin = 0; begin < n; begin += size) {
      f(begin, std::min(begin + size, n));
      poll();
    }
  }

  void check(const DualLists<T>& z) const {
    require(z.n_rows() == problem_->n_rows() && z.n_classes() == problem_->n_classes(),
            "duals must have the examples' shape");
  }

  WeightsView<T> view(MatrixView<T> weights) const {
    require(
        weights.n_rows == problem_->n_features() + 1 && weights.n_columns >= problem_->n_classes(),
        "weights must have n_features + 1 rows of n_classes numbers at least");
    check_padding(weights);
    return {weights.data, problem_->n_features(), problem_->n_classes(), weights.n_columns};
  }

  AllScores<T> view(MatrixView<T> scores, const DualLists<T>& z,
                    std::span<double> violations) const {
    const Formulation& f = problem_->examples().formulation;
    require(f.relative && !f.loss.has_ridge(), "relative margins and the hinge loss are needed");
    require(scores.n_rows == problem_->n_rows() && scores.n_columns >= problem_->n_classes(),
            "scores must have a row of n_classes numbers at least for every example");
    check_padding(scores);
    check(z);
    require(std::ssize(violations) == problem_->n_rows(),
            "there must be a violation for every example");
    return {scores.data, scores.n_columns, violations.data()};
  }

  void check_all(MatrixView<T> rows, const WeightsView<T>& w) const {
    require(rows.n_rows == problem_->n_rows() && rows.n_columns == w.stride && rows.is_aligned(),
            "log_u must have a row like W's for every example");
  }

  static void check_padding(MatrixView<T> rows) {
    constexpr auto kBlock = static_cast<std::int64_t>(kRowBlockBytes / sizeof(T));
    require(rows.is_aligned(), "rows must be aligned to 64 bytes");
    require(rows.n_columns % kBlock == 0, "rows must be padded to 64 bytes");
  }

  std::shared_ptr<const Problem<T>> problem_;
  const ComparisonKernels<T>& kernels_;
};

}  // namespace manyclass
