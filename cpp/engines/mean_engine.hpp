#pragma once
// W and z of some of the classes of a sum-to-zero formulation, less a mean m that other ranks share
// (sum_to_zero/mean_follower.hpp). W has one column more, which is subtracted from every class's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "dual/problem.hpp"
#include "engines/dense_engine.hpp"
#include "engines/engine.hpp"
#include "sum_to_zero/mean_follower.hpp"

namespace manyclass {

template <class T, class Duals>
class MeanEngine final : public FeatureEngine<SharedMeanEngine, T, Duals> {
 public:
  explicit MeanEngine(const std::shared_ptr<const Problem<T>>& problem)
      : FeatureEngine<SharedMeanEngine, T, Duals>(problem, true, 1),
        mean_(static_cast<std::size_t>(problem->n_features())) {
    require(problem->examples().formulation.shifted, "the formulation must be shifted");
  }

  std::int64_t effort(const Extent& extent) const override { return this->full_loops(5, extent); }

  SweepResult visit(std::span<const std::int32_t> rows, bool shrunk, std::span<std::uint8_t> active,
                    std::span<double> sigma, std::span<double> moved) override {
    this->problem().check_sums(rows, sigma);
    require(active.size() == sigma.size() && moved.size() == rows.size(),
            "there must be an entry of active for every example, and of moved for every row");
    const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<std::int32_t> some;
    for (const std::int32_t i : rows) {
      if (active[at(i)]) some.push_back(i);
    }
    std::vector<std::int32_t> stay(some.size());
    const auto kernel = shrunk ? this->kernels_.shrunk_sweep : this->kernels_.full_sweep;
    const SweepResult found =
        this->with_sweep(kernel, kEveryGap, [&](auto sweep) { return sweep(some, stay.data()); });
    for (std::size_t m = 0; m < rows.size(); ++m) moved[m] = -sigma[at(rows[m])];
    if (found.steps > 0) this->problem().put_sums(this->z(), some, sigma);
    for (std::size_t m = 0; m < rows.size(); ++m) moved[m] += sigma[at(rows[m])];
    for (const std::int32_t i : some) active[at(i)] = 0;
    stay.resize(static_cast<std::size_t>(found.n_active));
    for (const std::int32_t i : stay) active[at(i)] = 1;
    return found;
  }
  double follow_mean(std::span<const std::int32_t> rows, std::span<const double> moved,
                     std::span<const double> steps, double relaxation) override {
    require(steps.size() == rows.size() && moved.size() == rows.size(),
            "moved and steps must be as long as rows");
    this->problem().check_rows(rows);
    return manyclass::follow_mean(this->examples_, this->view(), rows, moved.data(), steps.data(),
                                  relaxation, mean_);
  }
  double settle_mean() override { return manyclass::settle_mean(this->view(), mean_); }
  void drift(double drift) override {
    require(std::isfinite(drift), "drift must be finite");
    this->examples_.formulation.drift = drift;
  }

  double rebuild_less(std::span<const double> mean) override {
    const MatrixView<T> w = this->w();
    std::fill_n(w.data, w.n_rows * w.n_columns, T{0});
    return this->rebuild_from(this->problem().common_of(mean));
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
  static constexpr double kEveryGap = -std::numeric_limits<double>::infinity();

  MeanFollower mean_;
};

}  // namespace manyclass
