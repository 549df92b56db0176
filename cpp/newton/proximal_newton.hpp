#pragma once
// Steps of the proximal Newton method: semismooth Newton steps on phi
// (newton/proximal_kernels.hpp) by conjugate gradients. The preconditioner is one d x d Cholesky
// factor for all classes, or the factor of the Hessian. A step of zbar follows. The passes over
// examples are kernels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "duals/dual_arrays.hpp"
#include "duals/dual_lanes.hpp"
#include "engines/dense_engine.hpp"
#include "engines/weight_array.hpp"
#include "newton/arrays.hpp"
#include "newton/kernel_table.hpp"
#include "newton/newton.hpp"
#include "newton/newton_step.hpp"
#include "newton/newton_team.hpp"
#include "newton/preconditioner.hpp"
#include "newton/whole_hessian.hpp"
#include "simd/dispatch.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

template <class T>
class ProximalNewton final : public Newton {
 public:
  // The poll of the problem is called regularly and may throw; zbar and its W remain valid then.
  // The same number of threads gives the same result.
  explicit ProximalNewton(LaneEngine<T>& engine)
      : ProximalNewton(engine, engine.problem().examples(), engine.z(),
                       kernels_for<NewtonKernelsByBlocks<T>>(engine.problem().instruction_set())
                           .of(engine.z().stride() / DualLanes<T>::kBlock)) {}

  void rebuild(bool anew) override {
    arrays_.clear(at_centre_);
    team_.in_chunks(n_, row_work(), [&](int member, std::int64_t begin, std::int64_t end) {
      team_.in_small_chunks(member, begin, end, [&](std::int64_t from, std::int64_t to) {
        kernels_.add_duals(examples_, arrays_.view(team_.moves(member)), centre_, from, to);
        return true;
      });
    });
    team_.gather(at_centre_);
    arrays_.copy(at_centre_, response_);
    if (anew) arrays_.copy(at_centre_, w_);
    std::copy_n(centre_.lanes(0), n_ * centre_.stride(), z_.lanes(0));
    arrays_.round(w_, step_);
    score(step_, scores_);
  }

  NewtonResponse respond(double epsilon) override {
    epsilon_ = epsilon;
    steps_ = evaluations_ = 0;
    return respond();
  }

  double direction(std::int64_t budget) override {
    budget_ = budget;
    if (is_spent()) return 0;
    if (whole_ ? hessian_.is_due() : factor_.is_due()) build(is_whole_worthwhile());
    turns_ = 0;
    if (!conjugate_gradients()) return 0;
    if (!whole_) usual_turns_ = turns_;
    arrays_.centre(step_);
    score(step_, along_);
    arrays_.round(w_, scratch_);
    slope_at_0_ = arrays_.dot(scratch_, step_);
    curvature_ = arrays_.dot(step_, step_);
    longest_ = 0;
    return arrays_.dot(gradient_, step_);
  }
  double slope(double t) override {
    const bool beyond = t > std::exchange(longest_, std::max(t, longest_));
    return slope_at_0_ + t * curvature_ + slope_.at(proximal(), t, beyond, row_work());
  }
  NewtonResponse advance(double t) override {
    arrays_.add(t, step_, w_);
    kernels_.axpy(t, along_.data(), scores_.data(), n_ * centre_.stride());
    ++steps_;
    return respond();
  }

  NewtonRound move(double length) override {
    move_centre(length);
    NewtonRound result;
    estimate(result);
    result.steps = steps_;
    result.n_zone = pass_.n_zone();
    result.evaluations = evaluations_;
    return result;
  }

  void read_weights(Weights& out) const override {
    T* const to = at(out);
    for (std::int64_t j = 0; j < n_weights(); ++j) to[j] = static_cast<T>(w_.data()[j]);
  }
  void write_weights(const Weights& weights) override {
    std::copy_n(at(weights), n_weights(), w_.data());
  }
  double squared_duals() const override {
    return kernels_.dot(z_.lanes(0), z_.lanes(0), n_ * z_.stride());
  }

  void read_gradient(Weights& out) const override {
    std::copy_n(gradient_.data(), n_weights(), at(out));
  }
  void hessian_times(const Weights& p, Weights& out) override {
    std::copy_n(at(p), n_weights(), step_.data());
    multiply(step_, scratch_);
    std::copy_n(scratch_.data(), n_weights(), at(out));
  }
  void preconditioned(const Weights& p, bool whole, Weights& out) override {
    build(whole);
    std::copy_n(at(p), n_weights(), step_.data());
    precondition(step_, scratch_);
    std::copy_n(scratch_.data(), n_weights(), at(out));
  }
  AnyCsr response() const override { return export_duals<T>(z_); }

