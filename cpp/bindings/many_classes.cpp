// Python's view of training with W in tables, a shard of the classes for each thread.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/examples.hpp"
#include "many_classes/sharded_team.hpp"
#include "weights/to_csr.hpp"

namespace manyclass {
namespace {

using nb::literals::operator""_a;

template <class T>
const ShardKernels<T>& shard_kernels_for(const std::string& name) {
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::shard_kernels<T>();
  if (name == "avx2") return avx2::shard_kernels<T>();
#endif
  return baseline::shard_kernels<T>();
}

template <class T>
ShardedWeights<T> new_weights(std::int64_t n_rows, std::int32_t n_classes, int n_shards,
                              std::int32_t dense_from) {
  require(1 <= n_rows && n_rows <= kMaxCount && 1 <= n_classes && n_classes <= kMaxCount,
          "there must be a feature and a class, and less than 2^31");
  require(1 <= n_shards && n_shards <= std::min(n_classes, kMaxThreads),
          "slices must be from 1 to n_classes");
  require(dense_from >= 1, "dense_from must be positive");
  return {n_rows, n_classes, n_shards, static_cast<std::size_t>(dense_from)};
}

template <class T>
nb::tuple export_csr(const ShardedWeights<T>& w, Vector<const std::int32_t> names) {
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
  return nb::make_tuple(to_numpy(std::move(ends)), to_numpy(std::move(labels)),
                        to_numpy(std::move(values)));
}

// W = a CSR matrix; class c of it is class places[c] of W.
template <class T>
void load_csr(ShardedWeights<T>& w, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> labels, Vector<const T> values,
              Vector<const std::int32_t> places) {
  const std::int64_t n_rows = w.shards[0].n_rows();
  const auto k = static_cast<std::int32_t>(places.size());
  require(k == w.n_classes, "every class must have a place");
  for (std::int32_t c = 0; c < k; ++c) {
    require(0 <= places.data()[c] && places.data()[c] < k, "place out of range");
  }
  require(static_cast<std::int64_t>(indptr.size()) == n_rows + 1, "another number of rows");
  require(labels.size() == values.size(), "labels and values must have one length");
  for (HashTables<T>& shard : w.shards) shard.clear();
  for (std::int64_t j = 0; j < n_rows; ++j) {
    const std::int64_t begin = indptr.data()[j];
    const std::int64_t end = indptr.data()[j + 1];
    require(0 <= begin && begin <= end && end <= static_cast<std::int64_t>(labels.size()),
            "indptr is not that of a CSR matrix");
    std::int32_t last = -1;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int32_t label = labels.data()[p];
      require(last < label && label < k, "labels must be ascending and below n_classes");
      last = label;
      const std::int32_t place = places.data()[label];
      const std::int32_t shard = place / w.shard_size;
      const auto inside = static_cast<std::uint32_t>(place - w.first(shard));
      *w.shards[static_cast<std::size_t>(shard)].insert(j, inside) = values.data()[p];
    }
  }
}

// The examples with the kernels of one instruction set.
template <class T>
class SparseTrainer : public TrainingSet<T> {
 public:
  SparseTrainer(const Formulation& formulation, Vector<const std::int64_t> indptr,
                Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
                T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
                Vector<const double> costs, const std::string& instruction_set)
      : TrainingSet<T>(formulation, indptr, indices, values, n_features, bias, labels, n_classes,
                       costs, instruction_set),
        kernels_(shard_kernels_for<T>(instruction_set)) {
    require(formulation.relative, "margins must be relative");
    this->check_all_labelled();
  }

  SweepResult full_loop(ShardedWeights<T>& weights, DualLists<T>& z,
                        Vector<const std::int32_t> rows, Vector<std::int32_t> active,
                        double min_gap, std::uint64_t seed) const {
    require(active.size() >= rows.size(), "active must be as long as rows");
    this->check_rows(rows);
    check(weights, z);
    const nb::gil_scoped_release release;
    ShardTeam<T> team(kernels_, weights);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    return loop_over({rows.data(), rows.size()}, active.data(), visits, kRowsAtOnce, random,
                     visit(team, z, false, min_gap), this->poll());
  }

