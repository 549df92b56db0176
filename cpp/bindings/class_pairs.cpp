// Bindings of training by pairs of class blocks: trainers, W of a pair in hash tables, and W
// of a block packed for messages.
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>

#include "bindings/bindings.hpp"
#include "class_pairs/pair_trainer.hpp"
#include "class_pairs/pair_views.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "duals/dual_lists.hpp"
#include "weights/hash_tables.hpp"
#include "weights/pack_rows.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// A pair that keeps its arrays alive.
struct HeldPair {
  HeldPair(std::int32_t width, std::int32_t n_first, std::int32_t n_second,
           Vector<const std::int32_t> labels, bool own_too, OptionalRows classes)
      : held_labels(labels),
        held_classes(classes),
        pair(width, n_first, n_second, view_of(labels), own_too,
             classes ? view_of(*classes) : std::span<const std::int32_t>{}) {}
  Vector<const std::int32_t> held_labels;
  OptionalRows held_classes;
  ClassPair pair;
};

template <class T>
MatrixView<T> weights_of(const Matrix<T>& weights) {
  return view_of(weights);
}
template <class T>
PairTables<T>& weights_of(PairTables<T>& weights) {
  return weights;
}

// The methods of a trainer for W in one layout. Python passes an `Array`.
template <class T, class Pair, class Array, class Weights>
void bind_methods(nb::class_<PairTrainer<T>>& trainer) {
  using Trainer = PairTrainer<T>;
  trainer
      .def(
          "loop",
          [](const Trainer& t, const HeldPair& held, Array weights, DualLists<T>& z,
             Vector<const std::int32_t> rows, Vector<std::int32_t> active, bool shrunk,
             double min_gap, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return t.template loop<Pair, Weights>(held.pair, weights_of(weights), z, view_of(rows),
                                                  view_of(active), shrunk, min_gap, seed);
          },
          "pair"_a, "weights"_a.noconvert(), "duals"_a, "rows"_a, "active"_a, "shrunk"_a,
          "min_gap"_a, "seed"_a)
      .def(
          "own_scores",
          [](const Trainer& t, const HeldPair& held, Array weights, Vector<const std::int32_t> rows,
             Vector<double> out) {
            const nb::gil_scoped_release release;
            t.template own_scores<Pair, Weights>(held.pair, weights_of(weights), view_of(rows),
                                                 view_of(out));
          },
          "pair"_a, "weights"_a.noconvert(), "rows"_a, "out"_a)
      .def(
          "inspect",
          [](const Trainer& t, const HeldPair& held, Array weights, const DualLists<T>& z,
             Vector<const double> own_scores, double norm) {
            const nb::gil_scoped_release release;
            return t.template inspect<Pair, Weights>(held.pair, weights_of(weights), z,
                                                     view_of(own_scores), norm);
          },
          "pair"_a, "weights"_a.noconvert(), "duals"_a, "own_scores"_a, "norm"_a)
      .def(
          "trade",
          [](const Trainer& t, const HeldPair& held, Array weights, DualLists<T>& shares,
             Vector<const std::int32_t> rows, Vector<std::int32_t> active,
             Vector<const std::uint8_t> scored, std::uint64_t seed) {
            const nb::gil_scoped_release release;
            return t.template trade<Pair, Weights>(held.pair, weights_of(weights), shares,
                                                   view_of(rows), view_of(active), view_of(scored),
                                                   seed);
          },
          "pair"_a, "weights"_a.noconvert(), "shares"_a, "rows"_a, "active"_a, "scored"_a, "seed"_a)
      .def(
          "survey",
          [](const Trainer& t, const HeldPair& held, Array weights, const DualLists<T>& z,
             Vector<const double> own_scores, Vector<double> largest, Vector<double> smallest,
             Vector<double> z_dot_xi) {
            const nb::gil_scoped_release release;
            t.template survey<Pair, Weights>(held.pair, weights_of(weights), z, view_of(own_scores),
                                             view_of(largest), view_of(smallest),
                                             view_of(z_dot_xi));
          },
          "pair"_a, "weights"_a.noconvert(), "duals"_a, "own_scores"_a, "largest"_a, "smallest"_a,
          "z_dot_xi"_a)
      .def(
          "rebuild",
          [](const Trainer& t, const HeldPair& held, Array weights, const DualLists<T>& z,
             Vector<const double> totals, Vector<const double> scale) {
            const nb::gil_scoped_release release;
            return t.template rebuild<Pair, Weights>(held.pair, weights_of(weights), z,
                                                     view_of(totals), view_of(scale));
          },
          "pair"_a, "weights"_a.noconvert(), "duals"_a, "totals"_a, "scale"_a);
}

