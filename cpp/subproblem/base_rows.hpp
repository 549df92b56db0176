#pragma once
// Base scores (data/base_scores.hpp) of one example, added to its scores: from a table, or from
// a taxonomy (data/class_tree.hpp), whose row is a few ranges of classes.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "data/base_scores.hpp"
#include "data/class_tree.hpp"
#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

// s_c += base_c for n classes.
template <class T>
inline void add_numbers(const T* base, std::int64_t n, T* __restrict s) {
  for (std::int64_t c = 0; c < n; ++c) s[c] += base[c];
}

// s_c += base_c + number for n classes.
template <class T>
inline void add_range(const T* base, T number, std::int64_t n, T* __restrict s) {
  for (std::int64_t c = 0; c < n; ++c) s[c] += base[c] + number;
}

// The numbers of a tree at these places, in U.
template <class U, class T>
inline const U* by_place(const TreeView<T>& tree) {
  if constexpr (std::is_same_v<U, T>) {
    return tree.of_class;
  } else {
    return tree.exact_of_class;
  }
}

template <class T, class U>
inline void add_tree(const TreeView<T>& tree, std::int32_t y, std::int32_t first, std::int32_t last,
                     U* s) {
  const U* base = by_place<U>(tree);
  if (first <= y && y < last) s[y - first] += static_cast<U>(tree.own[y]);
  if (tree.in_order) {
    tree.ranges(y, [&](std::int32_t begin, std::int32_t end, double number) {
      begin = std::max(begin, first);
      end = std::min(end, last);
      if (begin >= end) return;
      add_range(base + begin, static_cast<U>(number), end - begin, s + (begin - first));
    });
    return;
  }
  tree.ranges(y, [&](std::int32_t begin, std::int32_t end, double number) {
    for (std::int32_t p = begin; p < end; ++p) {
      const std::int32_t c = tree.classes[p];
      if (first <= c && c < last) s[c - first] += base[p] + static_cast<U>(number);
    }
  });
}

// Add the base scores of example i to the scores of the classes [first, last), in U (T or double).
template <class T, class U>
inline void add_base(const BaseScores<T>& base, std::int64_t i, std::int32_t first,
                     std::int32_t last, U* s) {
  if (base.has_tree) return add_tree(base.tree, base.rows[i], first, last, s);
  if (!base.table) return;
  const std::int64_t n = last - first;
  if constexpr (std::is_same_v<U, T>) {
    add_numbers(base.of(i) + first, n, s);
  } else {
    add_numbers(base.exact_of(i) + first, n, s);
  }
}

// The base score of one class, not rounded to T.
template <class T>
inline double exact_base_of(const BaseScores<T>& base, std::int64_t i, std::int32_t c) {
  if (base.has_tree) return base.tree.at(base.rows[i], c);
  return base.exact ? base.exact_of(i)[c] : 0.0;
}

// The base score of one class.
template <class T>
inline T base_of(const BaseScores<T>& base, std::int64_t i, std::int32_t c) {
  if (base.has_tree) return static_cast<T>(base.tree.at(base.rows[i], c));
  return base.table ? base.of(i)[c] : T{0};
}

}  // namespace manyclass::MANYCLASS_ISA
