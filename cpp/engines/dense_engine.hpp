#pragma once
// W with a row for each feature; z in lists or, of few classes, in lanes (dual/trainer.hpp).
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "dual/problem.hpp"
#include "dual/trainer.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"
#include "engines/owned_engine.hpp"
#include "engines/weight_array.hpp"

namespace manyclass {

// `Duals` is DualLists<T> or DualLanes<T>.
template <class T, class Duals>
class DenseEngine final : public OwnedEngine<AnyDenseEngine, T, Trainer<T, Duals>, Duals> {
 public:
  DenseEngine(std::shared_ptr<const Problem<T>> problem, int n_threads)
      : OwnedEngine<AnyDenseEngine, T, Trainer<T, Duals>, Duals>(
            problem,
            {.n_features = problem->n_features(),
             .n_classes = problem->n_classes(),
             .mean_apart = problem->examples().formulation.centred && !kLanes},
            n_threads) {}

  std::int64_t effort(const Extent& extent) const override {
    return this->full_loops(kLanes ? 10 : 5, extent);  // Keerthi et al. 2008; twice that in lanes
  }
  bool few_classes() const override { return kLanes; }

 private:
  static constexpr bool kLanes = std::is_same_v<Duals, DualLanes<T>>;
};

template <class T>
using ListEngine = DenseEngine<T, DualLists<T>>;
template <class T>
using LaneEngine = DenseEngine<T, DualLanes<T>>;

}  // namespace manyclass
