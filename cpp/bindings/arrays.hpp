#pragma once
// NumPy arrays as the bindings take and return them.
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

}  // namespace manyclass
