#pragma once
// An engine with dense W and its z. `Base` is the interface. engines/dense_engine.hpp and
// engines/class_engine.hpp implement the functions that depend on the layout of W.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "certificate/gap_sums.hpp"
#include "data/array_views.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_arrays.hpp"
#include "duals/dual_lists.hpp"
#include "engines/engine.hpp"
#include "engines/weight_array.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class Base, class T, class Duals>
class OwnedEngine : public Base {
 public:
  double rebuild() override {
    if (!problem().examples().formulation.centred) return rebuild_from(nullptr);
    return rebuild_from(problem().sum_of_rows(mean_factors()).data());
  }

  // Parts of rows between two polls; threads compute as many parts at a time as there are threads.
  std::vector<GapSums> gap_sums(const Weights* other, std::span<const double> common,
                                double norm) override {
    const WeightArray<T>& own = weights_.of<T>();
    const MatrixView<T> at = other ? other->of<T>().rows_like(own) : own.rows();
    const CertifiedWeights certified{problem().common_of(common), norm};
    const std::int64_t n = problem().n_rows();
    const auto at_once = static_cast<std::int64_t>(problem().rows_at_once());
    const std::int64_t size =
        std::max<std::int64_t>(1, std::min(at_once, (n + n_threads_ - 1) / n_threads_));
    std::vector<GapSums> parts((n + size - 1) / size);
    ThreadTeam team(std::min(n_threads_, static_cast<int>(std::max<std::size_t>(1, parts.size()))));
    for (std::int64_t begin = 0; begin < n; begin += size * team.size()) {
      team.run([&](int member) {
        const std::int64_t first = begin + size * member;
        if (first >= n) return;
        parts[first / size] = gap_sums_of_rows(at, certified, first, std::min(first + size, n));
      });
      problem().poll()();
    }
    return parts;
  }
  double constant_loss() override {
    GapSums sum;
    for (std::int64_t i = 0; i < problem().n_rows(); ++i) {
      if (problem().norms()[i] > 0) continue;
      sum.add(gap_sums_of_rows(w(), {nullptr, 0.0}, i, i + 1));
    }
    return sum.loss.value();
  }

  void set_duals(std::span<const std::int64_t> indptr, std::span<const std::int32_t> labels,
                 std::span<const double> values) override {
    const std::vector<T> rounded(values.begin(), values.end());
    import_duals<T>(z_, indptr, labels, std::span<const T>(rounded));
  }
  AnyCsr duals() const override { return export_duals<T>(z_); }
  std::int64_t n_duals() const override { return z_.count(); }

  AnyWeights copy_weights() const override { return AnyMatrix(weights_.of<T>().copy().release()); }
  AnyWeights release_weights() override { return AnyMatrix(weights_.of<T>().release()); }
  std::int64_t n_weights() const override {
    return (problem().n_features() + 1) * problem().n_classes();
  }

  void stop() override { problem().stop(); }

  Weights& weights() override { return weights_; }
  Weights new_weights() const override { return Weights(WeightArray<T>(layout_)); }
  AnyLists lists() override {
    if constexpr (std::is_same_v<Duals, DualLists<T>>) return &z_;
    throw std::invalid_argument("z is not held in lists");
  }
  void assign(const Weights& other) override { weights_.of<T>().assign(other.of<T>()); }

  const Problem<T>& problem() const { return *problem_; }
  Duals& z() { return z_; }
  const Duals& z() const { return z_; }
  int n_threads() const { return n_threads_; }

 protected:
  OwnedEngine(std::shared_ptr<const Problem<T>> problem, const WeightLayout& layout, int n_threads)
      : problem_(std::move(problem)),
        layout_(layout),
        n_threads_(n_threads),
        z_(problem_->n_rows(), problem_->n_classes(), layout.mean_apart),
        weights_(WeightArray<T>(layout)) {
    require(1 <= n_threads && n_threads <= kMaxThreads, "n_threads is out of range");
    if (problem_->examples().formulation.relative) problem_->check_all_labelled();
  }

  // Gap, loss and violation of rows [begin, end) in double, at a W of this layout.
  virtual GapSums gap_sums_of_rows(const MatrixView<T>& weights, const CertifiedWeights& at,
                                   std::int64_t begin, std::int64_t end) const = 0;
  // W <- W(z), minus `common` for every class unless it is null. Returns an upper bound of the
  // distance between them.
  virtual double rebuild_from(const double* common) = 0;

  // Number of scores in n_loops full loops. After kLongRun epochs it grows with the epochs: the
  // last digits need many shrunk loops; full loops between them gain little (measured: sector,
  // Weston-Watkins, 3e-5 in float32: 37 epochs instead of 66, a quarter less time).
  std::int64_t full_loops(double n_loops, const Extent& extent) const {
    constexpr double kLongRun = 10;
    const double longer = std::max(1.0, static_cast<double>(extent.n_epochs) / kLongRun);
    return static_cast<std::int64_t>(n_loops * longer * static_cast<double>(extent.n_rows) *
                                     problem().n_classes());
  }
  MatrixView<T> w() const { return weights_.of<T>().rows(); }

 private:
  // sigma_i / k: the factors of the mean of W(z).
  std::vector<double> mean_factors() const {
    std::vector<std::int32_t> rows(problem().n_rows());
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> factors(rows.size());
    problem().row_sums(z_, rows, factors);
    for (double& factor : factors) factor /= problem().n_classes();
    return factors;
  }

  std::shared_ptr<const Problem<T>> problem_;
  WeightLayout layout_;
  int n_threads_;
  Duals z_;
  Weights weights_;
};

}  // namespace manyclass
