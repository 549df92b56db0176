#pragma once
// A training problem: its examples, which are checked once, their norms, and the flag that stops
// training. The trainers of a problem share it. Loops over the examples.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "certificate/feasible.hpp"
#include "data/array_views.hpp"
#include "data/base_scores.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "data/owned_tree.hpp"
#include "data/read_in_order.hpp"
#include "data/visit_order.hpp"
#include "dual/kernels.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lists.hpp"
#include "simd/dispatch.hpp"
#include "threads/interrupt_poll.hpp"

namespace manyclass {

// The arrays of a training problem. The caller owns them and must not change them. For a dense X,
// `indices` are 0 to n_features - 1, which all rows share, and `indptr` multiples of n_features.
template <class T>
struct ExampleArrays {
  Formulation formulation;
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> indices;
  std::span<const T> values;
  std::int64_t n_features;
  T bias;
  std::span<const std::int32_t> labels;
  std::int32_t n_classes;
  std::span<const double> costs;
  // Base scores, unless `base_rows` is empty: a table of n_classes columns, and the row of each
  // example. The table is copied.
  std::span<const double> base_table{};
  std::span<const std::int32_t> base_rows{};
  // Bits of the classes of every example, or empty. With sets, `labels` are kElsewhere.
  std::span<const std::uint64_t> sets{};
  std::int64_t rows_in_region = 0;  // 0: X is in memory; else see Regions
  // Base scores of a taxonomy instead of a table, also copied; null: none.
  const TreeArrays* base_tree = nullptr;
  // Delta(y, c), n_classes x n_classes: costs of mistakes that scale the losses, copied; or empty.
  std::span<const double> factors{};
};

template <class T>
class Problem {
 public:
  // `check_signals` is called regularly during training. It throws to end training.
  Problem(const ExampleArrays<T>& arrays, std::string instruction_set, Poll check_signals)
      : n_classes_(arrays.n_classes),
        norms_(arrays.labels.size()),
        instruction_set_(std::move(instruction_set)),
        check_signals_(std::move(check_signals)),
        rows_in_region_(arrays.rows_in_region) {
    require(rows_in_region_ >= 0, "rows_in_region must not be negative");
    require(arrays.indptr.size() == arrays.labels.size() + 1,
            "indptr must have one entry more than labels");
    require(arrays.costs.size() == arrays.labels.size(), "costs and labels must have one length");
    const bool is_dense = arrays.indices.size() != arrays.values.size();
    require_none(flaw_of(arrays.labels, arrays.n_classes));
    require_none(flaw_of_costs(arrays.costs));
    has_runs_ = has_runs(arrays.labels, arrays.n_classes);
    examples_ = {.formulation = arrays.formulation,
                 .x = {.indptr = arrays.indptr.data(),
                       .indices = arrays.indices.data(),
                       .values = arrays.values.data(),
                       .n_rows = std::ssize(arrays.labels),
                       .n_features = arrays.n_features,
                       .bias = arrays.bias,
                       .is_dense = is_dense},
                 .labels = arrays.labels.data(),
                 .norms = norms_.data(),
                 .costs = arrays.costs.data()};
    if (is_dense)
      require_none(flaw_of_dense(examples_.x, arrays.indices, std::ssize(arrays.values)));
    require_none(flaw_of(examples_.x, std::ssize(arrays.values)));
    if (!arrays.base_rows.empty()) take_base(arrays);
    if (!arrays.sets.empty()) take_sets(arrays);
    if (arrays.base_tree) take_tree(arrays);
    if (!arrays.factors.empty()) take_factors(arrays);
    kernels_for<Kernels<T, DualLists<T>>>(instruction_set_)
        .squared_norms(examples_.x, norms_.data());
  }
  // The same examples with their classes in a different order: class p is class order[p] of
  // `other`. The caller owns the labels.
  Problem(const Problem& other, std::span<const std::int32_t> labels,
          std::span<const std::int32_t> order)
      : n_classes_(other.n_classes_),
        norms_(other.norms_),
        instruction_set_(other.instruction_set_),
        check_signals_(other.check_signals_),
        rows_in_region_(other.rows_in_region_),
        has_runs_(other.has_runs_),
        examples_(other.examples_) {
    check_no_sets();
    require(std::ssize(labels) == n_rows(), "every example must have a label");
    require_none(flaw_of(labels, n_classes_));
    examples_.labels = labels.data();
    examples_.norms = norms_.data();
    if (other.base_) {
      base_ = std::make_unique<const BaseTable<T>>(*other.base_, order);
      // Only columns change their order: rows that are classes keep the numbers of `other`.
      examples_.base = base_->view(examples_.base.rows);
    } else if (other.tree_) {
      take_tree(std::make_unique<const ClassTree<T>>(*other.tree_, order));
    }
    if (!other.factors_) return;
    factors_ = std::make_unique<const BaseTable<T>>(*other.factors_, order);
    examples_.factors = factors_->view(examples_.factors.rows);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Examples<T>& examples() const { return examples_; }
  std::int32_t n_classes() const { return n_classes_; }
  std::int64_t n_rows() const { return examples_.x.n_rows; }
  std::int64_t n_features() const { return examples_.x.n_features; }
  const std::vector<double>& norms() const { return norms_; }
  // Whether X is read region by region, because it does not fit into memory.
  bool in_regions() const { return rows_in_region_ > 0; }
  const std::string& instruction_set() const { return instruction_set_; }

  // Stop all training of this problem, from a different thread.
  void stop() const { stopped_.store(true, std::memory_order_relaxed); }
  // To be called between visits. Throws after `stop`, and if check_signals throws.
  Poll poll() const {
    return [this] {
      if (stopped_.load(std::memory_order_relaxed)) {
        throw std::runtime_error("training was stopped");
      }
      check_signals_();
    };
  }

  // The rows (ascending) in a random order that keeps neighbors together.
  std::vector<std::int32_t> order(std::span<const std::int32_t> rows, std::uint64_t seed) const {
    check_rows(rows);
    Random random(seed);
    VisitOrder visits = new_visit_order();
    std::vector<std::int32_t> found;
    for (const auto region : visits.regions(rows, random)) {
      const auto some = visits.shuffled(region, random);
      found.insert(found.end(), some.begin(), some.end());
    }
    return found;
  }

  // Visits between two polls: about 2^28 multiply-adds, some 20 ms.
  std::size_t rows_at_once() const {
    const Csr<T>& x = examples_.x;
    const double n = std::max(1.0, static_cast<double>(x.n_rows));
    const double features = static_cast<double>(x.indptr[x.n_rows]) / n;
    const double rows = kWorkBetweenPolls / ((features + 1) * n_classes_);
    return std::max<std::size_t>(1, rows);
  }

  // sigma of every row (certificate/feasible.hpp).
  template <class Duals>
  void row_sums(const Duals& z, std::span<const std::int32_t> rows, std::span<double> sigma) const {
    check_sums(rows, sigma);
    put_sums(z, rows, sigma);
  }

  // sum_i factors_i x_i, n_features + 1 numbers, in double.
  std::vector<double> sum_of_rows(std::span<const double> factors) const {
    require(factors.size() == norms_.size(), "there must be a factor for every example");
    const Csr<T>& x = examples_.x;
    std::vector<double> sum(x.n_features + 1);
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      const double factor = factors[i];
      if (factor == 0) continue;
      const Row<T> row = x.row(i);
      for (std::int64_t p = 0; p < row.nnz; ++p) {
        sum[row.indices[p]] += factor * static_cast<double>(row.values[p]);
      }
      sum.back() += factor * static_cast<double>(row.bias);
    }
    return sum;
  }

