#pragma once
// Base scores of a taxonomy without a table of k x k numbers. lca(y, c) is the lowest common
// ancestor of two classes:
//
//   b_c = of_class_c + (of_true_y + of_node_{lca(y, c)})  for c != y,     b_y = own_y
//
// Classes have places, consecutive in the subtree of a node; a class that is a node of the tree
// comes first in its subtree. A row of all classes is a few ranges, with one number each. As
// parents precede their children, the lowest common ancestor of two classes is the least of the
// lowest common ancestors of neighboring places between them: the smaller of two minima, stored for
// ranges of powers of two (Bender, Farach-Colton 2000). Source: Cai, Hofmann 2004 (costs by trees).
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace manyclass {

// A tree as the kernels use it; `of_class` is ordered by place.
template <class T>
struct TreeView {
  const std::int32_t *parents, *begins, *ends;
  const double* of_node;
  const std::int32_t *nodes, *classes, *places;
  const double *exact_of_class, *of_true, *own;
  const T* of_class;
  const std::int32_t* least;  // row r, place p: minimum of places p to p + 2^r; n_classes per row
  std::int32_t n_classes;
  bool in_order;  // whether class p has the place p

  // b_c for the true class y.
  double at(std::int32_t y, std::int32_t c) const {
    if (c == y) return own[y];
    return exact_of_class[places[c]] + (of_true[y] + of_node[common(places[y], places[c])]);
  }

  // The lowest common ancestor of the classes at two places.
  std::int32_t common(std::int32_t p, std::int32_t q) const {
    if (p > q) std::swap(p, q);
    const int r = std::bit_width(static_cast<std::uint32_t>(q - p)) - 1;
    const std::int32_t* row = least + std::int64_t{r} * n_classes;
    return std::min(row[p], row[q - (std::int32_t{1} << r)]);
  }

  // f(first place, last, number): the ranges of all classes except y, with the number to add to
  // of_class.
  template <class F>
  [[gnu::always_inline]] void ranges(std::int32_t y, F f) const {
    std::int32_t m = nodes[y];
    std::int32_t begin = places[y], end = begin + 1;
    for (; m >= 0; m = parents[m]) {
      const double number = of_true[y] + of_node[m];
      f(begins[m], begin, number);
      f(end, ends[m], number);
      begin = begins[m];
      end = ends[m];
    }
  }
};

}  // namespace manyclass
