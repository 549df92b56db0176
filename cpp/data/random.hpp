#pragma once
// The random numbers of training: SplitMix64, and a shuffle with it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace manyclass {

// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  // From 0 to n - 1; n below 2^32. The bias of the multiplication, n / 2^32, does not matter here.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

inline void shuffle(std::span<std::int32_t> order, Random& random) {
  for (std::size_t n = order.size(); n > 1; --n) {
    std::swap(order[n - 1], order[random.below(static_cast<std::uint32_t>(n))]);
  }
}

}  // namespace manyclass
