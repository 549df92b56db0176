#pragma once
// Exponentiated gradient for Crammer-Singer and Weston-Watkins, hinge loss.
//
//   Crammer-Singer:  max_u D(u),  u_i in the simplex over all k classes,  z_ic = C_i u_ic (c !=
//   y_i)
//       a_c = [c != y] + w_c . x,   u_i <- softmax(log u_i + eta_i a)
//   Weston-Watkins:  u_ic in [0, 1], the simplex (u, 1 - u) for every c != y_i,  z_ic = C_i u_ic
//       xi_c = 1 + (w_c - w_y) . x,  logit u_ic <- logit u_ic + eta_i xi_c
//
// A step delta = u_new - u_old of one example increases D by exactly
//
//   C_i delta . a - C_i^2 q_i ||delta||^2 / 2                              (Crammer-Singer)
//   C_i delta . xi - C_i^2 q_i (||delta||^2 + (sum_c delta_c)^2) / 2       (Weston-Watkins)
//
// eta_i is halved until this is not negative, but never below the length that always increases
// D: 1/(C_i q_i), times min(1, 8/k) for Weston-Watkins. After a step that succeeds at once, eta_i
// grows by a twentieth. Log u is stored because u would underflow. Given: the examples, log u
// (logits), eta and W(z). Returned: the same after one visit each, and sums over the visits.
// Sources: Collins et al. 2008 (JMLR 9:1775); Keerthi et al. 2008, sec. 2.3.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "data/examples.hpp"
#include "simd/exp.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/dense_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

inline constexpr double kRateGrowth = 1.05;
// The limit of log u (and of logits, on both sides): smaller u are below the rounding of their sum
// and change nothing, but would need many steps to grow again.
template <class T>
inline constexpr T kFloor = sizeof(T) == 4 ? -20 : -40;
inline constexpr double kLongestRate = 100;  // times the safe rate
inline constexpr double kSafeClasses = 8;    // Weston-Watkins: 1/(C q) is safe up to this k

template <class T>
double sum_of(Vector<T> v) {
  double total = 0;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) total += static_cast<double>(v[lane]);
  return total;
}

// u of two-class simplices from their logits: 1 / (1 + e^-t).
template <class T>
Vector<T> sigmoid(Vector<T> t) {
  const Vector<T> zero{};
  const Vector<T> e = exponential<T>(t > zero ? -t : t);
  return (t > zero ? zero + T{1} : e) / (e + T{1});
}

template <class T>
class ExponentiatedGradient {
 public:
  ExponentiatedGradient(const Examples<T>& examples, const WeightsView<T>& w, Scratch<T> scratch,
                        T* old_u)
      : examples_(examples),
        w_{w.data, w.n_features, w.n_classes, w.stride, w.stride, scratch.carry},
        a_(scratch.scores),
        step_(scratch.dense_step),
        old_u_(old_u) {}

  void visit(std::int64_t i, T* log_u, double& rate, SweepResult& result) {
    const std::int32_t y = examples_.labels[i];
    const double cost = examples_.costs[i];
    const double curvature = cost * examples_.norms[i];
    begin(i, y, log_u, cost, result);
    // u that have reached 0 or 1 change only by rounding, so that the gain may have any sign.
    const double noise = 4 * std::numeric_limits<T>::epsilon();
    const double safe =
        simplex() ? 1 / curvature : std::min(1.0, kSafeClasses / w_.n_classes) / curvature;
    bool at_once = true;
    Trial trial = attempt(log_u, rate);
    while (gain(trial, curvature) < 0 && trial.squares > noise * noise && rate > safe) {
      rate = std::max(0.5 * rate, safe);
      trial = attempt(log_u, rate);
      at_once = false;
    }
    accept(i, y, log_u, rate, trial, cost);
    result.dual_gain += cost * gain(trial, curvature);
    if (at_once) rate = std::min(rate * kRateGrowth, kLongestRate * safe);
    ++result.steps;
    result.evaluations += w_.n_classes;
  }

 private:
  struct Trial {
    double log_sum = 0;  // for a simplex: the logarithm of its normalization
    double product = 0;  // delta . a
    double squares = 0;  // ||delta||^2
    double sum = 0;      // sum_c delta_c (Weston-Watkins)
  };

  bool simplex() const { return examples_.formulation.maximum; }

