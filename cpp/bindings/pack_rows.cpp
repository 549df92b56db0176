// Python's view of W of a class block, packed for messages, and of W of a pair in hash tables.
#include <nanobind/ndarray.h>

#include <cstdint>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "class_pairs/pair_tables.hpp"
#include "data/check_problem.hpp"
#include "data/require.hpp"
#include "weights/hash_tables.hpp"
#include "weights/pack_rows.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

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
nb::tuple read(Weights weights, int slot, std::int64_t begin, std::int64_t end, bool drop) {
  require(0 <= begin && begin <= end && end <= rows_of(weights), "rows out of range");
  SlotRows<T> rows;
  {
    auto&& from = slot_of(weights, slot);
    const nb::gil_scoped_release release;
    rows = read_rows<T>(from, begin, end, drop);
  }
  return nb::make_tuple(to_numpy(std::move(rows.counts)), to_numpy(std::move(rows.classes)),
                        to_numpy(std::move(rows.values)));
}

template <class T, class Weights>
void put(Weights weights, int slot, std::int64_t begin, Vector<const std::int32_t> counts,
         Vector<const std::int32_t> classes, Vector<const T> values) {
  const auto n_rows = static_cast<std::int64_t>(counts.size());
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
  return new PairTables<T>(n_rows, width, static_cast<std::size_t>(dense_from));
}

template <class T>
void bind_tables(nb::module_& m, const char* name) {
  using Tables = PairTables<T>;
  nb::class_<Tables>(m, name)
      .def(nb::new_(&new_tables<T>), "n_rows"_a, "width"_a, "dense_from"_a)
      .def("squared_norm", &Tables::squared_norm)
      .def("clear", &Tables::clear)
      .def_prop_ro("n_slots", &Tables::n_slots)
      .def_prop_ro("n_bytes", &Tables::n_bytes);
  bind_rows<T, Tables&>(m);
}

}  // namespace

void bind_pack_rows(nb::module_& m) {
  bind_rows<float, Matrix<float>>(m);
  bind_rows<double, Matrix<double>>(m);
  bind_tables<float>(m, "PairTables32");
  bind_tables<double>(m, "PairTables64");
}

}  // namespace manyclass
