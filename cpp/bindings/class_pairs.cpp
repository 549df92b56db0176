// Python's view of training by pairs of class blocks.
#include <cstdint>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/examples.hpp"
#include "class_pairs/pair_tables.hpp"
#include "class_pairs/pair_trainer.hpp"
#include "class_pairs/pair_views.hpp"
#include "data/array_views.hpp"
#include "dual/trainer.hpp"
#include "duals/dual_lists.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// A pair that keeps the array of its labels alive.
struct HeldPair {
  HeldPair(std::int32_t width, std::int32_t n_first, std::int32_t n_second,
           Vector<const std::int32_t> labels, bool own_too)
      : held(labels), pair(width, n_first, n_second, view_of(labels), own_too) {}
  Vector<const std::int32_t> held;
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

// The methods of a trainer for W of one layout: `Array` is what Python passes.
template <class T, class Pair, class Array, class Weights>
void bind_methods(nb::class_<Bound<T, PairTrainer<T>>>& trainer) {
  using Trainer = Bound<T, PairTrainer<T>>;
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
          "meeting"_a, "weights"_a.noconvert(), "duals"_a, "rows"_a, "active"_a, "shrunk"_a,
          "min_gap"_a, "seed"_a)
      .def(
          "own_scores",
          [](const Trainer& t, const HeldPair& held, Array weights, Vector<const std::int32_t> rows,
             Vector<double> out) {
            const nb::gil_scoped_release release;
            t.template own_scores<Pair, Weights>(held.pair, weights_of(weights), view_of(rows),
                                                 view_of(out));
          },
          "meeting"_a, "weights"_a.noconvert(), "rows"_a, "out"_a)
      .def(
          "inspect",
          [](const Trainer& t, const HeldPair& held, Array weights, const DualLists<T>& z,
             Vector<const double> own_scores, double norm) {
            const nb::gil_scoped_release release;
            return t.template inspect<Pair, Weights>(held.pair, weights_of(weights), z,
                                                     view_of(own_scores), norm);
          },
          "meeting"_a, "weights"_a.noconvert(), "duals"_a, "own_scores"_a, "norm"_a)
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
          "meeting"_a, "weights"_a.noconvert(), "shares"_a, "rows"_a, "active"_a, "scored"_a,
          "seed"_a)
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
          "meeting"_a, "weights"_a.noconvert(), "duals"_a, "own_scores"_a, "largest"_a,
          "smallest"_a, "z_dot_xi"_a)
      .def(
          "rebuild",
          [](const Trainer& t, const HeldPair& held, Array weights, const DualLists<T>& z,
             Vector<const double> totals, Vector<const double> scale) {
            const nb::gil_scoped_release release;
            return t.template rebuild<Pair, Weights>(held.pair, weights_of(weights), z,
                                                     view_of(totals), view_of(scale));
          },
          "meeting"_a, "weights"_a.noconvert(), "duals"_a, "totals"_a, "scale"_a);
}

template <class T>
void bind_pair_trainer(nb::module_& m, const char* name) {
  auto trainer = nb::class_<Bound<T, PairTrainer<T>>>(m, name);
  bind_examples<T>(trainer);
  bind_methods<T, DensePair<T>, Matrix<T>, MatrixView<T>>(trainer);
  bind_methods<T, TablePair<T>, PairTables<T>&, PairTables<T>&>(trainer);
}

}  // namespace

void bind_class_pairs(nb::module_& m) {
  nb::class_<HeldPair>(m, "ClassPair")
      .def(nb::init<std::int32_t, std::int32_t, std::int32_t, Vector<const std::int32_t>, bool>(),
           "width"_a, "n_first"_a, "n_second"_a, "labels"_a, "own_too"_a = true);
  m.attr("Meeting") = m.attr("ClassPair");  // the former name
  bind_pack_rows(m);
  bind_pair_trainer<float>(m, "PairTrainer32");
  bind_pair_trainer<double>(m, "PairTrainer64");
}

}  // namespace manyclass
