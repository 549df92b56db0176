// Python's view of training with W in hash tables, a shard of the classes for each thread.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "data/check_problem.hpp"
#include "dual/shrinking_loops.hpp"
#include "duals/dual_lists.hpp"
#include "many_classes/sharded_trainer.hpp"
#include "weights/sharded_weights.hpp"
#include "weights/to_csr.hpp"

namespace manyclass {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

template <class T>
ShardedWeights<T> new_weights(std::int64_t n_rows, std::int32_t n_classes, int n_shards,
                              std::int32_t dense_from) {
  require(1 <= n_rows && n_rows <= kMaxCount && 1 <= n_classes && n_classes <= kMaxCount,
          "there must be a feature and a class, and less than 2^31");
  require(1 <= n_shards && n_shards <= std::min(n_classes, kMaxThreads),
          "shards must be from 1 to n_classes");
  require(dense_from >= 1, "dense_from must be positive");
  return {n_rows, n_classes, n_shards, static_cast<std::size_t>(dense_from)};
}

template <class T>
auto export_csr(const ShardedWeights<T>& w, Vector<const std::int32_t> names) {
  require(static_cast<std::int32_t>(names.size()) == w.n_classes, "every class must have a name");
  std::vector<std::int64_t> ends;
  std::vector<std::int32_t> labels;
  std::vector<T> values;
  {
    const nb::gil_scoped_release release;
    ends = row_ends(w);
    labels.resize(static_cast<std::size_t>(ends.back()));
    values.resize(static_cast<std::size_t>(ends.back()));
    export_weights<T>(w, names.data(), ends, labels.data(), values.data());
  }
  return to_numpy(std::move(ends), std::move(labels), std::move(values));
}

template <class T>
void bind_weights(nb::module_& m, const char* name) {
  using Weights = ShardedWeights<T>;
  nb::class_<Weights>(m, name)
      .def_static("zeros", &new_weights<T>, "n_rows"_a, "n_classes"_a, "n_shards"_a, "dense_from"_a)
      .def("to_csr", &export_csr<T>, "names"_a)
      .def(
          "load_csr",
          [](Weights& w, Vector<const std::int64_t> indptr, Vector<const std::int32_t> labels,
             Vector<const T> values, Vector<const std::int32_t> places) {
            load_csr<T>(w, view_of(indptr), view_of(labels), view_of(values), view_of(places));
          },
          "indptr"_a, "labels"_a, "values"_a, "places"_a)
      .def("squared_norm", &Weights::squared_norm)
      .def("intercepts", [](const Weights& w) { return to_numpy(w.intercepts()); })
      .def("clear", &Weights::clear)
      .def_prop_ro("n_slots", &Weights::n_slots)
      .def_prop_ro("n_bytes", &Weights::n_bytes);
}

template <class T>
void bind_trainer(nb::module_& m, const char* name) {
  using Held = ShardedTrainer<T>;
  using Weights = ShardedWeights<T>;
  auto trainer = nb::class_<Held>(m, name);
  bind_trainer_of<T>(trainer);
  trainer
      .def(
          "full_loop",
          [](const Held& t, Weights& weights, DualLists<T>& z, Vector<const std::int32_t> rows,
             Vector<std::int32_t> active, double min_gap, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return t.full_loop(weights, z, view_of(rows), view_of(active), min_gap, seed);
          },
          "weights"_a, "duals"_a, "rows"_a, "active"_a, "min_gap"_a, "seed"_a)
      .def(
          "shrunk_loops",
          [](const Held& t, Weights& weights, DualLists<T>& z, Vector<std::int32_t> active,
             std::int64_t n_active, const ShrunkGoal& goal, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return t.shrunk_loops(weights, z, view_of(active), n_active, goal, seed);
          },
          "weights"_a, "duals"_a, "active"_a, "n_active"_a, "goal"_a, "seed"_a)
      .def("inspect", &Held::inspect, "weights"_a, "duals"_a, "norm"_a, "begin"_a, "end"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("rebuild", &Held::rebuild, "weights"_a, "duals"_a,
           nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_many_classes(nb::module_& m) {
  bind_weights<float>(m, "ShardedWeights32");
  bind_weights<double>(m, "ShardedWeights64");
  bind_trainer<float>(m, "ShardedTrainer32");
  bind_trainer<double>(m, "ShardedTrainer64");
}

}  // namespace manyclass
