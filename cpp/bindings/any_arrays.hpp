#pragma once
// Arrays of floats or doubles as Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/bindings.hpp"
#include "data/array_views.hpp"
#include "engines/weight_array.hpp"

// Types of results in the stub: arrays of floats or doubles.
#define MANYCLASS_ARRAY "numpy.typing.NDArray[typing.Any]"
#define MANYCLASS_CSR \
  "tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32], " MANYCLASS_ARRAY "]"

namespace manyclass {

// A NumPy array that shares the memory of the matrix.
template <class T>
nanobind::object as_object(const OwnedMatrix<T>& matrix) {
  using Owner = std::shared_ptr<ZeroedMemory<T>>;
  const nanobind::capsule owner(new Owner(matrix.owner),
                                [](void* p) noexcept { delete static_cast<Owner*>(p); });
  const std::array shape{static_cast<std::size_t>(matrix.n_rows),
                         static_cast<std::size_t>(matrix.n_columns)};
  const std::array strides{matrix.row_stride, matrix.column_stride};
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>>(
      matrix.data, shape.size(), shape.data(), owner, strides.data()));
}
template <class T>
nanobind::object as_object(CsrArrays<T> csr) {
  return nanobind::object(
      to_numpy(std::move(csr.indptr), std::move(csr.labels), std::move(csr.values)));
}
template <class T>
nanobind::object as_object(std::vector<T> values) {
  return nanobind::cast(to_numpy(std::move(values)));
}
template <class... Of>
nanobind::object as_object(std::variant<Of...> any) {
  return std::visit([](auto&& found) { return nanobind::object(as_object(std::move(found))); },
                    std::move(any));
}

}  // namespace manyclass
