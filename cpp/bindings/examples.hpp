#pragma once
// What the trainers that Python sees have in common.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "data/check_problem.hpp"
#include "dual/kernels.hpp"
#include "dual/shrinking_loops.hpp"
#include "simd/aligned_array.hpp"
#include "simd/cpu_features.hpp"

namespace manyclass {

namespace nb = nanobind;

template <class T, class Duals>
const Kernels<T, Duals>& kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::kernels<T, Duals>();
  if (name == "avx2") return avx2::kernels<T, Duals>();
#endif
  return baseline::kernels<T, Duals>();
}

template <class T>
const RebuildKernels<T>& rebuild_kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::rebuild_kernels<T>();
  if (name == "avx2") return avx2::rebuild_kernels<T>();
#endif
  return baseline::rebuild_kernels<T>();
}

// Numbers that are the same for all classes of W, one for each feature and the intercept; none: 0.
inline const double* common_of(const Vector<const double>& common, std::int64_t n_features) {
  require(common.size() == 0 || static_cast<std::int64_t>(common.size()) == n_features + 1,
          "common must have n_features + 1 numbers, or none");
  return common.size() == 0 ? nullptr : common.data();
}

// Memory for one visit, and the intercepts' low digits while a loop lasts; the vectors' lengths are
// those that Scratch documents.
template <class T>
class OwnedScratch {
 public:
  OwnedScratch(std::int32_t n_classes, std::int64_t stride)
      : block_(static_cast<std::size_t>(n_classes) + 1),
        step_(static_cast<std::size_t>(n_classes) + 2),
        labels_(static_cast<std::size_t>(n_classes) + 2),
        rows_(3 * static_cast<std::size_t>(stride)),
        exact_(static_cast<std::size_t>(stride)),
        view_{rows_.data(),
              rows_.data() + stride,
              block_.data(),
              step_.data(),
              labels_.data(),
              exact_.data(),
              sizeof(T) == 4 ? rows_.data() + 2 * stride : nullptr} {}
  Scratch<T> view() { return view_; }

 private:
  std::vector<Coordinate> block_;
  std::vector<Step> step_;
  std::vector<std::int32_t> labels_;
  AlignedArray<T> rows_;
  AlignedArray<double> exact_;
  Scratch<T> view_;
};

// The training examples, checked. Holds references to the caller's arrays, which must not change.
template <class T>
class TrainingSet {
 public:
  TrainingSet(const Formulation& formulation, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
              T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
              Vector<const double> costs, const std::string& instruction_set)
      : arrays_{indptr, indices, values, labels, costs},
        n_classes_(n_classes),
        norms_(labels.size()) {
    require(indptr.size() == labels.size() + 1, "indptr must have one entry more than labels");
    require(costs.size() == labels.size(), "costs and labels must have one length");
    require(indices.size() == values.size(), "indices and values must have one length");
    require_none(flaw_of({labels.data(), labels.size()}, n_classes));
    require_none(flaw_of_costs({costs.data(), costs.size()}));
    examples_ = {formulation,
                 {indptr.data(), indices.data(), values.data(),
                  static_cast<std::int64_t>(labels.size()), n_features, bias},
                 labels.data(),
                 norms_.data(),
                 costs.data()};
    require_none(flaw_of(examples_.x, static_cast<std::int64_t>(indices.size())));
    kernels_for<T, DualLists<T>>(instruction_set).squared_norms(examples_.x, norms_.data());
  }
  TrainingSet(const TrainingSet&) = delete;
  TrainingSet& operator=(const TrainingSet&) = delete;

  const std::vector<double>& norms() const { return norms_; }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

 protected:
  // Called between visits. Throws what the handlers of Python's pending signals raise, such as
  // KeyboardInterrupt (in the main thread; other threads are told by `stop`).
  auto poll() const {
    return [this] {
      if (stopped_.load(std::memory_order_relaxed))
        throw std::runtime_error("training was stopped");
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
  }

  // Blocks of rows of about four pages of memory, and of those many, for the sake of randomness.
  VisitOrder new_visit_order() const {
    const std::int64_t n = examples_.x.n_rows;
    const std::int64_t nnz = examples_.x.indptr[n];
    const auto bytes = static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) * nnz;
    const std::int64_t rows =
        std::min(kBlockOfRows * n / std::max<std::int64_t>(bytes, 1), n / 256);
    return {n, static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 1, 32))};
  }
  // Visits between two looks at the signals: about 2^28 multiply-adds, some 20 ms.
  std::size_t rows_at_once() const {
    const Csr<T>& x = examples_.x;
    const double n = std::max(1.0, static_cast<double>(x.n_rows));
    const double features = static_cast<double>(x.indptr[x.n_rows]) / n;
    const double rows = kWorkAtOnce / ((features + 1) * n_classes_);
    return std::max<std::size_t>(1, static_cast<std::size_t>(rows));
  }
  void check_rows(std::int64_t begin, std::int64_t end) const {
    require(0 <= begin && begin <= end && end <= examples_.x.n_rows, "rows out of range");
  }
  template <class Rows>
  void check_rows(const Rows& rows) const {
    require(in_range({rows.data(), rows.size()}, examples_.x.n_rows), "row out of range");
  }
  // Of margins that cannot do without the score of y.
  void check_all_labelled() const {
    const std::int32_t* end = examples_.labels + examples_.x.n_rows;
    require(std::find(examples_.labels, end, kElsewhere) == end,
            "every example must have its class");
  }
  std::int32_t n_classes() const { return n_classes_; }
  const Examples<T>& examples() const { return examples_; }

 private:
  static constexpr double kWorkAtOnce = 1 << 28;
  static constexpr std::int64_t kBlockOfRows = 1 << 14;

  std::tuple<Vector<const std::int64_t>, Vector<const std::int32_t>, Vector<const T>,
             Vector<const std::int32_t>, Vector<const double>>
      arrays_;  // kept alive
  std::int32_t n_classes_;
  std::vector<double> norms_;
  Examples<T> examples_;
  std::atomic<bool> stopped_{false};
};