  void check_rows(std::int64_t begin, std::int64_t end) const {
    require(0 <= begin && begin <= end && end <= n_rows(), "rows out of range");
  }
  void check_rows(std::span<const std::int32_t> rows) const {
    require(in_range(rows, n_rows()), "row out of range");
  }
  // For trainers without base scores and without factors of losses.
  void check_no_base() const {
    require(!base_ && !tree_, "base scores are not for this trainer");
    require(!factors_, "factors of losses are not for this trainer");
  }
  // For trainers that support base scores only in a table; null: there are none.
  const BaseTable<T>* base_table() const {
    require(!tree_, "base scores must be a table for this trainer");
    return base_.get();
  }
  // Factors of losses, whose rows are classes; null: there are none.
  const BaseTable<T>* factor_table() const { return factors_.get(); }
  // For engines that support only one class for each example.
  void check_no_sets() const {
    require(examples_.sets == nullptr, "sets of classes are for engines with z in lanes");
  }
  // For margins that need the score of y.
  void check_all_labelled() const {
    const std::int32_t* end = examples_.labels + n_rows();
    require(std::find(examples_.labels, end, kElsewhere) == end,
            "every example must have its class");
  }

  void check_sums(std::span<const std::int32_t> rows, std::span<const double> sigma) const {
    require(sigma.size() == norms_.size(), "sigma must have an entry for every example");
    check_rows(rows);
  }
  template <class Duals>
  void put_sums(const Duals& z, std::span<const std::int32_t> rows, std::span<double> sigma) const {
    for (const std::int32_t i : rows) {
      sigma[i] = sigma_of(examples(), z, i);
    }
  }
  const double* common_of(std::span<const double> common) const {
    require(common.empty() || std::ssize(common) == n_features() + 1,
            "common must have n_features + 1 numbers, or none");
    return common.empty() ? nullptr : common.data();
  }

