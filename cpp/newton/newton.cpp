// The proximal Newton method for engines of floats and of doubles.
#include "newton/newton.hpp"

#include <cstdint>
#include <memory>

#include "data/check_problem.hpp"
#include "dual/problem.hpp"
#include "duals/dual_arrays.hpp"
#include "duals/dual_lanes.hpp"
#include "engines/dense_engine.hpp"
#include "engines/weight_array.hpp"
#include "newton/kernel_table.hpp"
#include "newton/proximal_newton.hpp"
#include "simd/dispatch.hpp"

namespace manyclass {
namespace {

template <class T>
class EngineNewton final : public Newton {
 public:
  explicit EngineNewton(LaneEngine<T>& engine)
      : newton_(engine.problem().examples(), kernels(engine), engine.z(), engine.n_threads(),
                engine.problem().poll()) {}

  void rebuild(bool anew) override { newton_.rebuild(anew); }
  NewtonRound round(double epsilon, std::int64_t budget) override {
    return newton_.round(epsilon, budget);
  }
  void read_weights(Weights& out) const override { newton_.read_weights(at(out)); }
  void write_weights(const Weights& weights) override { newton_.write_weights(at(weights)); }
  double squared_duals() const override { return newton_.squared_duals(); }

  void gradient_at(const Weights& weights, double epsilon, Weights& out) override {
    newton_.gradient_at(at(weights), epsilon, at(out));
  }
  void hessian_times(const Weights& p, Weights& out) override {
    newton_.hessian_times(at(p), at(out));
  }
  void preconditioned(const Weights& p, Weights& out) override {
    newton_.preconditioned(at(p), at(out));
  }
  AnyCsr response() const override { return export_duals<T>(newton_.response_duals()); }

 private:
  static const NewtonKernels<T>& kernels(LaneEngine<T>& engine) {
    const DualLanes<T>& z = engine.z();
    return kernels_for<NewtonKernelsByBlocks<T>>(engine.problem().instruction_set())
        .of(z.stride() / z.kBlock);
  }
  T* at(const Weights& weights) const {
    const MatrixView<T> rows = weights.of<T>().rows();
    require(rows.n_rows * rows.n_columns == newton_.n_weights(),
            "weights must be laid out like the engine's");
    return rows.data;
  }

  ProximalNewton<T> newton_;
};

}  // namespace

std::unique_ptr<Newton> make_newton(Engine& engine) {
  if (auto* single = dynamic_cast<LaneEngine<float>*>(&engine)) {
    return std::make_unique<EngineNewton<float>>(*single);
  }
  auto* engine64 = dynamic_cast<LaneEngine<double>*>(&engine);
  require(engine64 != nullptr, "the Newton phase is for few classes");
  return std::make_unique<EngineNewton<double>>(*engine64);
}

}  // namespace manyclass
