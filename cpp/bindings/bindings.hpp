#pragma once
// Shared by the files of this room: NumPy arrays as the bindings take and return them, and the
// parts of the module, of which each file defines one.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/array_views.hpp"

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
void bind_newton(nanobind::module_& m);
void bind_many_classes(nanobind::module_& m);
void bind_class_pairs(nanobind::module_& m);
void bind_comparison(nanobind::module_& m);
void bind_logistic(nanobind::module_& m);
void bind_stochastic(nanobind::module_& m);
void bind_svmlight(nanobind::module_& m);
void bind_prediction(nanobind::module_& m);

}  // namespace manyclass
