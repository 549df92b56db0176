// Python's view of the stochastic kernels.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/examples.hpp"
#include "many_classes/sharded_kernels.hpp"
#include "stochastic/sgd.hpp"
#include "threads/interrupt_poll.hpp"

namespace manyclass {
namespace {

using nb::literals::operator""_a;

template <class T, class Shard>
const StochasticKernels<T, Shard>& stochastic_kernels_for(const std::string& name) {
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::stochastic_kernels<T, Shard>();
  if (name == "avx2") return avx2::stochastic_kernels<T, Shard>();
#endif
  return baseline::stochastic_kernels<T, Shard>();
}

// How the rows are visited.
struct Passage {
  StochasticLoss loss;
  std::size_t batch_size;
  int n_threads;
};

// The examples with the kernels of one instruction set.
template <class T>
class StochasticTrainer : public TrainingSet<T> {
 public:
  StochasticTrainer(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                    Vector<const T> values, std::int64_t n_features, T bias,
                    Vector<const std::int32_t> labels, std::int32_t n_classes,
                    Vector<const double> costs, const std::string& instruction_set)
      : TrainingSet<T>(Formulation{}, indptr, indices, values, n_features, bias, labels, n_classes,
                       costs, instruction_set),
        dense_(stochastic_kernels_for<T, DenseShard<T>>(instruction_set)),
        tables_(stochastic_kernels_for<T, TableShard<T>>(instruction_set)) {
    require(n_classes >= 2, "there must be two classes");
    this->check_all_labelled();
  }

  // Steps with the rows in this order. `weights` is S, `average` U, both padded
  // (weights/dense_weights.hpp). moved[i] becomes the class that was moved against row i, or -1.
  double steps(Matrix<T> weights, std::optional<Matrix<T>> average, StochasticClock& clock,
               const Passage& passage, Vector<const std::int32_t> rows,
               std::optional<Vector<std::int32_t>> moved) const {
    check(weights);
    if (average) {
      check(*average);
      require(average->shape(1) == weights.shape(1), "S and U must have rows of one length");
    }
    std::span<std::int32_t> labels;
    if (moved) labels = {moved->data(), moved->size()};
    check_moved(labels, passage);
    check(passage, rows, clock);
    const auto stride = static_cast<std::int64_t>(weights.shape(1));
    const std::int64_t n_blocks = (this->n_classes() + kBlock - 1) / kBlock;
    const std::int64_t n_shards = std::min<std::int64_t>(passage.n_threads, n_blocks);
    const std::int64_t width = (n_blocks + n_shards - 1) / n_shards * kBlock;
    const std::int64_t n_features = this->examples().x.n_features;
    std::vector<DenseShard<T>> shards;
    for (std::int64_t first = 0; first < n_blocks * kBlock; first += width) {
      const std::int64_t here = std::min(width, n_blocks * kBlock - first);
      const auto classes = static_cast<std::int32_t>(std::min(here, this->n_classes() - first));
      T* later = average ? average->data() + first : nullptr;
      shards.push_back({{weights.data() + first, n_features, classes, stride},
                        {later, n_features, classes, stride},
                        here});
    }
    const nb::gil_scoped_release release;
    return run(
        MinibatchSgd<T, DenseShard<T>>(dense_, std::move(shards), static_cast<std::int32_t>(width),
                                       passage.loss, batch_of(passage, rows), passage.n_threads),
        clock, passage, rows, labels);
  }

  // The same with S and U in tables.
  double table_steps(ShardedWeights<T>& weights, ShardedWeights<T>* average, StochasticClock& clock,
                     const Passage& passage, Vector<const std::int32_t> rows) const {
    require(passage.loss != StochasticLoss::kLogLoss, "log_loss moves all classes: no tables");
    check(weights);
    if (average) {
      check(*average);
      require(average->shard_size == weights.shard_size, "S and U must have the same slices");
    }
    check(passage, rows, clock);
    std::vector<TableShard<T>> shards;
    for (std::size_t s = 0; s < weights.shards.size(); ++s) {
      shards.push_back({&weights.shards[s], average ? &average->shards[s] : nullptr});
    }
    const nb::gil_scoped_release release;
    return run(
        MinibatchSgd<T, TableShard<T>>(tables_, std::move(shards), weights.shard_size, passage.loss,
                                       batch_of(passage, rows), passage.n_threads),
        clock, passage, rows);
  }

 private:
  static constexpr std::int64_t kBlock = 64 / sizeof(T);

  template <class ThreadTeam>
  double run(ThreadTeam team, StochasticClock& clock, const Passage& passage,
             Vector<const std::int32_t> rows, std::span<std::int32_t> moved = {}) const {
    const auto order = std::span<const std::int32_t>(rows.data(), rows.size());
    const Examples<T>& examples = this->examples();
    InterruptPoll work(this->poll());
    const double each = 2.0 * this->n_classes() *
                        (1 + static_cast<double>(examples.x.indptr[examples.x.n_rows]) /
                                 static_cast<double>(std::max<std::int64_t>(1, examples.x.n_rows)));
    const auto size = static_cast<std::int64_t>(passage.batch_size);
    const std::int64_t n_batches = (static_cast<std::int64_t>(order.size()) + size - 1) / size;
    double losses = 0;
    work.in_chunks(
        n_batches, each * static_cast<double>(size),
        [&](auto begin, auto end) {
          const auto first = static_cast<std::size_t>(begin * size);
          const auto last = std::min(order.size(), static_cast<std::size_t>(end * size));
          losses += team.run(examples, order.subspan(first, last - first), clock, moved);
        },
        1);
    return losses;
  }

