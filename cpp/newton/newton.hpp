#pragma once
// The proximal Newton method (newton/proximal_newton.hpp) on the W and z of an engine.
#include <cstdint>
#include <memory>

#include "engines/engine.hpp"
#include "engines/weight_array.hpp"
#include "newton/newton_round.hpp"

namespace manyclass {

class Newton {
 public:
  virtual ~Newton() = default;

  // Recompute W(zbar) and the scores. If set, W restarts at W(zbar).
  virtual void rebuild(bool anew) = 0;
  // Newton steps at epsilon, `budget` scores at most; then the step of zbar.
  virtual NewtonRound round(double epsilon, std::int64_t budget) = 0;
  virtual void read_weights(Weights& out) const = 0;
  // `rebuild` must follow.
  virtual void write_weights(const Weights& weights) = 0;
  // ||z||^2
  virtual double squared_duals() const = 0;

  // For the tests: see ProximalNewton.
  virtual void gradient_at(const Weights& weights, double epsilon, Weights& out) = 0;
  virtual void hessian_times(const Weights& p, Weights& out) = 0;
  virtual void preconditioned(const Weights& p, Weights& out) = 0;
  virtual AnyCsr response() const = 0;
};

// The engine must hold z in lanes, and outlive it.
std::unique_ptr<Newton> make_newton(Engine& engine);

}  // namespace manyclass
