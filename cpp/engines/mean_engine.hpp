#pragma once
// W and z of some of the classes of a sum-to-zero formulation, less a mean m that other ranks share
// (sum_to_zero/mean_follower.hpp). W has one column more, which is subtracted from every class's.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "dual/problem.hpp"
#include "dual/trainer.hpp"
#include "engines/engine.hpp"
#include "engines/owned_engine.hpp"
#include "sum_to_zero/mean_follower.hpp"

namespace manyclass {

template <class T, class Duals>
class MeanEngine final : public OwnedEngine<SharedMeanEngine, T, Trainer<T, Duals>, Duals> {
 public:
  explicit MeanEngine(std::shared_ptr<const Problem<T>> problem)
      : OwnedEngine<SharedMeanEngine, T, Trainer<T, Duals>, Duals>(
            problem,
            {.n_features = problem->n_features(),
             .n_classes = problem->n_classes(),
             .mean_apart = true},
            1),
        mean_(static_cast<std::size_t>(problem->n_features())) {
    require(problem->examples().formulation.shifted, "the formulation must be shifted");
  }

  std::int64_t effort(const Extent& extent) const override { return this->full_loops(5, extent); }

  SweepResult visit(std::span<const std::int32_t> rows, bool shrunk, std::span<std::uint8_t> active,
                    std::span<double> sigma, std::span<double> moved) override {
    return this->trainer().visit(this->w(), this->z(), rows, shrunk, active, sigma, moved);
  }
  double follow_mean(std::span<const std::int32_t> rows, std::span<const double> moved,
                     std::span<const double> steps, double relaxation) override {
    return this->trainer().follow_mean(this->w(), this->z(), rows, moved, steps, relaxation, mean_);
  }
  double settle_mean() override { return this->trainer().settle_mean(this->w(), this->z(), mean_); }
  void drift(double drift) override { this->trainer().drift(drift); }

  double rebuild_less(std::span<const double> mean) override {
    const MatrixView<T> w = this->w();
    std::fill_n(w.data, w.n_rows * w.n_columns, T{0});
    return this->trainer().rebuild(w, this->z(), mean);
  }
  void restart_mean(std::span<const double> sum) override {
    require(length(sum) == mean_.n_features() + 1, "sum must have n_features + 1 numbers");
    mean_.restart(sum);
  }
  std::vector<double> sum_of_classes() const override {
    std::vector<double> sum;
    for (std::int64_t j = 0; j <= mean_.n_features(); ++j) sum.push_back(mean_.sum(j));
    return sum;
  }
  void row_sums(std::span<const std::int32_t> rows, std::span<double> sigma) override {
    this->problem().row_sums(this->z(), rows, sigma);
  }

 private:
  MeanFollower mean_;
};

}  // namespace manyclass
