#pragma once
// Steps of the proximal Newton method (newton/proximal_newton.hpp) on the W and z of an engine. The
// rounds are in Python (solvers/newton_phase.py): the same loop for local and distributed rows.
#include <cstdint>
#include <memory>
#include <tuple>

#include "engines/engine.hpp"
#include "engines/weight_array.hpp"

namespace manyclass {

// The response z to W, around zbar: ||W - W(z)||, ||z - zbar||^2, and the slope and curvature of
// D at zbar + t (z - zbar), D + slope t - curvature t^2 / 2.
using NewtonResponse = std::tuple<double, double, double, double>;

// Result of a round. Gap, loss and violation belong to W and zbar after the round.
struct NewtonRound {
  double primal = 0;  // P, without the examples x_i = 0
  double gap = 0;
  double max_violation = 0;
  std::int64_t steps = 0;        // Newton steps
  std::int64_t n_zone = 0;       // examples in the last Newton system
  std::int64_t evaluations = 0;  // scores computed
};

class Newton {
 public:
  virtual ~Newton() = default;

  // Recompute W(zbar) and the scores, without the rounding errors of many steps. If set, W restarts
  // at W(zbar).
  virtual void rebuild(bool anew) = 0;
  // Begin a round: z(W).
  virtual NewtonResponse respond(double epsilon) = 0;
  // Find the direction of a step. Returns the slope of phi along it, at W; 0 if `budget` scores
  // were computed, or if rounding hides further progress.
  virtual double direction(std::int64_t budget) = 0;
  // The slope at W + t direction.
  virtual double slope(double t) = 0;
  // W += t direction; z(W).
  virtual NewtonResponse advance(double t) = 0;
  // End a round: zbar += length (z - zbar). W need not be close to the minimizer of phi.
  virtual NewtonRound move(double length) = 0;
  virtual void read_weights(Weights& out) const = 0;
  // `rebuild` must follow.
  virtual void write_weights(const Weights& weights) = 0;
  // ||z||^2
  virtual double squared_duals() const = 0;

  // For the tests: the gradient of phi at W; products with the Hessian at W and with the inverse of
  // a preconditioner: one matrix for all classes, or the whole Hessian; z(W).
  virtual void read_gradient(Weights& out) const = 0;
  virtual void hessian_times(const Weights& p, Weights& out) = 0;
  virtual void preconditioned(const Weights& p, bool whole, Weights& out) = 0;
  virtual AnyCsr response() const = 0;
};

// The engine must store z in lanes, and must outlive the result.
std::unique_ptr<Newton> make_newton(Engine& engine);

}  // namespace manyclass