  // The gradient and the current u; adds the loss and the gap.
  void begin(std::int64_t i, std::int32_t y, const T* log_u, double cost, SweepResult& result) {
    w_.scores(examples_.x.row(i), a_);
    const double s_y = static_cast<double>(a_[y]);
    const Slacks slacks(examples_.formulation, simplex() ? 0.0 : s_y, 0);
    const T offset = static_cast<T>(slacks.offset());
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    for (std::int64_t c = 0; c < w_.n_classes; ++c) a_[c] += offset;
    a_[y] = simplex() ? static_cast<T>(s_y) : T{0};
    for (std::int64_t c = w_.n_classes; c < w_.stride; ++c) a_[c] = 0;
    Vector<T> products = {}, losses = {}, best = Vector<T>{} + kNone;
    const Vector<T> zero = {};
    for (std::int64_t c = 0; c < w_.stride; c += kLane) {
      const Vector<T> a = load(a_ + c), t = load(log_u + c);
      const Vector<T> u = simplex() ? exponential<T>(t) : sigmoid<T>(t);
      store(old_u_ + c, u);
      products += u * a;
      losses += maximum<T>(a, zero);
      // Padding has u = 0 and log u = -inf; its a does not belong to a class.
      best = maximum<T>(best, t > kNone || zero > zero + T{1} ? a : zero + kNone);
    }
    const double product = sum_of<T>(products);
    double largest = kNone;
    for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
      largest = std::max(largest, static_cast<double>(best[lane]));
    }
    const double loss = cost * (simplex() ? largest - s_y : sum_of<T>(losses));
    result.loss += loss;
    result.gap += simplex() ? cost * (largest - product) : loss - cost * product;
  }

  // A step of this length; u is not changed yet.
  Trial attempt(const T* log_u, double rate) const {
    return simplex() ? attempt_simplex(log_u, rate) : attempt_pairs(log_u, rate);
  }

  Trial attempt_simplex(const T* log_u, double rate) const {
    const T eta = static_cast<T>(rate);
    Vector<T> best = load(log_u) + eta * load(a_);
    for (std::int64_t c = kLane; c < w_.stride; c += kLane) {
      best = maximum<T>(best, load(log_u + c) + eta * load(a_ + c));
    }
    T top = best[0];
    for (std::size_t lane = 1; lane < kLanes<T>; ++lane) top = std::max(top, best[lane]);
    Vector<T> sums = {};
    for (std::int64_t c = 0; c < w_.stride; c += kLane) {
      const Vector<T> e = exponential<T>(load(log_u + c) + eta * load(a_ + c) - top);
      store(step_ + c, e);
      sums += e;
    }
    const double total = sum_of<T>(sums);
    const T scale = static_cast<T>(1 / total);
    Trial trial{static_cast<double>(top) + std::log(total), 0, 0, 0};
    Vector<T> products = {}, squares = {};
    for (std::int64_t c = 0; c < w_.stride; c += kLane) {
      const Vector<T> u = load(step_ + c) * scale, delta = u - load(old_u_ + c);
      store(step_ + c, delta);
      products += delta * load(a_ + c);
      squares += delta * delta;
    }
    trial.product = sum_of<T>(products);
    trial.squares = sum_of<T>(squares);
    return trial;
  }

  Trial attempt_pairs(const T* log_u, double rate) const {
    const T eta = static_cast<T>(rate);
    Trial trial;
    Vector<T> products = {}, squares = {}, sums = {};
    for (std::int64_t c = 0; c < w_.stride; c += kLane) {
      const Vector<T> u = sigmoid<T>(load(log_u + c) + eta * load(a_ + c));
      const Vector<T> delta = u - load(old_u_ + c);
      store(step_ + c, delta);
      products += delta * load(a_ + c);
      squares += delta * delta;
      sums += delta;
    }
    trial.product = sum_of<T>(products);
    trial.squares = sum_of<T>(squares);
    trial.sum = sum_of<T>(sums);
    return trial;
  }

  // The gain of D, divided by C_i.
  static double gain(const Trial& trial, double curvature) {
    return trial.product - 0.5 * curvature * (trial.squares + trial.sum * trial.sum);
  }

  void accept(std::int64_t i, std::int32_t y, T* log_u, double rate, const Trial& trial,
              double cost) {
    const T eta = static_cast<T>(rate), shift = static_cast<T>(trial.log_sum);
    const T factor = static_cast<T>(-cost);
    const Vector<T> floor = Vector<T>{} + kFloor<T>;
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    for (std::int64_t c = 0; c < w_.stride; c += kLane) {
      const Vector<T> t = load(log_u + c) + eta * load(a_ + c) - shift;
      const Vector<T> kept = maximum<T>(t, floor);
      store(log_u + c, t > kNone ? (kept < -floor ? kept : -floor) : t);
      store(step_ + c, load(step_ + c) * factor);
    }
    if (!simplex()) step_[y] = static_cast<T>(cost * trial.sum);
    w_.add_vectors(examples_.x.row(i), step_);
    std::fill(step_, step_ + w_.stride, T{0});
  }

  static constexpr auto kLane = kLanes<T>;
  const Examples<T>& examples_;
  DenseWeights<T> w_;
  T* a_;      // the gradient
  T* step_;   // in u, then in W
  T* old_u_;  // before the step
};

template <class T>
SweepResult exponentiated_gradient(const Examples<T>& examples, const WeightsView<T>& w, T* log_u,
                                   double* rates, Scratch<T> scratch, T* old_u,
                                   std::span<const std::int32_t> order) {
  ExponentiatedGradient<T> method(examples, w, scratch, old_u);
  SweepResult result;
  for (const std::int32_t i : order) method.visit(i, log_u + i * w.stride, rates[i], result);
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
