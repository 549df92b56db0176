#pragma once
// z as arrays: the three arrays of a CSR matrix (n x k), or entries in any order (COO).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "duals/dual_lists.hpp"

namespace manyclass {

template <class T, class Duals>
CsrArrays<T> export_duals(const Duals& z) {
  CsrArrays<T> out;
  const auto count = z.count();
  out.indptr.reserve(z.n_rows() + 1);
  out.labels.reserve(count);
  out.values.reserve(count);
  for (std::int64_t i = 0; i < z.n_rows(); ++i) {
    for (const DualEntry<T>& entry : z.row(i)) {
      out.labels.push_back(entry.label);
      out.values.push_back(entry.value);
    }
    out.indptr.push_back(std::ssize(out.labels));
  }
  return out;
}

template <class T, class Duals>
void import_duals(Duals& z, std::span<const std::int64_t> indptr,
                  std::span<const std::int32_t> labels, std::span<const T> values) {
  require(std::ssize(indptr) == z.n_rows() + 1, "z has another number of rows");
  require(labels.size() == values.size(), "labels and values must have one length");
  require(in_range(labels, z.n_classes()), "z has a class out of range");
  std::vector<std::int64_t> seen(z.n_classes(), -1);  // last row with this class
  std::vector<DualEntry<T>> row;
  for (std::int64_t i = 0; i < z.n_rows(); ++i) {
    const std::int64_t begin = indptr.data()[i];
    const std::int64_t end = indptr.data()[i + 1];
    require(0 <= begin && begin <= end && end <= std::ssize(labels),
            "indptr is not that of a CSR matrix");
    require(end - begin <= z.n_classes(), "a row of z has more entries than there are classes");
    row.clear();
    for (std::int64_t p = begin; p < end; ++p) {
      std::int64_t& last = seen[labels.data()[p]];
      require(last != i, "z has a class twice");
      last = i;
      row.push_back({labels.data()[p], values.data()[p]});
    }
    z.set(i, row);
  }
}

// The entries of z in any order, each (row, column) once. `columns` has the column of every class,
// or -1 for classes that are excluded.
template <class T>
struct DualEntries {
  std::span<const std::int32_t> rows;
  std::span<const std::int32_t> labels;
  std::span<const T> values;
  std::span<const std::int32_t> columns;

  std::int32_t column(std::size_t e) const { return columns[labels[e]]; }
};

// Throws if the entries do not fit into z.
template <class T>
void check_entries(const DualLists<T>& z, const DualEntries<T>& entries) {
  const std::size_t n = entries.rows.size();
  require(n == entries.labels.size() && n == entries.values.size(),
          "rows, labels and values must have one length");
  for (const std::int32_t column : entries.columns) {
    require(column < z.n_classes(), "z has a column out of range");
  }
  for (std::size_t e = 0; e < n; ++e) {
    const std::int32_t i = entries.rows[e], label = entries.labels[e];
    require(0 <= i && i < z.n_rows(), "z has a row out of range");
    require(0 <= label && label < std::ssize(entries.columns), "z has a class out of range");
  }
}

// z must be empty.
template <class T>
void import_entries(DualLists<T>& z, const DualEntries<T>& entries) {
  check_entries(z, entries);
  std::vector<std::size_t> sizes(z.n_rows());
  for (std::size_t e = 0; e < entries.rows.size(); ++e) {
    if (entries.column(e) >= 0) ++sizes[entries.rows[e]];
  }
  for (std::int64_t i = 0; i < z.n_rows(); ++i) {
    std::size_t& size = sizes[i];
    require(std::cmp_less_equal(size, z.n_classes()), "z has a class twice");
    if (size > 0) z.resize(i, size);
    size = 0;
  }
  for (std::size_t e = 0; e < entries.rows.size(); ++e) {
    if (entries.column(e) < 0) continue;
    const std::int64_t i = entries.rows[e];
    z.row(i)[sizes[i]++] = {entries.column(e), entries.values[e]};
  }
}

}  // namespace manyclass
