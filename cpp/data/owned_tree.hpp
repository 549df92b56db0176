#pragma once
// The memory of a taxonomy (data/class_tree.hpp), checked, with the classes in any order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/check_problem.hpp"
#include "data/class_tree.hpp"

namespace manyclass {

// Arrays of the nodes, each node after its parent; the first node is the root, whose parent is -1.
struct TreeArrays {
  std::vector<std::int32_t> parents, begins, ends;
  std::vector<double> of_node;
  // Arrays of the classes.
  std::vector<std::int32_t> nodes;    // the lowest node that contains a class
  std::vector<std::int32_t> classes;  // class at a place
  std::vector<double> of_class, of_true, own;
};

template <class T>
class ClassTree {
 public:
  ClassTree(TreeArrays arrays, std::int32_t n_classes) : arrays_(std::move(arrays)) {
    check(n_classes);
    take_places();
  }
  // The tree for classes in a different order: class p is class order[p] of `other`.
  ClassTree(const ClassTree& other, std::span<const std::int32_t> order) : arrays_(other.arrays_) {
    const TreeArrays& from = other.arrays_;
    std::vector<std::int32_t> inside(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
      const auto c = static_cast<std::size_t>(order[p]);
      inside[c] = static_cast<std::int32_t>(p);
      arrays_.nodes[p] = from.nodes[c];
      arrays_.of_class[p] = from.of_class[c];
      arrays_.of_true[p] = from.of_true[c];
      arrays_.own[p] = from.own[c];
    }
    for (std::int32_t& c : arrays_.classes) c = inside[static_cast<std::size_t>(c)];
    take_places();
  }

  TreeView<T> view() const {
    return {arrays_.parents.data(),
            arrays_.begins.data(),
            arrays_.ends.data(),
            arrays_.of_node.data(),
            arrays_.nodes.data(),
            arrays_.classes.data(),
            places_.data(),
            by_place_.data(),
            arrays_.of_true.data(),
            arrays_.own.data(),
            rounded_.data(),
            least_.data(),
            n_classes(),
            in_order_};
  }
  std::int32_t n_classes() const { return static_cast<std::int32_t>(arrays_.nodes.size()); }
  // An upper bound of all absolute values, also before their sums are rounded.
  double largest() const {
    return largest_of(arrays_.of_class) + largest_of(arrays_.of_true) +
           largest_of(arrays_.of_node) + largest_of(arrays_.own);
  }
  // All numbers, with one row for each true class.
  std::vector<double> table() const {
    const std::int32_t k = n_classes();
    std::vector<double> found;
    found.reserve(static_cast<std::size_t>(k) * static_cast<std::size_t>(k));
    const TreeView<T> tree = view();
    for (std::int32_t y = 0; y < k; ++y) {
      for (std::int32_t c = 0; c < k; ++c) found.push_back(tree.at(y, c));
    }
    return found;
  }

 private:
  static double largest_of(const std::vector<double>& numbers) {
    double found = 0;
    for (const double number : numbers) found = std::max(found, std::abs(number));
    return found;
  }

  void check(std::int32_t n_classes) const {
    const auto k = static_cast<std::size_t>(n_classes);
    const TreeArrays& a = arrays_;
    const std::size_t m = a.parents.size();
    require(m > 0 && a.begins.size() == m && a.ends.size() == m && a.of_node.size() == m,
            "a tree must have a parent, a range and a number for every node");
    require(a.nodes.size() == k && a.classes.size() == k && a.of_class.size() == k &&
                a.of_true.size() == k && a.own.size() == k,
            "a tree must have a node, a place and three numbers for every class");
    for (const auto* numbers : {&a.of_node, &a.of_class, &a.of_true, &a.own}) {
      require_none(flaw_of_base(*numbers));
    }
    require(a.parents[0] == -1 && a.begins[0] == 0 && a.ends[0] == n_classes,
            "the first node must be the root, which has all classes");
    for (std::size_t node = 1; node < m; ++node) {
      require(0 <= a.parents[node] && a.parents[node] < static_cast<std::int32_t>(node),
              "every node must come behind its parent");
      const auto parent = static_cast<std::size_t>(a.parents[node]);
      require(a.begins[parent] <= a.begins[node] && a.begins[node] < a.ends[node] &&
                  a.ends[node] <= a.ends[parent],
              "the classes of a node must be some of its parent's");
    }
    std::vector<bool> seen(k);
    for (std::size_t place = 0; place < k; ++place) {
      const std::int32_t c = a.classes[place];
      require(0 <= c && c < n_classes && !seen[static_cast<std::size_t>(c)],
              "places must be a permutation of the classes");
      seen[static_cast<std::size_t>(c)] = true;
      const std::int32_t node = a.nodes[static_cast<std::size_t>(c)];
      require(0 <= node && static_cast<std::size_t>(node) < m, "the node of a class out of range");
      const auto at = static_cast<std::size_t>(node);
      require(a.begins[at] <= static_cast<std::int32_t>(place) &&
                  static_cast<std::int32_t>(place) < a.ends[at],
              "a class must be in the range of its node");
    }
  }

  void take_places() {
    const std::size_t k = arrays_.classes.size();
    places_.resize(k);
    by_place_.resize(k);
    rounded_.resize(k);
    in_order_ = true;
    for (std::size_t place = 0; place < k; ++place) {
      const auto c = static_cast<std::size_t>(arrays_.classes[place]);
      places_[c] = static_cast<std::int32_t>(place);
      by_place_[place] = arrays_.of_class[c];
      rounded_[place] = static_cast<T>(arrays_.of_class[c]);
      in_order_ = in_order_ && c == place;
    }
    take_least();
  }

  // The lowest common ancestors of neighboring places, and minima over ranges of them.
  void take_least() {
    const std::size_t k = arrays_.classes.size();
    const int n_rows = std::max(1, static_cast<int>(std::bit_width(k - 1)));
    least_.assign(static_cast<std::size_t>(n_rows) * k, 0);
    for (std::size_t p = 0; p + 1 < k; ++p) {
      const auto next = static_cast<std::int32_t>(p + 1);
      std::int32_t m = arrays_.nodes[static_cast<std::size_t>(arrays_.classes[p])];
      while (next >= arrays_.ends[static_cast<std::size_t>(m)]) {
        m = arrays_.parents[static_cast<std::size_t>(m)];
      }
      least_[p] = m;
    }
    for (int r = 1; r < n_rows; ++r) {
      const std::size_t half = std::size_t{1} << (r - 1);
      const std::int32_t* before = least_.data() + static_cast<std::size_t>(r - 1) * k;
      std::int32_t* row = least_.data() + static_cast<std::size_t>(r) * k;
      for (std::size_t p = 0; p + 2 * half < k; ++p) row[p] = std::min(before[p], before[p + half]);
    }
  }

  TreeArrays arrays_;
  std::vector<std::int32_t> places_;
  std::vector<double> by_place_;
  std::vector<T> rounded_;
  std::vector<std::int32_t> least_;
  bool in_order_ = true;
};

}  // namespace manyclass