  // One loop over `rows`, ascending, in random order. Active examples are written to `active`.
  template <class Sweep>
  SweepResult loop(std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                   std::uint64_t seed, std::size_t at_once, Sweep sweep) const {
    Random random(seed);
    VisitOrder visits = new_visit_order();
    return loop_over(rows, active.data(), visits, at_once, random, sweep, poll());
  }
  // Loops over the first n_active of `active`.
  template <class Sweep>
  ShrunkResult loops(std::span<std::int32_t> active, std::int64_t n_active, const ShrunkGoal& goal,
                     std::uint64_t seed, std::size_t at_once, Sweep sweep) const {
    Random random(seed);
    VisitOrder visits = new_visit_order();
    return manyclass::shrunk_loops(active.first(n_active), goal, visits, at_once, random, sweep,
                                   poll());
  }
  void check_loop(std::span<const std::int32_t> rows, std::span<const std::int32_t> active) const {
    require(active.size() >= rows.size(), "active must be as long as rows");
    check_rows(rows);
  }
  void check_active(std::span<const std::int32_t> active, std::int64_t n_active) const {
    require(0 <= n_active && n_active <= std::ssize(active), "n_active is out of range");
    check_rows(active.first(n_active));
  }

 private:
  void take_sets(const ExampleArrays<T>& arrays) {
    const Formulation& f = arrays.formulation;
    const bool is_one_vs_rest = !f.relative && f.others && f.own && !f.maximum && !f.centred;
    require(is_one_vs_rest && !base_, "sets of classes go with one-vs-rest, without base scores");
    require(arrays.sets.size() == arrays.labels.size(), "every example must have a set");
    require(n_classes_ <= kMaxInSets, "sets of classes have 64 at most");
    const std::uint64_t all = ~std::uint64_t{0} >> (kMaxInSets - n_classes_);
    const auto is_beyond = [all](std::uint64_t set) { return (set & ~all) != 0; };
    require(std::none_of(arrays.sets.begin(), arrays.sets.end(), is_beyond),
            "a set has a class that is out of range");
    const auto is_label = [](std::int32_t label) { return label != kElsewhere; };
    require(std::none_of(arrays.labels.begin(), arrays.labels.end(), is_label),
            "an example has a set, or a label");
    examples_.sets = arrays.sets.data();
  }
  void take_base(const ExampleArrays<T>& arrays) {
    require(arrays.base_table.size() % n_classes_ == 0,
            "base scores must have a column for each class");
    require(arrays.base_rows.size() == arrays.labels.size(),
            "every example must have a row of base scores");
    require_none(flaw_of_base(arrays.base_table));
    base_ = std::make_unique<const BaseTable<T>>(arrays.base_table, n_classes_);
    require(in_range(arrays.base_rows, base_->n_rows()), "row of base scores out of range");
    examples_.base = base_->view(arrays.base_rows.data());
  }

