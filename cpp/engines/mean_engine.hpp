#pragma once
// W and z of some of the classes of a sum-to-zero formulation, minus a mean m that ranks share
// (sum_to_zero/mean_follower.hpp). W has one more column, which is subtracted from every class.
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
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "engines/dense_engine.hpp"
#include "engines/engine.hpp"
#include "simd/dispatch.hpp"
#include "subproblem/scratch.hpp"
#include "sum_to_zero/mean_follower.hpp"
#include "sum_to_zero/shared_kernels.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

template <class T, class Duals>
class MeanEngine final : public FeatureEngine<SharedMeanEngine, T, Duals> {
 public:
  explicit MeanEngine(const std::shared_ptr<const Problem<T>>& problem)
      : FeatureEngine<SharedMeanEngine, T, Duals>(problem, true, 1),
        kernels_(kernels_for<SharedKernels<T, Duals>>(problem->instruction_set())),
        mean_(problem->n_features()) {
    const Formulation& formulation = problem->examples().formulation;
    require(!formulation.relative && !formulation.centred,
            "a shared mean is for absolute margins, and W that is not centred itself");
    problem->check_no_base();
  }

  std::int64_t effort(const Extent& extent) const override { return this->full_loops(5, extent); }

  SweepResult visit(std::span<const std::int32_t> rows, bool shrunk, std::span<std::uint8_t> active,
                    std::span<double> sigma, std::span<double> moved) override {
    this->problem().check_sums(rows, sigma);
    require(active.size() == sigma.size() && moved.size() == rows.size(),
            "there must be an entry of active for every example, and of moved for every row");
    const auto at = [](std::int32_t i) { return i; };
    std::vector<std::int32_t> some;
    for (const std::int32_t i : rows) {
      if (active[at(i)]) some.push_back(i);
    }
    std::vector<std::int32_t> stay(some.size());
    const SweepResult found =
        this->with_sweep(shrunk, kEveryGap, [&](auto sweep) { return sweep(some, stay.data()); });
    for (std::size_t m = 0; m < rows.size(); ++m) moved[m] = -sigma[at(rows[m])];
    if (found.steps > 0) this->problem().put_sums(this->z(), some, sigma);
    for (std::size_t m = 0; m < rows.size(); ++m) moved[m] += sigma[at(rows[m])];
    for (const std::int32_t i : some) active[at(i)] = 0;
    stay.resize(found.n_active);
    for (const std::int32_t i : stay) active[at(i)] = 1;
    return found;
  }
  double follow_mean(std::span<const std::int32_t> rows, std::span<const double> moved,
                     std::span<const double> steps, double relaxation) override {
    require(steps.size() == rows.size() && moved.size() == rows.size(),
            "moved and steps must be as long as rows");
    this->problem().check_rows(rows);
    return manyclass::follow_mean(this->problem().examples(), this->view(), drift_, rows,
                                  moved.data(), steps.data(), relaxation, mean_);
  }
  double settle_mean() override { return manyclass::settle_mean(this->view(), mean_); }
  void drift(double drift) override {
    require(std::isfinite(drift), "drift must be finite");
    drift_ = drift;
  }

  double rebuild_less(std::span<const double> mean) override {
    const MatrixView<T> w = this->w();
    std::fill_n(w.data, w.n_rows * w.n_columns, T{0});
    return this->rebuild_from(this->problem().common_of(mean));
  }
  void restart_mean(std::span<const double> sum) override {
    require(std::ssize(sum) == mean_.n_features() + 1, "sum must have n_features + 1 numbers");
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

  SweepResult sweep(bool shrunk, const WeightsView<T>& w, Scratch<T> scratch,
                    std::span<const std::int32_t> order, double min_gap,
                    std::int32_t* active) override {
    const auto kernel = shrunk ? kernels_.shrunk_sweep : kernels_.full_sweep;
    return kernel(this->problem().examples(), w, drift_, this->z(), scratch, order, min_gap,
                  active);
  }

  const SharedKernels<T, Duals>& kernels_;
  double drift_ = 0;  // a visit moves m by drift_ times the sum of its step
  MeanFollower mean_;
};

}  // namespace manyclass