  // Rows in a batch: memory is taken for so many.
  static std::size_t batch_of(const Passage& passage, const Vector<const std::int32_t>& rows) {
    return std::clamp<std::size_t>(rows.size(), 1, passage.batch_size);
  }

  void check_moved(std::span<const std::int32_t> moved, const Passage& passage) const {
    if (moved.empty()) return;
    require(passage.loss != StochasticLoss::kLogLoss, "log_loss moves all classes");
    require(static_cast<std::int64_t>(moved.size()) == this->examples().x.n_rows,
            "moved must have an entry for every row");
  }

  // Refuse steps after which a number may not be finite: scores are at most |x| times those of S.
  void check(const Passage& passage, Vector<const std::int32_t> rows,
             StochasticClock& clock) const {
    constexpr std::size_t kMaxRows = std::numeric_limits<std::int32_t>::max();
    require(1 <= passage.batch_size && passage.batch_size <= kMaxRows, "batch_size out of range");
    require(1 <= passage.n_threads && passage.n_threads <= kMaxThreads, "n_threads out of range");
    require(clock.alpha > 0 && clock.seen >= 0, "alpha must be positive, and seen not negative");
    const Examples<T>& examples = this->examples();
    double reach = clock.reach;
    double seen = clock.seen;
    double longest = 1;
    for (std::size_t p = 0; p < rows.size(); ++p) {
      const std::int32_t i = rows.data()[p];
      require(0 <= i && i < examples.x.n_rows, "row out of range");
      const double length = std::sqrt(examples.norms[i]);
      reach += examples.costs[i] * length;
      seen += examples.costs[i];
      longest = std::max(longest, length);
    }
    if (rows.size() == 0) return;
    const double first = clock.seen > 0 ? clock.seen : examples.costs[rows.data()[0]];
    const double average_steps =
        clock.average_steps + static_cast<double>(rows.size()) * (clock.rising ? seen : 1 / first);
    const double averages = std::isfinite(clock.average_from) ? std::max(1.0, average_steps) : 1;
    const double bound = reach * longest * averages * std::max(1.0, 1 / (clock.alpha * first));
    if (!(bound < static_cast<double>(std::numeric_limits<T>::max()) / 8)) {
      throw std::overflow_error("the weights may overflow");
    }
    clock.reach = reach;
  }
  void check(const Matrix<T>& weights) const {
    const std::int64_t stride = static_cast<std::int64_t>(weights.shape(1));
    require(static_cast<std::int64_t>(weights.shape(0)) == this->examples().x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(stride % kBlock == 0 && stride >= this->n_classes(), "weights must be padded");
    require(reinterpret_cast<std::uintptr_t>(weights.data()) % 64 == 0, "weights must be aligned");
  }
  void check(const ShardedWeights<T>& weights) const {
    require(weights.shards[0].n_rows() == this->examples().x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(weights.n_classes == this->n_classes(), "weights must be of the same classes");
  }

  const StochasticKernels<T, DenseShard<T>>& dense_;
  const StochasticKernels<T, TableShard<T>>& tables_;
};

template <class T>
void bind_trainer(nb::module_& m, const char* name) {
  using Trainer = StochasticTrainer<T>;
  nb::class_<Trainer>(m, name)
      .def(nb::init<Vector<const std::int64_t>, Vector<const std::int32_t>, Vector<const T>,
                    std::int64_t, T, Vector<const std::int32_t>, std::int32_t, Vector<const double>,
                    const std::string&>(),
           "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "bias"_a, "labels"_a, "n_classes"_a,
           "costs"_a, "instruction_set"_a)
      .def("steps", &Trainer::steps, "weights"_a, "average"_a.none(), "clock"_a, "passage"_a,
           "rows"_a, "moved"_a = nb::none())
      .def("table_steps", &Trainer::table_steps, "weights"_a, "average"_a.none(), "clock"_a,
           "passage"_a, "rows"_a);
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  nb::enum_<StochasticLoss>(m, "StochasticLoss")
      .value("hinge", StochasticLoss::kHinge)
      .value("log_loss", StochasticLoss::kLogLoss)
      .value("perceptron", StochasticLoss::kPerceptron);
  nb::class_<Passage>(m, "Passage")
      .def(nb::init<StochasticLoss, std::size_t, int>(), "loss"_a, "batch_size"_a, "n_threads"_a);
  nb::class_<StochasticClock>(m, "StochasticClock")
      .def(nb::init<>())
      .def_rw("alpha", &StochasticClock::alpha)
      .def_rw("seen", &StochasticClock::seen)
      .def_rw("steps", &StochasticClock::steps)
      .def_rw("reach", &StochasticClock::reach)
      .def_rw("average_from", &StochasticClock::average_from)
      .def_rw("rising", &StochasticClock::rising)
      .def_rw("average_steps", &StochasticClock::average_steps)
      .def_rw("average_weight", &StochasticClock::average_weight);
  bind_trainer<float>(m, "StochasticTrainer32");
  bind_trainer<double>(m, "StochasticTrainer64");
}

}  // namespace manyclass
