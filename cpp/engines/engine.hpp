#pragma once
// Engines: W and z of a problem in one layout, and the loops over them. This interface hides the
// number type and the layout of W and z. The layouts are dense W with a row for
// each feature (engines/dense_engine.hpp) or each class (engines/class_engine.hpp), or hash tables
// (engines/table_engine.hpp). Every call runs one or more loops.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "certificate/gap_sums.hpp"
#include "data/array_views.hpp"
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"
#include "engines/weight_array.hpp"

namespace manyclass {

using AnyVector = std::variant<std::vector<float>, std::vector<double>>;
using AnyCsr = std::variant<CsrArrays<float>, CsrArrays<double>>;
using AnyLists = std::variant<DualLists<float>*, DualLists<double>*>;
using AnyWeights = std::variant<AnyMatrix, AnyCsr>;

// The size of an epoch: the number of examples with x_i != 0 and of examples in the shrunk problem,
// and the number of epochs so far.
struct Extent {
  std::int64_t n_rows;
  std::int64_t n_active;
  std::int64_t n_epochs;
};

// W and z are 0 at the beginning.
class Engine {
 public:
  virtual ~Engine() = default;

  // One loop over `rows`, ascending, in random order; active examples are written to `active`.
  virtual SweepResult full_loop(std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                                double min_gap, std::uint64_t seed) = 0;
  // Loops over the non-zero z of the first n_active of `active`, until the goal is met.
  virtual ShrunkResult shrunk_loops(std::span<std::int32_t> active, std::int64_t n_active,
                                    const ShrunkGoal& goal, std::uint64_t seed) = 0;
  // The number of scores that the shrunk loops of an epoch may compute.
  virtual std::int64_t effort(const Extent& extent) const = 0;
  // Shrunk loops leave an example to the full loops if its gap is below `negligible` times its
  // share of the target gap.
  virtual double negligible() const { return 3; }

  // W <- W(z); returns an upper bound of the distance caused by rounding.
  virtual double rebuild() = 0;
  // Gap, loss and violation of all examples, in parts, at the W of the engine or at `other`, in the
  // same layout. `common` is subtracted from every w_c (empty: nothing), `norm` is ||W||.
  virtual std::vector<GapSums> gap_sums(const Weights* other, std::span<const double> common,
                                        double norm) = 0;
  // D(0): the loss of the examples with x_i = 0. W and z must be 0.
  virtual double constant_loss() = 0;

  // z as a CSR matrix.
  virtual void set_duals(std::span<const std::int64_t> indptr, std::span<const std::int32_t> labels,
                         std::span<const double> values) = 0;
  virtual AnyCsr duals() const = 0;
  virtual std::int64_t n_duals() const = 0;

  // W, (n_features + 1) x n_classes. `copy_weights` copies it. `release_weights` may return the
  // memory of the engine, which has no W afterwards.
  virtual AnyWeights copy_weights() const = 0;
  virtual AnyWeights release_weights() = 0;
  virtual std::int64_t n_weights() const = 0;

  // Stop a loop that runs in a different thread, between two visits.
  virtual void stop() = 0;
};

// Engines with dense W.
class AnyDenseEngine : public Engine {
 public:
  // The W of the engine, and zeros in its layout.
  virtual Weights& weights() = 0;
  virtual Weights new_weights() const = 0;
  virtual void assign(const Weights& other) = 0;
  // Whether a visit keeps all classes in registers, so that the Newton phase is available.
  virtual bool few_classes() const { return false; }
  // z, if it is stored in lists.
  virtual AnyLists lists() = 0;
};

// An engine for some classes of a sum-to-zero formulation: w_c = u_c - m, with a shared m.
class SharedMeanEngine : public AnyDenseEngine {
 public:
  // Visit the active ones of `rows`, in their order. moved[j] becomes the change of sigma of
  // rows[j]. `active` and `sigma` have an entry for every example and are updated.
  virtual SweepResult visit(std::span<const std::int32_t> rows, bool shrunk,
                            std::span<std::uint8_t> active, std::span<double> sigma,
                            std::span<double> moved) = 0;
  // After visits: move m towards the mean of all u_c, or set m to it. Both return the gain of D.
  virtual double follow_mean(std::span<const std::int32_t> rows, std::span<const double> moved,
                             std::span<const double> steps, double relaxation) = 0;
  virtual double settle_mean() = 0;
  // From now on, a visit moves m by `drift` times the sum of its step.
  virtual void drift(double drift) = 0;
  // W <- W(z) - mean; returns an upper bound of the distance caused by rounding. The caller must
  // then call `restart_mean` with the sum of the w_c.
  virtual double rebuild_less(std::span<const double> mean) = 0;
  virtual void restart_mean(std::span<const double> sum) = 0;
  // sum_c w_c, which is stored next to W.
  virtual std::vector<double> sum_of_classes() const = 0;
  virtual void row_sums(std::span<const std::int32_t> rows, std::span<double> sigma) = 0;
};

// Engines with W in hash tables.
class SparseEngine : public Engine {
 public:
  virtual double squared_norm() const = 0;
  // The non-zero intercepts, in any order.
  virtual AnyVector intercepts() const = 0;
};

enum class Storage { kByFeature, kByClass, kTables };

struct EngineOptions {
  Storage storage;
  int n_threads;
  bool lists;                           // z in lists, although lanes are possible
  std::span<const std::int32_t> order;  // of the classes in tables
  std::int64_t dense_from;              // tables with a slot for this many classes become rows
};

// Whether lanes can store z: a visit then keeps all classes in registers. W has n_columns columns.
template <class T>
bool fits_lanes(const Formulation& formulation, std::int32_t n_columns) {
  const bool simple = !formulation.maximum || formulation.relative;
  return simple && n_columns <= DualLanes<T>::kMaxBlocks * DualLanes<T>::kBlock;
}

template <class T>
std::unique_ptr<SharedMeanEngine> make_mean_engine(std::shared_ptr<const Problem<T>> problem);

template <class T>
std::unique_ptr<Engine> make_engine(std::shared_ptr<const Problem<T>> problem,
                                    const EngineOptions& options);

}  // namespace manyclass
