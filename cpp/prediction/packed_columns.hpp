#pragma once
// The classes, divided into runs of vectors. Rows of W have one number per class, without padding
// or alignment. The last vector of a row ends at the end of the row, so it overlaps the vector
// before it. If a row is shorter than a register, the vectors are narrower. Nothing beyond a row is
// read.
#include <cstddef>
#include <cstdint>

#include "simd/isa.hpp"
#include "simd/vector.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T, std::size_t L>
struct LanesOf;
template <std::size_t L>
struct LanesOf<float, L> {
  typedef float type __attribute__((vector_size(L * sizeof(float))));
};
template <std::size_t L>
struct LanesOf<double, L> {
  typedef double type __attribute__((vector_size(L * sizeof(double))));
};
template <>
struct LanesOf<float, 1> {
  using type = float;
};
template <>
struct LanesOf<double, 1> {
  using type = double;
};

template <class V, class T>
inline V unaligned(const T* p) {
  V result;
  __builtin_memcpy(&result, p, sizeof result);
  return result;
}

// N vectors of L lanes: at first, first + L, ..., and the last vector at `last`.
template <class T, std::size_t L, std::size_t N>
struct PackedColumns {
  using V = typename LanesOf<T, L>::type;
  std::int64_t first;
  std::int64_t last;

  std::int64_t at(std::size_t v) const {
    return v + 1 < N ? first + static_cast<std::int64_t>(v * L) : last;
  }
  V read(const T* row, std::size_t v) const { return unaligned<V>(row + at(v)); }
  void write(const V* in, T* row) const {
    for (std::size_t v = 0; v < N; ++v) __builtin_memcpy(row + at(v), in + v, sizeof(V));
  }
};

// The last run of k columns, starting at `first`: the n vectors that it needs, at most N.
template <class T, std::size_t L, std::size_t N, class Visit>
inline void visit_last_run(std::int64_t n, std::int64_t first, std::int64_t k, Visit visit) {
  if constexpr (N > 1) {
    if (n < static_cast<std::int64_t>(N)) return visit_last_run<T, L, N - 1>(n, first, k, visit);
  }
  visit(PackedColumns<T, L, N>{first, k - static_cast<std::int64_t>(L)});
}

// Call `visit(Columns)` for runs of at most N vectors that cover k columns.
template <class T, std::size_t N, class Visit, std::size_t L = kLanes<T>>
inline void for_columns(std::int64_t k, Visit visit) {
  constexpr auto kL = static_cast<std::int64_t>(L);
  if constexpr (L > 1) {
    if (k < kL) return for_columns<T, 2, Visit, L / 2>(k, visit);
  }
  constexpr auto kRun = static_cast<std::int64_t>(N) * kL;
  std::int64_t first = 0;
  for (; k - first > kRun; first += kRun) visit(PackedColumns<T, L, N>{first, first + kRun - kL});
  visit_last_run<T, L, N>((k - first + kL - 1) / kL, first, k, visit);
}

}  // namespace manyclass::MANYCLASS_ISA
