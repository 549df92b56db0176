#pragma once
// Class-partitioned training: all examples; one pair of class blocks is trained at a time
// (class_pairs/weston_watkins.hpp, class_pairs/crammer_singer.hpp).
// Source: Alber et al. 2017, algorithms 3 and 4.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "certificate/coefficient_blocks.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "class_pairs/pair_kernels.hpp"
#include "class_pairs/pair_views.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "duals/dual_lists.hpp"
#include "simd/dispatch.hpp"
#include "simd/vector.hpp"
#include "subproblem/scratch.hpp"
#include "threads/interrupt_poll.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass {

// `Pair` is DensePair<T> or TablePair<T>; `Weights`, from which it is made, is MatrixView<T> or
// PairTables<T>&.
template <class T>
class PairTrainer {
 public:
  explicit PairTrainer(std::shared_ptr<const Problem<T>> problem)
      : problem_(std::move(problem)),
        kernels_{kernels_for<PairKernels<T, PairView<T>>>(problem_->instruction_set()),
                 kernels_for<PairKernels<T, TablePairView<T>>>(problem_->instruction_set())},
        rebuild_kernels_(kernels_for<RebuildKernels<T>>(problem_->instruction_set())) {
    require(problem_->examples().formulation.relative, "pairs are for relative margins");
    problem_->base_table();
  }

