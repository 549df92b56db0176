#pragma once
// W in hash tables, class -> weight, one per feature: for very many classes and relative margins
// (many_classes/sharded_sweep.hpp). Tables are divided into shards of classes, one for each thread.
// Classes have a given, random order, so that the shards have about equal sizes.
// Source: Keerthi et al. 2008, algorithm 3.1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "certificate/gap_sums.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_arrays.hpp"
#include "duals/dual_lists.hpp"
#include "engines/engine.hpp"
#include "many_classes/sharded_kernels.hpp"
#include "many_classes/sharded_team.hpp"
#include "simd/compensated_sum.hpp"
#include "simd/dispatch.hpp"
#include "threads/thread_choice.hpp"
#include "weights/sharded_weights.hpp"
#include "weights/to_csr.hpp"

namespace manyclass {

// A problem in which class order[p] has the number p.
template <class T>
class ReorderedProblem {
 public:
  ReorderedProblem(std::shared_ptr<const Problem<T>> problem, std::span<const std::int32_t> order)
      : original_(std::move(problem)),
        order_(order.begin(), order.end()),
        places_(order.size(), kElsewhere),
        labels_(reordered()),
        problem_(*original_, labels_, order_) {}
  ReorderedProblem(const ReorderedProblem&) = delete;
  ReorderedProblem& operator=(const ReorderedProblem&) = delete;

  const Problem<T>& problem() const { return problem_; }
  const std::vector<std::int32_t>& order() const { return order_; }
  // Convert original class numbers to numbers of the problem, and back.
  std::vector<std::int32_t> inside(std::span<const std::int32_t> classes) const {
    return mapped(classes, places_);
  }
  std::vector<std::int32_t> outside(std::span<const std::int32_t> classes) const {
    return mapped(classes, order_);
  }

 private:
  static std::vector<std::int32_t> mapped(std::span<const std::int32_t> classes,
                                          const std::vector<std::int32_t>& to) {
    require(in_range(classes, std::ssize(to)), "class out of range");
    std::vector<std::int32_t> found(classes.size());
    std::transform(classes.begin(), classes.end(), found.begin(),
                   [&](std::int32_t c) { return to[c]; });
    return found;
  }
  std::vector<std::int32_t> reordered() {
    require(std::ssize(std::span(order_)) == original_->n_classes() &&
                in_range(std::span<const std::int32_t>(order_), original_->n_classes()),
            "order must be a permutation of the classes");
    for (std::size_t p = 0; p < order_.size(); ++p) {
      places_[order_[p]] = static_cast<std::int32_t>(p);
    }
    require(std::find(places_.begin(), places_.end(), kElsewhere) == places_.end(),
            "order must be a permutation of the classes");
    original_->check_all_labelled();
    const std::int32_t* labels = original_->examples().labels;
    return inside({labels, static_cast<std::size_t>(original_->n_rows())});
  }

  std::shared_ptr<const Problem<T>> original_;
  std::vector<std::int32_t> order_, places_, labels_;
  Problem<T> problem_;
};

template <class T>
class TableEngine final : public SparseEngine {
 public:
  // Tables with a slot for every `dense_from` classes become plain rows (hash_tables.hpp).
  TableEngine(std::shared_ptr<const Problem<T>> problem, std::span<const std::int32_t> order,
              int n_threads, std::size_t dense_from)
      : classes_(std::move(problem), order),
        kernels_(kernels_for<ShardKernels<T>>(this->problem().instruction_set())),
        z_(this->problem().n_rows(), this->problem().n_classes()),
        w_(this->problem().n_features() + 1, this->problem().n_classes(),
           std::min(n_threads, this->problem().n_classes()), dense_from,
           this->problem().examples().base.has_tree) {
    require(this->problem().examples().formulation.relative, "margins must be relative");
  }

