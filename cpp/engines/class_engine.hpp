#pragma once
// W with a row for each class, for dense rows, which are visited in batches: the scores of a batch
// are a matrix product, and another one adds what its visits change to W
// (dense_rows/row_trainer.hpp). Shrunk loops visit single examples.
#include <cstdint>
#include <memory>

#include "dense_rows/row_trainer.hpp"
#include "dual/problem.hpp"
#include "duals/dual_lists.hpp"
#include "engines/owned_engine.hpp"

namespace manyclass {

template <class T>
class ClassEngine final : public OwnedEngine<AnyDenseEngine, T, RowTrainer<T>, DualLists<T>> {
 public:
  ClassEngine(std::shared_ptr<const Problem<T>> problem, int n_threads)
      : OwnedEngine<AnyDenseEngine, T, RowTrainer<T>, DualLists<T>>(
            problem,
            {.n_features = problem->n_features(),
             .n_classes = problem->n_classes(),
             .by_class = true},
            n_threads) {
    this->trainer().use_threads(n_threads);
  }

  // A single visit takes several times as long as one of a matrix product (measured: 256 features,
  // 105 classes, C = 30: 1.1 s, 1.7 s at 5; no difference at C = 1).
  std::int64_t effort(const Extent& extent) const override { return this->full_loops(1, extent); }
  // Full loops cost more beside shrunk ones (measured to 1e-2: 200,000 rows, 384 features, 300
  // classes: 5 epochs instead of 8, a third less time; 60,000 x 768, 1,000: 4 of 6).
  double negligible() const override { return 0.3; }
};

}  // namespace manyclass
