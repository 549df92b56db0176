#pragma once
// Working set selection for W in hash tables: a visit adds only the most violating classes to the
// list of an example, so that W stays sparse. The others wait for the next visit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass {

// Number of classes that may enter a list of `size` in one visit. A long list may double: some
// examples share almost no feature with others, and Weston-Watkins distributes their z over all
// classes.
inline std::size_t n_entering(std::size_t size) {
  constexpr std::size_t kFew = 8;
  constexpr std::size_t kLong = 32;
  return size < kLong ? kFew : size;
}

template <class T>
struct Scored {
  std::int32_t label;
  T score;
};

}  // namespace manyclass

namespace manyclass::MANYCLASS_ISA {

// A type of this instruction set's namespace, so that templates of the standard library are
// instantiated once per instruction set.
template <class T>
struct HigherScore {
  bool operator()(const Scored<T>& a, const Scored<T>& b) const {
    return a.score > b.score || (a.score == b.score && a.label < b.label);
  }
};

// The `wanted` largest scores, largest first, equal scores in the order of classes. Returns the
// number of scores; n is a multiple of the lanes. Scores of -inf do not count. `best` is sorted or,
// if it is long, a heap.
template <class T>
inline std::size_t largest_scores(const T* s, std::size_t n, std::int32_t first, std::size_t wanted,
                                  Scored<T>* best) {
  constexpr std::size_t kRun = 256 / sizeof(T);
  constexpr std::size_t kShort = 32;
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  std::size_t size = 0;
  T least = kNone;
  const auto take = [&](const Scored<T>& next) {
    if (wanted > kShort) {
      if (size == wanted) std::pop_heap(best, best + size--, HigherScore<T>{});
      best[size++] = next;
      std::push_heap(best, best + size, HigherScore<T>{});
      return best[0].score;
    }
    std::size_t at = size < wanted ? size++ : wanted - 1;
    for (; at > 0 && next.score > best[at - 1].score; --at) best[at] = best[at - 1];
    best[at] = next;
    return best[size - 1].score;
  };
  for (std::size_t begin = 0; begin < n; begin += kRun) {
    const std::size_t end = std::min(begin + kRun, n);
    if (!(largest(s + begin, end - begin) > least)) continue;
    for (std::size_t c = begin; c < end; ++c) {
      if (!(s[c] > least)) continue;
      const T worst = take({first + static_cast<std::int32_t>(c), s[c]});
      if (size == wanted) least = worst;
    }
  }
  if (wanted > kShort) std::sort_heap(best, best + size, HigherScore<T>{});
  return size;
}

}  // namespace manyclass::MANYCLASS_ISA
