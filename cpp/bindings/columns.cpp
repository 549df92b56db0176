// Bindings of functions of X: columns that can be merged, and fingerprints of rows.
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>

#include "bindings/any_arrays.hpp"
#include "bindings/bindings.hpp"
#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "data/examples.hpp"
#include "data/merged_columns.hpp"
#include "data/row_prints.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// Checked rows that are not dense.
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

// Checked rows that may be dense.
template <class T>
Csr<T> checked_rows(const Vector<const std::int64_t>& indptr,
                    const Vector<const std::int32_t>& indices, const Vector<const T>& values,
                    std::int64_t n_features) {
  if (indices.size() == values.size()) return checked(indptr, indices, values, n_features);
  require(indptr.size() >= 1, "indptr must not be empty");
  const Csr<T> x{.indptr = indptr.data(),
                 .indices = indices.data(),
                 .values = values.data(),
                 .n_rows = std::ssize(indptr) - 1,
                 .n_features = n_features,
                 .bias = 0,
                 .is_dense = true};
  require_none(flaw_of_dense(x, view_of(indices), std::ssize(values)));
  return x;
}

template <class T>
void bind_row_prints_of(nb::module_& m) {
  m.def(
      "row_prints",
      [](Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
         Vector<const T> values, std::int64_t n_features, int n_threads) {
        require(1 <= n_threads && n_threads <= kMaxThreads, "n_threads is out of range");
        std::vector<std::uint64_t> prints;
        {
          const nb::gil_scoped_release release;
          prints = row_prints(checked_rows(indptr, indices, values, n_features), n_threads);
        }
        return to_numpy(std::move(prints));
      },
      "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "n_threads"_a,
      "Two numbers for each row, the fingerprint of its content.");
}

void bind_match_prints(nb::module_& m) {
  m.def(
      "match_prints",
      [](Vector<const std::uint64_t> before, Vector<const std::uint64_t> after) {
        const auto fits = [](const Vector<const std::uint64_t>& prints) {
          return prints.size() % 2 == 0 && std::ssize(view_of(prints)) / 2 <= kMaxCount;
        };
        require(fits(before) && fits(after), "fingerprints are two numbers for each row");
        std::vector<std::int32_t> found;
        {
          const nb::gil_scoped_release release;
          found = match_prints(view_of(before), view_of(after));
        }
        return to_numpy(std::move(found));
      },
      "before"_a, "after"_a,
      "For each row after, the row before with the same fingerprint, each once, or -1.");
}

}  // namespace

void bind_columns(nb::module_& m) {
  bind_columns_of<float>(m);
  bind_columns_of<double>(m);
  bind_row_prints_of<float>(m);
  bind_row_prints_of<double>(m);
  bind_match_prints(m);
}

}  // namespace manyclass