  void take_factors(const ExampleArrays<T>& arrays) {
    const Formulation& f = arrays.formulation;
    require(f.relative && !f.maximum, "factors are for sums of losses under relative margins");
    check_all_labelled();
    require(std::ssize(arrays.factors) == std::int64_t{n_classes_} * n_classes_,
            "factors must have a row and a column for each class");
    require_none(flaw_of_costs(arrays.factors));
    factors_ = std::make_unique<const BaseTable<T>>(arrays.factors, n_classes_, 1.0);
    examples_.factors = factors_->view(examples_.labels);
  }

  // For few classes, kernels require a table.
  void take_tree(const ExampleArrays<T>& arrays) {
    require(!base_, "base scores are in a table or in a tree");
    check_all_labelled();
    auto tree = std::make_unique<const ClassTree<T>>(*arrays.base_tree, n_classes_);
    if (n_classes_ > kFewClasses) return take_tree(std::move(tree));
    base_ =
        std::make_unique<const BaseTable<T>>(std::span<const double>(tree->table()), n_classes_);
    examples_.base = base_->view(examples_.labels);
  }
  void take_tree(std::unique_ptr<const ClassTree<T>> tree) {
    tree_ = std::move(tree);
    examples_.base = {.rows = examples_.labels,
                      .n_classes = n_classes_,
                      .largest = tree_->largest(),
                      .has_tree = true,
                      .tree = tree_->view()};
  }

  static constexpr std::int32_t kFewClasses = 64;        // maximum for lanes (dual/lane_sweep.hpp)
  static constexpr std::int64_t kBlockOfRows = 1 << 14;  // bytes
  static constexpr std::int64_t kFewBlocks = 4, kManyBlocks = 64;
  // Labels have runs if (frequency of equal neighbors - chance) / (1 - chance) exceeds this.
  static constexpr double kRuns = 0.25;

  // Blocks of rows of about four pages of memory; at least 256 blocks, so that the order is random.
  // Rows of several blocks are visited in turn; of many blocks if neighboring labels have runs.
  VisitOrder new_visit_order() const {
    const std::int64_t n = n_rows();
    const std::int64_t nnz = examples_.x.indptr[n];
    const auto bytes = static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) * nnz;
    const std::int64_t rows =
        std::min(kBlockOfRows * n / std::max<std::int64_t>(bytes, 1), n / 256);
    return {n, std::clamp<std::int64_t>(rows, 1, 32), has_runs_ ? kManyBlocks : kFewBlocks,
            regions()};
  }
  Regions regions() const {
    if (rows_in_region_ == 0) return {};
    return {rows_in_region_, [this](auto rows) { read_in_order(examples_.x, rows); }};
  }

  static bool has_runs(std::span<const std::int32_t> labels, std::int32_t n_classes) {
    std::vector<double> counts(n_classes + 1);  // the last one counts kElsewhere
    std::int64_t n_same = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      ++counts[labels[i] < 0 ? n_classes : labels[i]];
      n_same += i > 0 && labels[i] == labels[i - 1];
    }
    const auto n = static_cast<double>(std::max<std::size_t>(labels.size(), 1));
    double by_chance = 0;
    for (const double count : counts) by_chance += (count / n) * (count / n);
    return static_cast<double>(n_same) / n - by_chance > kRuns * (1 - by_chance);
  }

  std::int32_t n_classes_;
  std::vector<double> norms_;
  std::string instruction_set_;
  Poll check_signals_;
  std::int64_t rows_in_region_;
  bool has_runs_ = false;
  std::unique_ptr<const BaseTable<T>> base_;
  std::unique_ptr<const ClassTree<T>> tree_;
  std::unique_ptr<const BaseTable<T>> factors_;
  Examples<T> examples_;
  mutable std::atomic<bool> stopped_{false};
};

}  // namespace manyclass
