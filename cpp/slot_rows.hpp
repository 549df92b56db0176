#pragma once
// How W of a bundle travels: for each feature the number of its weights that are not zero, then
// their classes and values. A feature for which a plain row of all weights is shorter has as many
// as there are classes in a slot, and no classes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weight_tables.hpp"

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

// Whether a row with so many weights that are not zero travels whole.
template <class T>
bool travels_whole(std::int64_t count, std::int32_t width) {
  return count * static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) >=
         width * static_cast<std::int64_t>(sizeof(T));
}

// Move rows [begin, end) of a slot to `out`; zeros stay behind.
template <class T>
void take_rows(const DenseSlot<T>& slot, std::int64_t begin, std::int64_t end, SlotRows<T>& out) {
  const auto width = static_cast<std::size_t>(slot.width);
  for (std::int64_t j = begin; j < end; ++j) {
    T* row = slot.data + j * slot.stride;
    std::int32_t count = 0;
    for (std::size_t c = 0; c < width; ++c) count += row[c] != 0 ? 1 : 0;
    const bool whole = count > 0 && travels_whole<T>(count, slot.width);
    out.counts.push_back(whole ? slot.width : count);
    if (count == 0) continue;
    if (whole) {
      out.values.insert(out.values.end(), row, row + width);
    } else {
      // Written for every class, kept for those that are not zero.
      std::size_t at = out.values.size();
      out.values.resize(at + width);
      out.classes.resize(out.classes.size() + width);
      std::size_t to = out.classes.size() - width;
      for (std::size_t c = 0; c < width; ++c) {
        out.classes[to] = static_cast<std::int32_t>(c);
        out.values[at] = row[c];
        to += row[c] != 0 ? 1 : 0;
        at += row[c] != 0 ? 1 : 0;
      }
      out.classes.resize(to);
      out.values.resize(at);
    }
    std::fill_n(row, width, T{0});
  }
}

template <class T>
void take_rows(WeightTables<T>& slot, std::int64_t begin, std::int64_t end, SlotRows<T>& out) {
  const std::int32_t width = slot.n_classes();
  for (std::int64_t j = begin; j < end; ++j) {
    std::int32_t count = 0;
    slot.for_each(j, [&](std::uint32_t, T) { ++count; });
    const bool whole = count > 0 && travels_whole<T>(count, width);
    out.counts.push_back(whole ? width : count);
    const std::size_t at = out.values.size();
    if (whole) out.values.resize(at + static_cast<std::size_t>(width));
    slot.for_each(j, [&](std::uint32_t label, T weight) {
      if (whole) {
        out.values[at + label] = weight;
      } else {
        out.classes.push_back(static_cast<std::int32_t>(label));
        out.values.push_back(weight);
      }
    });
    slot.drop(j);
  }
}

// Put what was taken elsewhere, rows from `begin` on, into a slot of zeros.
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
void put_rows(WeightTables<T>& slot, std::int64_t begin, std::int64_t n_rows,
              const std::int32_t* counts, const std::int32_t* classes, const T* values) {
  const std::int32_t width = slot.n_classes();
  for (std::int64_t j = 0; j < n_rows; ++j) {
    const std::int32_t count = counts[j];
    const bool whole = count == width;
    slot.reserve(begin + j, static_cast<std::size_t>(count));
    for (std::int32_t e = 0; e < count; ++e) {
      if (whole && values[e] == 0) continue;
      const std::int32_t label = whole ? e : classes[e];
      *slot.insert(begin + j, static_cast<std::uint32_t>(label)) = values[e];
    }
    if (!whole) classes += count;
    values += count;
  }
}

}  // namespace manyclass