  ShrunkResult shrunk_loops(ShardedWeights<T>& weights, DualLists<T>& z,
                            Vector<std::int32_t> active, std::int64_t n_active,
                            const ShrunkGoal& goal, std::uint64_t seed) const {
    require(0 <= n_active && n_active <= static_cast<std::int64_t>(active.size()),
            "n_active is out of range");
    this->check_rows(std::span(active.data(), static_cast<std::size_t>(n_active)));
    check(weights, z);
    const nb::gil_scoped_release release;
    ShardTeam<T> team(kernels_, weights);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    return manyclass::shrunk_loops({active.data(), static_cast<std::size_t>(n_active)}, goal,
                                   visits, kRowsAtOnce, random, visit(team, z, true, goal.min_gap),
                                   this->poll());
  }

  SweepResult inspect(ShardedWeights<T>& weights, const DualLists<T>& z, double norm,
                      std::int64_t begin, std::int64_t end) const {
    this->check_rows(begin, end);
    check(weights, z);
    const nb::gil_scoped_release release;
    ShardTeam<T> team(kernels_, weights);
    SweepResult sum;
    const auto step = static_cast<std::int64_t>(kRowsAtOnce) * weights.size();
    for (std::int64_t row = begin; row < end; row += step) {
      add(team.inspect(this->examples(), z, {nullptr, norm}, row, std::min(row + step, end)), sum);
      this->poll()();
    }
    return sum;
  }

  // W <- W(z); returns an upper bound of the distance between them.
  double rebuild(ShardedWeights<T>& weights, const DualLists<T>& z) const {
    check(weights, z);
    const nb::gil_scoped_release release;
    ShardTeam<T> team(kernels_, weights);
    return team.rebuild(this->examples(), z, this->poll()).bound(this->examples().x.n_rows);
  }

 private:
  auto visit(ShardTeam<T>& team, DualLists<T>& z, bool shrunk, double min_gap) const {
    return [this, &team, &z, shrunk, min_gap](std::span<const std::int32_t> order,
                                              std::int32_t* active) {
      return team.visit(this->examples(), z, order, shrunk, min_gap, active);
    };
  }

  void check(const ShardedWeights<T>& weights, const DualLists<T>& z) const {
    const Csr<T>& x = this->examples().x;
    require(weights.shards[0].n_rows() == x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(weights.n_classes == this->n_classes(), "weights must be of the same classes");
    require(z.n_rows() == x.n_rows && z.n_classes() == this->n_classes(),
            "z must have one list per example, over the same classes");
  }

  // Visits between two looks at the signals, at most some tenths of a second.
  static constexpr std::size_t kRowsAtOnce = 512;

  const ShardKernels<T>& kernels_;
};

template <class T>
void bind_sparse(nb::module_& m, const char* weights_name, const char* trainer_name) {
  using Weights = ShardedWeights<T>;
  nb::class_<Weights>(m, weights_name)
      .def_static("zeros", &new_weights<T>, "n_rows"_a, "n_classes"_a, "n_slices"_a, "dense_from"_a)
      .def("to_csr", &export_csr<T>, "names"_a)
      .def("load_csr", &load_csr<T>, "indptr"_a, "labels"_a, "values"_a, "places"_a)
      .def("squared_norm",
           [](const Weights& w) {
             double total = 0;
             for (const auto& shard : w.shards) total += shard.squared_norm();
             return total;
           })
      .def("clear",
           [](Weights& w) {
             for (auto& shard : w.shards) shard.clear();
           })
      .def_prop_ro("n_slots",
                   [](const Weights& w) {
                     std::int64_t total = 0;
                     for (const auto& shard : w.shards) total += shard.n_slots();
                     return total;
                   })
      .def_prop_ro("n_bytes", [](const Weights& w) {
        std::int64_t total = 0;
        for (const auto& shard : w.shards) total += shard.n_bytes();
        return total;
      });
  using Trainer = SparseTrainer<T>;
  auto trainer = nb::class_<Trainer>(m, trainer_name);
  bind_examples<T>(trainer);
  trainer
      .def("full_loop", &Trainer::full_loop, "weights"_a, "duals"_a, "rows"_a, "active"_a,
           "min_gap"_a, "seed"_a)
      .def("shrunk_loops", &Trainer::shrunk_loops, "weights"_a, "duals"_a, "active"_a, "n_active"_a,
           "goal"_a, "seed"_a)
      .def("inspect", &Trainer::inspect, "weights"_a, "duals"_a, "norm"_a, "begin"_a, "end"_a)
      .def("rebuild", &Trainer::rebuild, "weights"_a, "duals"_a);
}

}  // namespace

void bind_many_classes(nb::module_& m) {
  bind_sparse<float>(m, "WeightTables32", "SparseTrainer32");
  bind_sparse<double>(m, "WeightTables64", "SparseTrainer64");
}

}  // namespace manyclass
