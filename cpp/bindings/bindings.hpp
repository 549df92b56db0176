#pragma once
// Shared by the files of this folder: NumPy arrays as arguments and results, problems with the
// arrays that they refer to, and the parts of the module. Each file defines one part.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "dual/problem.hpp"
#include "engines/engine.hpp"

namespace manyclass {

template <class T>
using Vector = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using NumpyVector = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

template <class A, class B, class C>
using NumpyVectors =
    nanobind::typed<nanobind::tuple, NumpyVector<A>, NumpyVector<B>, NumpyVector<C>>;

template <class T>
std::span<T> view_of(const Vector<T>& array) {
  return {array.data(), array.size()};
}

template <class T>
MatrixView<T> view_of(const Matrix<T>& array) {
  return {array.data(), static_cast<std::int64_t>(array.shape(0)),
          static_cast<std::int64_t>(array.shape(1))};
}

// A NumPy array that owns the values.
template <class T>
NumpyVector<T> to_numpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(owned,
                                [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumpyVector<T>(owned->data(), {owned->size()}, owner);
}

template <class A, class B, class C>
NumpyVectors<A, B, C> to_numpy(std::vector<A> a, std::vector<B> b, std::vector<C> c) {
  return nanobind::make_tuple(to_numpy(std::move(a)), to_numpy(std::move(b)),
                              to_numpy(std::move(c)));
}

void bind_dual(nanobind::module_& m);
void bind_engines(nanobind::module_& m);
void bind_class_pairs(nanobind::module_& m);
void bind_comparison(nanobind::module_& m);
void bind_logistic(nanobind::module_& m);
void bind_stochastic(nanobind::module_& m);
void bind_svmlight(nanobind::module_& m);
void bind_prediction(nanobind::module_& m);
void bind_columns(nanobind::module_& m);

template <class T>
struct HeldArrays {
  Vector<const std::int64_t> indptr;
  Vector<const std::int32_t> indices;
  Vector<const T> values;
  Vector<const std::int32_t> labels;
  Vector<const double> costs;
  std::optional<Vector<const std::int32_t>> base_rows;
  std::optional<Vector<const std::uint64_t>> sets;
};

using OptionalRows = std::optional<Vector<const std::int32_t>>;

// Throws what the handlers of Python's pending signals raise, such as KeyboardInterrupt. Only the
// main thread receives signals; `stop` ends the other threads.
inline void check_signals() {
  const nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// A problem and its arrays, which must not change. Stochastic methods do not need a formulation.
template <class T>
class HeldProblem : private HeldArrays<T>, public Problem<T> {
 public:
  HeldProblem(const Formulation* formulation, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
              T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
              Vector<const double> costs, const std::string& instruction_set,
              const std::optional<Matrix<const double>>& base_table, OptionalRows base_rows,
              std::optional<Vector<const std::uint64_t>> sets, std::int64_t rows_in_region,
              const TreeArrays* base_tree, const std::optional<Matrix<const double>>& factors)
      : HeldArrays<T>{indptr, indices, values, labels, costs, base_rows, sets},
        Problem<T>({formulation ? *formulation : Formulation{}, view_of(indptr), view_of(indices),
                    view_of(values), n_features, bias, view_of(labels), n_classes, view_of(costs),
                    numbers_of(base_table, n_classes), rows_of(base_rows), rows_of(sets),
                    rows_in_region, base_tree, numbers_of(factors, n_classes)},
                   instruction_set, check_signals) {}

 private:
  static std::span<const double> numbers_of(const std::optional<Matrix<const double>>& table,
                                            std::int32_t n_classes) {
    if (!table) return {};
    require(static_cast<std::int64_t>(table->shape(1)) == n_classes,
            "base scores and factors must have a column for each class");
    return {table->data(), table->size()};
  }
  template <class N>
  static std::span<const N> rows_of(const std::optional<Vector<const N>>& rows) {
    return rows ? view_of(*rows) : std::span<const N>{};
  }
};

// An engine that Python classes may inherit from.
class HeldEngine {
 public:
  explicit HeldEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  Engine& operator*() const { return *engine_; }
  Engine* operator->() const { return engine_.get(); }
  AnyDenseEngine& dense() const { return as<AnyDenseEngine>("W is in hash tables"); }
  SparseEngine& sparse() const { return as<SparseEngine>("W is dense"); }
  SharedMeanEngine& shared_mean() const { return as<SharedMeanEngine>("no mean is shared"); }

 private:
  template <class Kind>
  Kind& as(const char* otherwise) const {
    auto* found = dynamic_cast<Kind*>(engine_.get());
    require(found != nullptr, otherwise);
    return *found;
  }

  std::unique_ptr<Engine> engine_;
};

// An engine whose W shares its mean with other ranks.
struct HeldMeanEngine : HeldEngine {
  using HeldEngine::HeldEngine;
};

// The constructor of every trainer, and the problem of the trainer.
template <class T, class Trainer>
void bind_trainer_of(nanobind::class_<Trainer>& trainer) {
  using nanobind::literals::operator""_a;
  trainer.def(nanobind::init<std::shared_ptr<const HeldProblem<T>>>(), "problem"_a)
      .def_prop_ro(
          "problem",
          [](const Trainer& t) -> const HeldProblem<T>& {
            return static_cast<const HeldProblem<T>&>(t.problem());
          },
          nanobind::rv_policy::reference_internal);
}

}  // namespace manyclass