template <class V>
inline nb::ndarray<nb::numpy, V, nb::ndim<1>> to_numpy(std::vector<V> values) {
  auto* owned = new std::vector<V>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<V>*>(p); });
  return nb::ndarray<nb::numpy, V, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

// z as the three arrays of a CSR matrix (n x k).
template <class T, class Duals>
nb::tuple export_duals(const Duals& z) {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> labels;
  std::vector<T> values;
  const auto count = static_cast<std::size_t>(z.count());
  indptr.reserve(static_cast<std::size_t>(z.n_rows()) + 1);
  labels.reserve(count);
  values.reserve(count);
  for (std::int64_t i = 0; i < z.n_rows(); ++i) {
    for (const DualEntry<T>& entry : z.row(i)) {
      labels.push_back(entry.label);
      values.push_back(entry.value);
    }
    indptr.push_back(static_cast<std::int64_t>(labels.size()));
  }
  return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(labels)),
                        to_numpy(std::move(values)));
}

template <class T, class Duals>
void import_duals(Duals& z, Vector<const std::int64_t> indptr, Vector<const std::int32_t> labels,
                  Vector<const T> values) {
  require(indptr.size() == static_cast<std::size_t>(z.n_rows()) + 1,
          "z has another number of rows");
  require(labels.size() == values.size(), "labels and values must have one length");
  require(in_range({labels.data(), labels.size()}, z.n_classes()), "z has a class out of range");
  std::vector<std::int64_t> seen(static_cast<std::size_t>(z.n_classes()), -1);  // last in this row
  std::vector<DualEntry<T>> row;
  for (std::int64_t i = 0; i < z.n_rows(); ++i) {
    const std::int64_t begin = indptr.data()[i];
    const std::int64_t end = indptr.data()[i + 1];
    require(0 <= begin && begin <= end && end <= static_cast<std::int64_t>(labels.size()),
            "indptr is not that of a CSR matrix");
    require(end - begin <= z.n_classes(), "a row of z has more entries than there are classes");
    row.clear();
    for (std::int64_t p = begin; p < end; ++p) {
      std::int64_t& last = seen[static_cast<std::size_t>(labels.data()[p])];
      require(last != i, "z has a class twice");
      last = i;
      row.push_back({labels.data()[p], values.data()[p]});
    }
    z.set(i, row);
  }
}

// z from entries in any order, each (row, column) once: `columns` has the column of every class, -1
// for those that are left out. z must have been empty.
template <class T>
void import_entries(DualLists<T>& z, Vector<const std::int32_t> rows,
                    Vector<const std::int32_t> labels, Vector<const T> values,
                    Vector<const std::int32_t> columns) {
  require(rows.size() == labels.size() && rows.size() == values.size(),
          "rows, labels and values must have one length");
  for (std::size_t c = 0; c < columns.size(); ++c) {
    require(columns.data()[c] < z.n_classes(), "z has a column out of range");
  }
  std::vector<std::size_t> sizes(static_cast<std::size_t>(z.n_rows()));
  const auto column_of = [&](std::size_t e) { return columns.data()[labels.data()[e]]; };
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::int32_t i = rows.data()[e], label = labels.data()[e];
    require(0 <= i && i < z.n_rows(), "z has a row out of range");
    require(0 <= label && static_cast<std::size_t>(label) < columns.size(),
            "z has a class out of range");
    if (column_of(e) >= 0) ++sizes[static_cast<std::size_t>(i)];
  }
  for (std::int64_t i = 0; i < z.n_rows(); ++i) {
    std::size_t& size = sizes[static_cast<std::size_t>(i)];
    require(size <= static_cast<std::size_t>(z.n_classes()), "z has a class twice");
    if (size > 0) z.resize(i, size);
    size = 0;
  }
  for (std::size_t e = 0; e < rows.size(); ++e) {
    if (column_of(e) < 0) continue;
    const std::int64_t i = rows.data()[e];
    z.row(i)[sizes[static_cast<std::size_t>(i)]++] = {column_of(e), values.data()[e]};
  }
}

// What every trainer has for Python.
template <class T, class Trainer>
void bind_examples(nb::class_<Trainer>& trainer) {
  using nb::literals::operator""_a;
  trainer
      .def(nb::init<const Formulation&, Vector<const std::int64_t>, Vector<const std::int32_t>,
                    Vector<const T>, std::int64_t, T, Vector<const std::int32_t>, std::int32_t,
                    Vector<const double>, const std::string&>(),
           "formulation"_a, "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "bias"_a,
           "labels"_a, "n_classes"_a, "costs"_a, "instruction_set"_a)
      .def("squared_norms", [](const Trainer& t) { return to_numpy(t.norms()); })
      .def("stop", [](Trainer& t) { t.stop(); });
}

}  // namespace manyclass
