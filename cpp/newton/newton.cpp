// The proximal Newton method for engines of floats and doubles.
#include "newton/newton.hpp"

#include <memory>

#include "data/check_problem.hpp"
#include "engines/dense_engine.hpp"
#include "newton/proximal_newton.hpp"

namespace manyclass {

std::unique_ptr<Newton> make_newton(Engine& engine) {
  if (auto* single = dynamic_cast<LaneEngine<float>*>(&engine)) {
    return std::make_unique<ProximalNewton<float>>(*single);
  }
  auto* engine64 = dynamic_cast<LaneEngine<double>*>(&engine);
  require(engine64 != nullptr, "the Newton phase is for few classes");
  return std::make_unique<ProximalNewton<double>>(*engine64);
}

}  // namespace manyclass