  // One loop over `rows`, ascending, in random order. Examples that stay active are written to
  // `active`, which may be `rows`.
  template <class Pair, class Weights>
  SweepResult loop(const ClassPair& class_pair, Weights weights, DualLists<T>& z,
                   std::span<const std::int32_t> rows, std::span<std::int32_t> active, bool shrunk,
                   double min_gap, std::uint64_t seed) const {
    require(!problem_->examples().formulation.maximum, "loops are for sums of losses");
    problem_->check_loop(rows, active);
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    check_rows_of(class_pair, rows);
    const auto kernel = shrunk ? kernels<Pair>().shrunk_sweep : kernels<Pair>().full_sweep;
    const Examples<T> examples = labelled(class_pair);
    OwnedScratch<T> scratch = scratch_of(class_pair);
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernel(examples, pair.view, z, scratch.view(), order, min_gap, still_active);
    };
    return problem_->loop(rows, active, seed, problem_->rows_at_once(), sweep);
  }

  // The loop for shares of budgets (class_pairs/crammer_singer.hpp); examples of any block may have
  // shares. scored[i] has the slots whose classes are all scored; empty: no slots.
  template <class Pair, class Weights>
  SweepResult trade(const ClassPair& class_pair, Weights weights, DualLists<T>& shares,
                    std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                    std::span<const std::uint8_t> scored, std::uint64_t seed) const {
    require(problem_->examples().formulation.maximum, "shares are traded for the largest loss");
    problem_->check_loop(rows, active);
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(shares, class_pair);
    require(scored.empty() || scored.size() == class_pair.labels.size(),
            "scored must have a number for every example");
    const Examples<T> examples = labelled(class_pair);
    OwnedScratch<T> scratch = scratch_of(class_pair);
    const std::uint8_t* slots = scored.empty() ? nullptr : scored.data();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernels<Pair>().trade(examples, pair.view, shares, scratch.view(), order, slots,
                                   still_active);
    };
    return problem_->loop(rows, active, seed, problem_->rows_at_once(), sweep);
  }

  // Largest and smallest slacks and z . xi of every example, over the classes of the pair.
  template <class Pair, class Weights>
  void survey(const ClassPair& class_pair, Weights weights, const DualLists<T>& z,
              std::span<const double> own_scores, std::span<double> largest,
              std::span<double> smallest, std::span<double> z_dot_xi) const {
    const std::size_t n = class_pair.labels.size();
    require(own_scores.size() == n && largest.size() == n && smallest.size() == n &&
                z_dot_xi.size() == n,
            "there must be one number per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    const Examples<T> examples = labelled(class_pair);
    const SlackSurvey out{largest.data(), smallest.data(), z_dot_xi.data()};
    OwnedScratch<T> scratch = scratch_of(class_pair);
    in_chunks([&](std::int64_t begin, std::int64_t end) {
      kernels<Pair>().survey(examples, pair.view, own_scores.data(), z, scratch.view(), begin, end,
                             out);
    });
  }

  // out[i] = w_y . x for the `rows` whose class is in the pair.
  template <class Pair, class Weights>
  void own_scores(const ClassPair& class_pair, Weights weights, std::span<const std::int32_t> rows,
                  std::span<double> out) const {
    require(out.size() == class_pair.labels.size(), "there must be one score per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_rows_of(class_pair, rows);
    kernels<Pair>().own_scores(labelled(class_pair), pair.view, rows, out.data());
  }

  // Gap, loss and violation in double, over the classes of the pair.
  template <class Pair, class Weights>
  GapSums inspect(const ClassPair& class_pair, Weights weights, const DualLists<T>& z,
                  std::span<const double> own_scores, double norm) const {
    require(own_scores.size() == class_pair.labels.size(), "there must be one score per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    const Examples<T> examples = labelled(class_pair);
    OwnedScratch<T> scratch = scratch_of(class_pair);
    GapSums sum;
    in_chunks([&](std::int64_t begin, std::int64_t end) {
      sum.add(kernels<Pair>().inspect(examples, pair.view, own_scores.data(), z, {nullptr, norm},
                                      scratch.view(), begin, end));
    });
    return sum;
  }

  // W <- W(z) of the pair: z is multiplied by scale_i, within its bound, and w_{y_i} gains
  // totals_i x_i. Returns an upper bound of the distance between W and W(z).
  template <class Pair, class Weights>
  double rebuild(const ClassPair& class_pair, Weights weights, const DualLists<T>& z,
                 std::span<const double> totals, std::span<const double> scale) const {
    const std::size_t n = class_pair.labels.size();
    require(totals.size() == n && scale.size() == n, "there must be one number per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    const Examples<T> examples = labelled(class_pair);
    const Formulation& f = examples.formulation;
    const auto each = [&](std::int64_t i, auto take) {
      z.each(i, [&](std::int32_t c, T value) {
        const double a = scale.data()[i] * static_cast<double>(value);
        take(c, -(f.maximum ? a : std::min(a, f.loss.upper(examples.costs_of(i).of(c)))));
      });
      const std::int32_t y = examples.labels[i];
      if (y != kElsewhere && totals.data()[i] > 0) take(y, totals.data()[i]);
    };
    return rebuild_slots(pair.view, examples, each)
        .bound(problem_->n_rows() + problem_->n_classes());
  }

  const Problem<T>& problem() const { return *problem_; }

 private:
  template <class Pair>
  const auto& kernels() const {
    return std::get<const PairKernels<T, typename Pair::View>&>(kernels_);
  }

  template <class Pair, class Weights>
  Pair pair_of(const ClassPair& class_pair, Weights& weights) const {
    require(std::ssize(class_pair.labels) == problem_->n_rows(),
            "there must be one label per example");
    return {class_pair, weights, problem_->n_features()};
  }
  static OwnedScratch<T> scratch_of(const ClassPair& class_pair) {
    return OwnedScratch<T>(2 * class_pair.width, 2 * class_pair.width);
  }

  template <class Each>
  RebuildError rebuild_slots(const PairView<T>& pair, const Examples<T>& examples,
                             Each each) const {
    return rebuild_dense(rebuild_kernels_, examples, pair.w, nullptr, each, problem_->poll());
  }
  template <class Each>
  RebuildError rebuild_slots(const TablePairView<T>& pair, const Examples<T>& examples,
                             Each each) const {
    RebuildError error;
    ClassSums<T> sums(examples.x);
    for (HashTables<T>* slot : pair.slots) slot->clear();
    each_range(examples.x.n_rows, 2 * pair.width, 1, each, [&](const CoefficientBlocks& blocks) {
      for (int slot = 0; slot < 2; ++slot) {
        error.add(rebuild_tables(examples, *pair.slots[slot], slot * pair.width, blocks, sums));
      }
      problem_->poll()();
    });
    return error;
  }

  // call(begin, end) for all examples, with a poll after each chunk.
  template <class Call>
  void in_chunks(Call call) const {
    const std::int64_t n = problem_->n_rows();
    const auto size = static_cast<std::int64_t>(problem_->rows_at_once());
    for (std::int64_t begin = 0; begin < n; begin += size) {
      call(begin, std::min(begin + size, n));
      problem_->poll()();
    }
  }

  Examples<T> labelled(const ClassPair& class_pair) const {
    Examples<T> examples = problem_->examples();
    examples.labels = class_pair.labels.data();
    const BaseTable<T>* base = problem_->base_table();
    const BaseTable<T>* factors = problem_->factor_table();
    if (!base && !factors) return examples;
    take_columns(class_pair, base, factors);
    if (base) examples.base = base_->view(examples.base.rows);
    if (factors) examples.factors = factors_->view(examples.factors.rows);
    return examples;
  }

  // The columns of the pair's classes in base scores that are 0 for c = y_i, and in factors.
  void take_columns(const ClassPair& class_pair, const BaseTable<T>* base,
                    const BaseTable<T>* factors) const {
    const std::span<const std::int32_t> classes = class_pair.classes;
    const std::int32_t n_classes = problem_->n_classes();
    require(std::ssize(classes) == 2 * class_pair.width, "every column must have a class, or -1");
    if (std::ranges::equal(classes, classes_)) return;
    const auto odd = [=](std::int32_t c) { return c < -1 || c >= n_classes; };
    require(std::ranges::none_of(classes, odd), "class out of range");
    if (base) base_ = std::make_unique<const BaseTable<T>>(*base, classes);
    if (factors) factors_ = std::make_unique<const BaseTable<T>>(*factors, classes);
    classes_.assign(classes.begin(), classes.end());
  }

  void check_lists(const DualLists<T>& z, const ClassPair& class_pair) const {
    require(z.n_rows() == problem_->n_rows() && z.n_classes() == 2 * class_pair.width,
            "z must have one list per example, over the columns of the weights");
  }

  void check_rows_of(const ClassPair& class_pair, std::span<const std::int32_t> rows) const {
    problem_->check_rows(rows);
    for (const std::int32_t i : rows) {
      require(class_pair.labels[i] != kElsewhere, "a row belongs to another class block");
    }
  }

  std::shared_ptr<const Problem<T>> problem_;
  std::tuple<const PairKernels<T, PairView<T>>&, const PairKernels<T, TablePairView<T>>&> kernels_;
  const RebuildKernels<T>& rebuild_kernels_;
  mutable std::unique_ptr<const BaseTable<T>> base_, factors_;  // of the last pair
  mutable std::vector<std::int32_t> classes_;                   // its columns
};

}  // namespace manyclass
