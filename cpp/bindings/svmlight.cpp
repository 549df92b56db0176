// Bindings of the svmlight parser.
#include <nanobind/ndarray.h>

#include "bindings/bindings.hpp"
#include "svmlight/parser.hpp"

namespace manyclass {
namespace {

namespace nb = nanobind;

// The bytes of an object with the buffer protocol: bytes, mmap, memoryview.
class Bytes {
 public:
  explicit Bytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&buffer_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::string_view text() const {
    return {static_cast<const char*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_;
};

// The first `size` values as a NumPy array that owns them.
template <class T>
nb::object as_array(std::unique_ptr<T[]> values, std::int64_t size) {
  nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  T* data = values.release();
  using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
  return nb::cast(Array(data, {static_cast<std::size_t>(size)}, owner));
}

template <class T, class Index>
nb::object as_tuple(SvmlightChunk<T, Index> chunk) {
  nb::list labels;
  for (std::string_view label : chunk.labels) labels.append(nb::bytes(label.data(), label.size()));
  const auto n_labels = std::ssize(chunk.labels);
  auto lines = std::make_unique_for_overwrite<std::int64_t[]>(chunk.labels.size());
  std::copy(chunk.label_lines.begin(), chunk.label_lines.end(), lines.get());
  return nb::make_tuple(as_array(std::move(chunk.indices), chunk.nnz),
                        as_array(std::move(chunk.values), chunk.nnz),
                        as_array(std::move(chunk.row_ends), chunk.n_rows),
                        as_array(std::move(chunk.codes), chunk.n_rows), labels,
                        as_array(std::move(lines), n_labels), chunk.n_lines, chunk.max_index);
}

template <class T, class Index>
nb::object parse(std::string_view text, const SvmlightOptions& options) {
  SvmlightChunk<T, Index> chunk;
  {
    nb::gil_scoped_release release;
    chunk = parse_svmlight<T, Index>(text, options);
  }
  return as_tuple(std::move(chunk));
}

template <class T>
nb::object parse_narrow_first(std::string_view text, const SvmlightOptions& options) {
  try {
    return parse<T, std::int32_t>(text, options);
  } catch (const IndexTooWide&) {
    return parse<T, std::int64_t>(text, options);
  }
}

[[noreturn]] void raise(const SvmlightError& error) {
  const nb::bytes found(error.found.data(), error.found.size());
  const auto [problem, advice] = error.complaint;
  const nb::tuple arguments = nb::make_tuple(error.line, problem, found, advice);
  PyErr_SetObject(PyExc_ValueError, arguments.ptr());
  throw nb::python_error();
}

nb::object parse_from_python(nb::handle data, bool float64, std::int64_t n_features,
                             bool zero_based, bool sort, bool sum_duplicates, bool label_sets) {
  const Bytes bytes(data);
  const SvmlightOptions options{n_features, zero_based, sort, sum_duplicates, label_sets};
  try {
    return float64 ? parse_narrow_first<double>(bytes.text(), options)
                   : parse_narrow_first<float>(bytes.text(), options);
  } catch (const SvmlightError& error) {
    raise(error);
  }
}

}  // namespace

void bind_svmlight(nb::module_& m) {
  m.def(
      "parse_svmlight", &parse_from_python, nb::arg("data"), nb::kw_only(), nb::arg("float64"),
      nb::arg("n_features"), nb::arg("zero_based"), nb::arg("sort"), nb::arg("sum_duplicates"),
      nb::arg("label_sets") = false,
      nb::sig(
          "def parse_svmlight(data: bytes | memoryview, *, float64: bool, n_features: int, "
          "zero_based: bool, sort: bool, sum_duplicates: bool, label_sets: bool = False) -> tuple["
          "numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], "
          "numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], "
          "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32], "
          "list[bytes], numpy.typing.NDArray[numpy.int64], int, int]"),
      "Parse whole lines: (indices, values, row_ends, codes, labels, label_lines, n_lines, "
      "max_index). ValueError(line, problem, found, advice) if the text is malformed.");
}

}  // namespace manyclass