 private:
  using Array = typename NewtonArrays<T>::Array;
  using Total = typename NewtonArrays<T>::Total;
  // Iterations of conjugate gradients: the maximum; the maximum with the whole Hessian (more mean
  // that it is out of date or that rounding hides the rest); and the number assumed at first.
  static constexpr int kMostTurns = 200, kMostWholeTurns = 12, kUsualTurns = 8;

  ProximalNewton(LaneEngine<T>& engine, const Examples<T>& examples, DualLanes<T>& centre,
                 const NewtonKernels<T>& kernels)
      : examples_(examples),
        kernels_(kernels),
        arrays_(examples, kernels, centre.n_classes(), centre.stride()),
        team_(arrays_, engine.n_threads(), engine.problem().poll()),
        gradients_(arrays_),
        factor_(kernels, arrays_.size()),
        hessian_(kernels, examples, centre.n_classes()),
        slope_(examples, kernels, team_),
        centre_(centre),
        z_(centre.n_rows(), centre.n_classes()),
        n_(centre.n_rows()),
        pass_(examples, kernels, team_, arrays_, z_),
        scores_(numbers_of_rows()),
        along_(numbers_of_rows()) {
    features_ = static_cast<double>(examples.x.indptr[n_]) / static_cast<double>(n_) + 1;
  }

  std::int64_t n_weights() const { return (examples_.x.n_features + 1) * centre_.stride(); }
  T* at(const Weights& weights) const {
    const MatrixView<T> rows = weights.of<T>().rows();
    require(rows.n_rows * rows.n_columns == n_weights(),
            "weights must be laid out like the engine's");
    return rows.data;
  }

  std::size_t numbers_of_rows() const { return (n_ * centre_.stride()); }
  Proximal<T> proximal() const {
    return {examples_, centre_, epsilon_, scores_.data(), along_.data()};
  }
  double row_work() const { return features_ * static_cast<double>(centre_.stride()); }

  void score(const Array& w, const Array& scores) {
    team_.in_chunks(n_, row_work(), [&](int, std::int64_t begin, std::int64_t end) {
      kernels_.scores(examples_, arrays_.view(w), centre_, scores.data(), begin, end);
    });
    evaluations_ += n_ * centre_.n_classes();
  }

  // z and W(z) for W, and the gradient.
  NewtonResponse respond() {
    const ResponseResult sum = pass_.run(proximal(), row_work());
    team_.gather(response_);
    arrays_.subtract(w_, response_, gradient_);
    arrays_.subtract(response_, at_centre_, step_);
    arrays_.subtract(w_, at_centre_, scratch_);
    return {std::sqrt(arrays_.dot(gradient_, gradient_)), sum.distance,
            sum.ascent + arrays_.dot(scratch_, step_), arrays_.dot(step_, step_) + sum.ridge};
  }

  // zbar += t (z - zbar); z and W(z) do not change.
  void move_centre(double t) {
    if (t == 0) return;
    if (t == 1) {
      std::copy_n(z_.lanes(0), n_ * z_.stride(), centre_.lanes(0));
      arrays_.copy(response_, at_centre_);
      return;
    }
    arrays_.subtract(response_, at_centre_, step_);
    arrays_.add(t, step_, at_centre_);
    mix(t);
  }
  void mix(double t) {
    const T by = static_cast<T>(t);
    T* to = centre_.lanes(0);
    const T* from = z_.lanes(0);
    for (std::int64_t p = 0; p < n_ * z_.stride(); ++p) to[p] = (1 - by) * to[p] + by * from[p];
  }

  // P(W) - D(zbar), as a sum of non-negative terms: one per example, and 1/2 ||W - W(zbar)||^2.
  void estimate(NewtonRound& result) {
    std::vector<SweepResult> parts(team_.size());
    team_.in_chunks(
        n_, row_work(),
        [&](int member, std::int64_t begin, std::int64_t end) {
          parts[member] = kernels_.estimate(proximal(), begin, end);
        },
        [&](std::int64_t, std::int64_t) {
          for (const SweepResult& part : parts) {
            result.gap += part.gap;
            result.primal += part.loss;
            result.max_violation = std::max(result.max_violation, part.max_violation);
          }
        });
    arrays_.subtract(w_, at_centre_, step_);
    result.gap += 0.5 * arrays_.dot(step_, step_);
    arrays_.round(w_, step_);
    result.primal += 0.5 * arrays_.dot(step_, step_);
  }

