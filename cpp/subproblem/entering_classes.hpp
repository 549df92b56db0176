#pragma once
// Where W is in tables, only those classes enter the list of an example in one visit that violate
// its conditions most: the others wait for the next visit, and W stays sparse.
#include <cstddef>
#include <cstdint>

namespace manyclass {

// Classes that may enter an example's list of `size` in one visit. A long list doubles: there are
// examples that share next to nothing with others, and Weston-Watkins spreads their z over all
// classes evenly.
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
