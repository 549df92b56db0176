// Python's view of columns that can be merged.
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>

#include "bindings/any_arrays.hpp"
#include "bindings/bindings.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "data/merged_columns.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// Rows that are not dense, checked.
template <class T>
Csr<T> checked(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
               const Vector<const T>& values, std::int64_t n_features) {
  require(indptr.size() >= 1 && indices.size() == values.size(),
          "X is not a valid CSR matrix: shapes disagree");
  const Csr<T> x{.indptr = indptr.data(),
                 .indices = indices.data(),
                 .values = values.data(),
                 .n_rows = std::ssize(indptr) - 1,
                 .n_features = n_features,
                 .bias = 0};
  require_none(flaw_of(x, std::ssize(values)));
  return x;
}

template <class T>
void bind_columns_of(nb::module_& m) {
  m.def(
      "merged_share",
      [](Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
         Vector<const T> values, std::int64_t n_features, std::int64_t n_rows, double enough) {
        require(n_rows >= 1, "n_rows must be positive");
        const nb::gil_scoped_release release;
        return MergedSample<T>(checked(indptr, indices, values, n_features), n_rows, enough)
            .share();
      },
      "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "n_rows"_a, "enough"_a);
  m.def(
      "merged_columns",
      [](Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
         Vector<const T> values, std::int64_t n_features) {
        MergedColumns found;
        {
          const nb::gil_scoped_release release;
          found = merged_columns(checked(indptr, indices, values, n_features));
        }
        return to_numpy(std::move(found.groups), std::move(found.factors), std::move(found.first));
      },
      "indptr"_a, "indices"_a, "values"_a, "n_features"_a);
  m.def(
      "with_merged",
      [](Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
         Vector<const T> values, Vector<const std::int32_t> groups, Vector<const double> factors,
         Vector<const std::int32_t> first) {
        CsrArrays<T> merged;
        {
          const nb::gil_scoped_release release;
          const auto d = std::ssize(groups);
          const Csr<T> x = checked(indptr, indices, values, d);
          require(factors.size() == groups.size() && in_range(view_of(groups), first.size()),
                  "groups and factors must describe every column");
          merged = with_merged<T>(x, view_of(groups), view_of(factors), view_of(first));
        }
        return to_numpy(std::move(merged.indptr), std::move(merged.labels),
                        std::move(merged.values));
      },
      "indptr"_a, "indices"_a, "values"_a, "groups"_a, "factors"_a, "first"_a);
}

}  // namespace

void bind_columns(nb::module_& m) {
  bind_columns_of<float>(m);
  bind_columns_of<double>(m);
}

}  // namespace manyclass