  // Whether the whole Hessian takes no more work than the iterations of the last step with the
  // other preconditioner.
  bool is_whole_worthwhile() const {
    const double turn = product_work() + static_cast<double>(arrays_.numbers() * arrays_.size());
    return hessian_.is_small() && hessian_.cost(pass_.pairs(), features_) <= usual_turns_ * turn;
  }
  double product_work() const { return 2 * row_work() * static_cast<double>(pass_.n_zone()); }

  void build(bool whole) {
    whole_ = whole;
    if (whole) {
      hessian_.build(pass_.pairs(), features_, team_.size(), team_.work(), [&] { add_squares(); });
      return;
    }
    const auto gram = [&](T* a, T* panel, std::int64_t begin, std::int64_t end) {
      kernels_.gram(proximal(), pass_.response(0), a, arrays_.size(), panel, begin, end);
    };
    factor_.build(features_, pass_.n_zone(), team_.threads(), team_.work(), gram);
  }
  void add_squares() {
    const double each = hessian_.rows_cost(pass_.pairs(), features_) /
                            static_cast<double>(std::max<std::int64_t>(1, pass_.n_zone())) +
                        1;
    team_.work().in_chunks(pass_.n_zone(), each, [&](std::int64_t begin, std::int64_t end) {
      team_.by_all(each * static_cast<double>(end - begin), [&](int member) {
        kernels_.whole_hessian(proximal(), pass_.response(member), hessian_.blocks(),
                               hessian_.square(member), begin, end);
      });
    });
  }

  // step <- about -H^-1 gradient.
  bool conjugate_gradients() {
    return gradients_.solve(
        gradient_, step_, whole_ ? kMostWholeTurns : kMostTurns,
        [&](const Array& p, const Array& out) { multiply(p, out); },
        [&](const Array& r, const Array& out) { precondition(r, out); },
        [&] { return is_spent(); });
  }
  bool is_spent() const { return evaluations_ >= budget_; }

  void precondition(const Array& r, const Array& out) {
    arrays_.copy(r, out);
    if (whole_) return hessian_.solve(out.data(), centre_.stride(), team_.work());
    factor_.solve(out.data(), centre_.stride(), team_.work());
  }
  // out <- H p
  void multiply(const Array& p, const Array& out) {
    arrays_.copy(p, out);
    team_.in_chunks(
        pass_.n_zone(), 2 * row_work(), [&](int member, std::int64_t begin, std::int64_t end) {
          const WeightsView<T> to = arrays_.view(team_.product(member));
          kernels_.product(proximal(), pass_.response(member), arrays_.view(p), to, begin, end);
        });
    team_.gather_products(out);
    ++turns_;
    whole_ ? hessian_.spend(product_work()) : factor_.spend(product_work());
    evaluations_ += pass_.n_zone() * centre_.n_classes();
  }

  const Examples<T>& examples_;
  const NewtonKernels<T>& kernels_;
  NewtonArrays<T> arrays_;
  NewtonTeam<T> team_;
  ConjugateGradients<T> gradients_;
  Preconditioner<T> factor_;
  WholeHessian<T> hessian_;
  ExamplesSlope<T> slope_;
  DualLanes<T>& centre_;  // zbar
  DualLanes<T> z_;        // z(W)
  std::int64_t n_;
  ResponsePass<T> pass_;
  Array scores_, along_;
  Total w_{arrays_.numbers()};
  Total at_centre_{arrays_.numbers()};  // W(zbar)
  Total response_{arrays_.numbers()};   // W(z), without the moves of the members
  Array gradient_{arrays_.numbers()};
  Array step_{arrays_.numbers()};
  Array scratch_{arrays_.numbers()};
  double epsilon_ = 1;
  double slope_at_0_ = 0, curvature_ = 0;  // of 1/2 ||W||^2 along the direction
  double longest_ = 0;                     // length whose slope was computed
  double features_ = 0;                    // average number per example
  bool whole_ = false;                     // whether the preconditioner in use is the whole Hessian
  int turns_ = 0;                          // iterations of the last step
  int usual_turns_ = kUsualTurns;          // of the last step with the other preconditioner
  std::int64_t steps_ = 0;                 // of the round
  std::int64_t evaluations_ = 0;
  std::int64_t budget_ = 0;
};

}  // namespace manyclass