template <class T>
void bind_pair_trainer(nb::module_& m, const char* name) {
  auto trainer = nb::class_<PairTrainer<T>>(m, name);
  bind_trainer_of<T>(trainer);
  bind_methods<T, DensePair<T>, Matrix<T>, MatrixView<T>>(trainer);
  bind_methods<T, TablePair<T>, PairTables<T>&, PairTables<T>&>(trainer);
}

void check_slot(int slot) { require(slot == 0 || slot == 1, "the slot must be 0 or 1"); }

template <class T>
DenseSlot<T> slot_of(const Matrix<T>& weights, int slot) {
  check_slot(slot);
  const auto stride = static_cast<std::int64_t>(weights.shape(1));
  require(stride > 0 && stride % 2 == 0 && stride / 2 < (1 << 30),
          "rows of weights must be two slots");
  return {weights.data() + slot * (stride / 2), stride, static_cast<std::int32_t>(stride / 2)};
}

template <class T>
HashTables<T>& slot_of(PairTables<T>& weights, int slot) {
  check_slot(slot);
  return weights.slot(slot);
}

template <class T>
std::int64_t rows_of(const Matrix<T>& weights) {
  return static_cast<std::int64_t>(weights.shape(0));
}
template <class T>
std::int64_t rows_of(const PairTables<T>& weights) {
  return weights.n_rows();
}

template <class T, class Weights>
auto read(Weights weights, int slot, std::int64_t begin, std::int64_t end, bool drop) {
  require(0 <= begin && begin <= end && end <= rows_of(weights), "rows out of range");
  SlotRows<T> rows;
  {
    auto&& from = slot_of(weights, slot);
    const nb::gil_scoped_release release;
    rows = read_rows<T>(from, begin, end, drop);
  }
  return to_numpy(std::move(rows.counts), std::move(rows.classes), std::move(rows.values));
}

template <class T, class Weights>
void put(Weights weights, int slot, std::int64_t begin, Vector<const std::int32_t> counts,
         Vector<const std::int32_t> classes, Vector<const T> values) {
  const auto n_rows = std::ssize(counts);
  require(0 <= begin && begin <= rows_of(weights) - n_rows, "rows out of range");
  auto&& to = slot_of(weights, slot);
  check_packed(width_of(to), view_of(counts), view_of(classes), values.size());
  const nb::gil_scoped_release release;
  put_rows(to, begin, n_rows, counts.data(), classes.data(), values.data());
}

template <class T, class Weights>
void bind_rows(nb::module_& m) {
  m.def("read_rows", &read<T, Weights>, "weights"_a.noconvert(), "slot"_a, "begin"_a, "end"_a,
        "drop"_a, "Rows of one slot of W as (counts, classes, values); drop: zeros stay behind.");
  m.def("put_rows", &put<T, Weights>, "weights"_a.noconvert(), "slot"_a, "begin"_a, "counts"_a,
        "classes"_a, "values"_a, "Put rows that were read elsewhere into a slot of zeros.");
}

template <class T>
PairTables<T>* new_tables(std::int64_t n_rows, std::int32_t width, std::int64_t dense_from) {
  require(1 <= n_rows && n_rows <= kMaxCount, "there must be a feature, and less than 2^31");
  require(width >= 1 && width < (1 << 30) && width % HashTables<T>::kBlock == 0,
          "a slot must have columns in whole blocks of 64 bytes");
  require(dense_from >= 1, "dense_from must be positive");
  return new PairTables<T>(n_rows, width, dense_from);
}

template <class T>
void bind_tables(nb::module_& m, const char* name) {
  using Tables = PairTables<T>;
  nb::class_<Tables>(m, name)
      .def(nb::new_(&new_tables<T>), "n_rows"_a, "width"_a, "dense_from"_a)
      .def("squared_norm", &Tables::squared_norm)
      .def("intercepts", [](const Tables& w) { return to_numpy(w.intercepts()); })
      .def("clear", &Tables::clear)
      .def_prop_ro("n_slots", &Tables::n_slots)
      .def_prop_ro("n_bytes", &Tables::n_bytes);
  bind_rows<T, Tables&>(m);
}

}  // namespace

void bind_class_pairs(nb::module_& m) {
  nb::class_<HeldPair>(m, "ClassPair")
      .def(nb::init<std::int32_t, std::int32_t, std::int32_t, Vector<const std::int32_t>, bool,
                    OptionalRows>(),
           "width"_a, "n_first"_a, "n_second"_a, "labels"_a, "own_too"_a = true,
           "classes"_a = nb::none());
  bind_rows<float, Matrix<float>>(m);
  bind_rows<double, Matrix<double>>(m);
  bind_tables<float>(m, "PairTables32");
  bind_tables<double>(m, "PairTables64");
  bind_pair_trainer<float>(m, "PairTrainer32");
  bind_pair_trainer<double>(m, "PairTrainer64");
}

}  // namespace manyclass
