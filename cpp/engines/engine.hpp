#pragma once
// Engines: W and z of a problem in one layout, and the loops over them. Whether numbers are floats or
// doubles, and how W and z are laid out, is known below this interface alone: dense W with a row for
// each feature (engines/dense_engine.hpp) or each class (engines/class_engine.hpp), or hash tables
// (engines/table_engine.hpp). Every call is one loop, or more.
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

// What the loops of an epoch visit: examples with x_i != 0, those of the shrunk problem; the epochs
// so far.
struct Extent {
  std::int64_t n_rows;
  std::int64_t n_active;
  std::int64_t n_epochs;
};

// W and z are 0 at first.
class Engine {
 public:
  virtual ~Engine() = default;

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`.
  virtual SweepResult full_loop(std::span<const std::int32_t> rows, std::span<std::int32_t> active,
                                double min_gap, std::uint64_t seed) = 0;
  // Loops over the non-zero z of the first n_active of `active`, until the goal is met.
  virtual ShrunkResult shrunk_loops(std::span<std::int32_t> active, std::int64_t n_active,
                                    const ShrunkGoal& goal, std::uint64_t seed) = 0;
  // Scores that the shrunk loops of an epoch may compute.
  virtual std::int64_t effort(const Extent& extent) const = 0;
  // Shrunk loops leave an example to the full ones while its gap is below so many times its part of
  // the gap that they aim at.
  virtual double negligible() const { return 3; }

  // W <- W(z); an upper bound of the distance that rounding leaves.
  virtual double rebuild() = 0;
  // Gap, loss and violation of all examples, in parts, at the engine's W or another one of its
  // layout. `common` is subtracted from every w_c (empty: nothing), `norm` is ||W||.
  virtual std::vector<GapSums> gap_sums(const Weights* other, std::span<const double> common,
                                        double norm) = 0;
  // D(0): the loss of the examples with x_i = 0. W and z must be 0.
  virtual double constant_loss() = 0;

  // z, a CSR matrix.
  virtual void set_duals(std::span<const std::int64_t> indptr, std::span<const std::int32_t> labels,
                         std::span<const double> values) = 0;
  virtual AnyCsr duals() const = 0;
  virtual std::int64_t n_duals() const = 0;

  // W, (n_features + 1) x n_classes: a copy, or, in the engine's memory, what it has none of
  // afterwards.
  virtual AnyWeights copy_weights() const = 0;
  virtual AnyWeights release_weights() = 0;
  virtual std::int64_t n_weights() const = 0;

  // End the loop that another thread runs, between two visits.
  virtual void stop() = 0;
};

// With dense W.
class AnyDenseEngine : public Engine {
 public:
  // The engine's W, and zeros of its layout.
  virtual Weights& weights() = 0;
  virtual Weights new_weights() const = 0;
  virtual void assign(const Weights& other) = 0;
  // Whether a visit holds all classes in registers, and the Newton phase is open to it.
  virtual bool few_classes() const { return false; }
  // z, where it is held in lists.
  virtual AnyLists lists() = 0;
};

// Of some classes of a sum-to-zero formulation: w_c = u_c - m, where others share m.
class SharedMeanEngine : public AnyDenseEngine {
 public:
  // Visit those of `rows` that are active, in their order. moved[j] becomes the change of sigma of
  // rows[j]. `active` and `sigma` have an entry for every example and are kept up to date.
  virtual SweepResult visit(std::span<const std::int32_t> rows, bool shrunk,
                            std::span<std::uint8_t> active, std::span<double> sigma,
                            std::span<double> moved) = 0;
  // After visits: move m towards the mean of all u_c, and to it. Both return what D gains.
  virtual double follow_mean(std::span<const std::int32_t> rows, std::span<const double> moved,
                             std::span<const double> steps, double relaxation) = 0;
  virtual double settle_mean() = 0;
  // From now on a visit moves m by so much of the sum of its step.
  virtual void drift(double drift) = 0;
  // W <- W(z) - mean; an upper bound of the distance that rounding leaves. `restart_mean` must
  // follow, with the sum of the w_c.
  virtual double rebuild_less(std::span<const double> mean) = 0;
  virtual void restart_mean(std::span<const double> sum) = 0;
  // sum_c w_c, as it is kept along with W.
  virtual std::vector<double> sum_of_classes() const = 0;
  virtual void row_sums(std::span<const std::int32_t> rows, std::span<double> sigma) = 0;
};

// With W in hash tables.
class SparseEngine : public Engine {
 public:
  virtual double squared_norm() const = 0;
  // Those that are not 0, in any order.
  virtual AnyVector intercepts() const = 0;
};

enum class Storage { kByFeature, kByClass, kTables };

struct EngineOptions {
  Storage storage;
  int n_threads;
  bool lists;                           // z in lists, though lanes would do
  std::span<const std::int32_t> order;  // of the classes in tables
  std::int64_t dense_from;              // classes to a slot that make a table a plain row
};

// Whether z goes into lanes: a visit then holds all classes in registers. W has n_columns columns.
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
