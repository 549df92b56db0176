#pragma once
// Working set selection where W is in hash tables: a visit adds only the most violating classes to
// an example's list, so that W stays sparse. The others wait for the next visit.
#include <cstddef>
#include <cstdint>

namespace manyclass {

// Number of classes that may enter a list of `size` in one visit. A long list may double: some
// examples share almost no feature with others, and Weston-Watkins spreads their z over all
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
