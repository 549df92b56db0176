#pragma once
// Rows of a mapped file, read from beginning to end, so that the system reads ahead. Visits in
// random order would read them page by page.
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/examples.hpp"

namespace manyclass {

constexpr std::size_t kPage = 4096;  // bytes; larger pages are read more than once

template <class Value>
void touch(const Value* values, std::int64_t size) {
  const auto* bytes = reinterpret_cast<const volatile unsigned char*>(values);
  const std::size_t n_bytes = size * sizeof(Value);
  for (std::size_t at = 0; at < n_bytes; at += kPage) static_cast<void>(bytes[at]);
}

// Read a byte of each page that contains `rows` (ascending): their values, then their indices.
template <class T>
void read_in_order(const Csr<T>& x, std::span<const std::int32_t> rows) {
  for (const std::int32_t i : rows) touch(x.row(i).values, x.row(i).nnz);
  if (x.is_dense) return;
  for (const std::int32_t i : rows) touch(x.row(i).indices, x.row(i).nnz);
}

}  // namespace manyclass
