#pragma once
// Packed rows of W of one class block, the messages between ranks: for each feature the number of
// its non-zero weights, then their classes and values. If a plain row of all weights is shorter,
// the number is the number of classes in a slot, and no classes follow.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/array_views.hpp"
#include "data/check_problem.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass {

// Rows of one slot of dense W: `width` numbers each, `stride` apart.
template <class T>
struct DenseSlot {
  T* data;
  std::int64_t stride;
  std::int32_t width;
};

template <class T>
struct SlotRows {
  std::vector<std::int32_t> counts;
  std::vector<std::int32_t> classes;
  std::vector<T> values;
};

// Whether a plain row is no longer than `count` weights with their classes.
template <class T>
bool is_packed_whole(std::int64_t count, std::int32_t width) {
  return count * static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) >=
         width * static_cast<std::int64_t>(sizeof(T));
}

// Append the `count` non-zero weights of a row, and their classes.
template <class T>
void append_row(const T* row, std::int32_t width, std::int32_t count, SlotRows<T>& out) {
  // Branch-free: every class is written, but only non-zero weights are kept.
  std::size_t at = out.values.size(), to = out.classes.size();
  out.values.resize(at + count + 1);
  out.classes.resize(to + count + 1);
  for (std::int32_t c = 0; c < width; ++c) {
    out.classes[to] = c;
    out.values[at] = row[c];
    const std::size_t kept = row[c] != 0 ? 1 : 0;
    to += kept;
    at += kept;
  }
  out.classes.pop_back();
  out.values.pop_back();
}

// Append row j of a slot to `out`.
template <class T>
void read_row(const DenseSlot<T>& slot, std::int64_t j, SlotRows<T>& out) {
  const T* row = slot.data + j * slot.stride;
  std::int32_t count = 0;
  for (std::int32_t c = 0; c < slot.width; ++c) count += row[c] != 0 ? 1 : 0;
  if (count > 0 && is_packed_whole<T>(count, slot.width)) {
    out.counts.push_back(slot.width);
    out.values.insert(out.values.end(), row, row + slot.width);
    return;
  }
  out.counts.push_back(count);
  if (count > 0) append_row(row, slot.width, count, out);
}

template <class T>
void read_row(const HashTables<T>& slot, std::int64_t j, SlotRows<T>& out) {
  const std::int32_t width = slot.n_classes();
  std::int32_t count = 0;
  slot.for_each(j, [&](std::uint32_t, T) { ++count; });
  const std::size_t at = out.values.size();
  if (count > 0 && is_packed_whole<T>(count, width)) {
    out.counts.push_back(width);
    out.values.resize(at + width);
    slot.for_each(j, [&](std::uint32_t label, T weight) { out.values[at + label] = weight; });
    return;
  }
  out.counts.push_back(count);
  slot.for_each(j, [&](std::uint32_t label, T weight) {
    out.classes.push_back(static_cast<std::int32_t>(label));
    out.values.push_back(weight);
  });
}

// Row j = 0.
template <class T>
void drop_row(const DenseSlot<T>& slot, std::int64_t j) {
  std::fill_n(slot.data + j * slot.stride, slot.width, T{0});
}

template <class T>
void drop_row(HashTables<T>& slot, std::int64_t j) {
  slot.drop(j);
}

// Unpack rows into a slot of zeros, starting at row `begin`.
template <class T>
void put_rows(const DenseSlot<T>& slot, std::int64_t begin, std::int64_t n_rows,
              const std::int32_t* counts, const std::int32_t* classes, const T* values) {
  for (std::int64_t j = 0; j < n_rows; ++j) {
    T* row = slot.data + (begin + j) * slot.stride;
    const std::int32_t count = counts[j];
    if (count == slot.width) {
      std::copy_n(values, count, row);
    } else {
      for (std::int32_t e = 0; e < count; ++e) row[classes[e]] = values[e];
      classes += count;
    }
    values += count;
  }
}

template <class T>
void put_rows(HashTables<T>& slot, std::int64_t begin, std::int64_t n_rows,
              const std::int32_t* counts, const std::int32_t* classes, const T* values) {
  const std::int32_t width = slot.n_classes();
  for (std::int64_t j = 0; j < n_rows; ++j) {
    const std::int32_t count = counts[j];
    const bool whole = count == width;
    slot.drop(begin + j);
    slot.reserve(begin + j, count);
    for (std::int32_t e = 0; e < count; ++e) {
      if (whole && values[e] == 0) continue;
      const std::int32_t label = whole ? e : classes[e];
      *slot.insert(begin + j, static_cast<std::uint32_t>(label)) = values[e];
    }
    if (!whole) classes += count;
    values += count;
  }
}

template <class T>
std::int32_t width_of(const DenseSlot<T>& slot) {
  return slot.width;
}
template <class T>
std::int32_t width_of(const HashTables<T>& slot) {
  return slot.n_classes();
}

// Rows [begin, end) of a slot. `drop`: they become zeros.
template <class T, class Slot>
SlotRows<T> read_rows(Slot& slot, std::int64_t begin, std::int64_t end, bool drop) {
  SlotRows<T> rows;
  for (std::int64_t j = begin; j < end; ++j) {
    read_row(slot, j, rows);
    if (drop && rows.counts.back() > 0) drop_row(slot, j);
  }
  return rows;
}

// Throws if packed rows, sent by a different process, are not valid for a slot of `width` classes.
inline void check_packed(std::int32_t width, std::span<const std::int32_t> counts,
                         std::span<const std::int32_t> classes, std::size_t n_values) {
  std::int64_t needed_classes = 0, needed_values = 0;
  for (const std::int32_t count : counts) {
    require(0 <= count && count <= width, "a row of W has more weights than classes");
    needed_values += count;
    needed_classes += count == width ? 0 : count;
  }
  require(
      needed_values == static_cast<std::int64_t>(n_values) && needed_classes == std::ssize(classes),
      "rows of W do not have as many weights as they say");
  for (const std::int32_t label : classes) {
    require(0 <= label && label < width, "a class of W is out of range");
  }
}

}  // namespace manyclass