  SweepResult full_loop(std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                        double min_gap, std::uint64_t seed) override {
    problem().check_loop(rows, active);
    ShardTeam<T> team(kernels_, w_);
    return problem().loop(rows, active, seed, kRowsAtOnce, visit(team, false, min_gap));
  }
  ShrunkResult shrunk_loops(std::span<std::int32_t> active, std::int64_t n_active,
                            const ShrunkGoal& goal, std::uint64_t seed) override {
    problem().check_active(active, n_active);
    ShardTeam<T> team(kernels_, w_);
    return problem().loops(active, n_active, goal, seed, kRowsAtOnce,
                           visit(team, true, goal.min_gap));
  }
  // The scores of kLoops loops over all of z.
  std::int64_t effort(const Extent& extent) const override {
    constexpr std::int64_t kLoops = 10;
    return kLoops * (z_.count() + extent.n_active);
  }

  double rebuild() override {
    ShardTeam<T> team(kernels_, w_);
    return team.rebuild(problem().examples(), z_, problem().poll())
        .bound(problem().n_rows() + problem().n_classes());
  }
  std::vector<GapSums> gap_sums(const Weights* other, std::span<const double> common,
                                double norm) override {
    require(other == nullptr && common.empty(), "W in tables has no other one, and no mean");
    ShardTeam<T> team(kernels_, w_);
    GapSums sum;
    const auto step = static_cast<std::int64_t>(kRowsAtOnce) * w_.size();
    for (std::int64_t row = 0; row < problem().n_rows(); row += step) {
      const std::int64_t end = std::min(row + step, problem().n_rows());
      sum.add(team.inspect(problem().examples(), z_, {nullptr, norm}, row, end));
      problem().poll()();
    }
    return {sum};
  }
  // Every margin of an example with x_i = 0 has the loss 1, without base scores and factors.
  double constant_loss() override {
    const Examples<T>& examples = problem().examples();
    const bool is_varied = examples.base || examples.factors;
    CompensatedSum costs, losses;
    std::optional<ShardTeam<T>> team;
    for (std::int64_t i = 0; i < examples.x.n_rows; ++i) {
      if (examples.norms[i] > 0) continue;
      costs.add(examples.costs[i]);
      if (!is_varied) continue;
      if (!team) team.emplace(kernels_, w_);
      losses.add(team->inspect(examples, z_, {nullptr, 0.0}, i, i + 1).loss);
    }
    if (is_varied) return losses.value();
    return costs.value() * (examples.formulation.maximum ? 1 : problem().n_classes() - 1);
  }

  void set_duals(std::span<const std::int64_t> indptr, std::span<const std::int32_t> labels,
                 std::span<const double> values) override {
    const std::vector<std::int32_t> places = classes_.inside(labels);
    const std::vector<T> rounded(values.begin(), values.end());
    import_duals<T>(z_, indptr, places, std::span<const T>(rounded));
  }
  AnyCsr duals() const override {
    CsrArrays<T> found = export_duals<T>(z_);
    found.labels = classes_.outside(found.labels);
    return found;
  }
  std::int64_t n_duals() const override { return z_.count(); }

  AnyWeights copy_weights() const override {
    return AnyCsr(export_weights(w_, std::span(classes_.order())));
  }
  AnyWeights release_weights() override {
    AnyWeights found = copy_weights();
    w_.clear();
    return found;
  }
  std::int64_t n_weights() const override { return w_.n_slots(); }
  double squared_norm() const override { return w_.squared_norm(); }
  AnyVector intercepts() const override { return w_.intercepts(); }

  void stop() override { problem().stop(); }

 private:
  // Visits between two polls, at most tenths of a second.
  static constexpr std::size_t kRowsAtOnce = 512;

  const Problem<T>& problem() const { return classes_.problem(); }

  auto visit(ShardTeam<T>& team, bool shrunk, double min_gap) {
    ThreadChoice& choice = choices_[shrunk ? 1 : 0];
    choice.allow(team.capacity());
    return [this, &team, &choice, shrunk, min_gap](std::span<const std::int32_t> order,
                                                   std::int32_t* active) {
      return choice.measure(static_cast<double>(order.size()), [&](int n_threads) {
        team.limit(n_threads);
        return team.visit(problem().examples(), z_, order, shrunk, min_gap, active);
      });
    };
  }

  ReorderedProblem<T> classes_;
  const ShardKernels<T>& kernels_;
  DualLists<T> z_;
  ShardedWeights<T> w_;
  ThreadChoice choices_[2];  // for full loops and for shrunk loops
};

}  // namespace manyclass
