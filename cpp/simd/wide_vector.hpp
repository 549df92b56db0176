#pragma once
// One number for each of up to 64 classes, in registers: whole blocks of 64 bytes, as wide as a row
// of W, with the operations of a visit.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "simd/isa.hpp"
#include "simd/vector.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace manyclass::MANYCLASS_ISA {

// A mask of a vector: one bit, or one lane, per element.
template <class T>
struct MaskOf {
  using type = decltype(Vector<T>{} > Vector<T>{});
};
#if defined(__AVX512F__)
template <>
struct MaskOf<float> {
  using type = __mmask16;
};
template <>
struct MaskOf<double> {
  using type = __mmask8;
};
inline __mmask16 greater(Vector<float> a, Vector<float> b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
inline __mmask8 greater(Vector<double> a, Vector<double> b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}
inline __mmask16 equal(Vector<float> a, Vector<float> b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
inline __mmask8 equal(Vector<double> a, Vector<double> b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}
inline Vector<float> select(__mmask16 m, Vector<float> a, Vector<float> b) {
  return _mm512_mask_blend_ps(m, b, a);
}
inline Vector<double> select(__mmask8 m, Vector<double> a, Vector<double> b) {
  return _mm512_mask_blend_pd(m, b, a);
}
inline std::uint64_t bits_of(__mmask16 m) { return m; }
inline std::uint64_t bits_of(__mmask8 m) { return m; }
#else
template <class V>
inline auto greater(V a, V b) {
  return a > b;
}
template <class V>
inline auto equal(V a, V b) {
  return a == b;
}
template <class M, class V>
inline V select(M m, V a, V b) {
  return m ? a : b;
}
template <class M>
inline std::uint64_t bits_of(M m) {
#if defined(__AVX2__)
  if constexpr (sizeof(m[0]) == 4) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(m)));
  } else {
    return static_cast<std::uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(m)));
  }
#else
  std::uint64_t bits = 0;
  for (std::size_t lane = 0; lane < sizeof(m) / sizeof(m[0]); ++lane) {
    bits |= std::uint64_t{m[lane] != 0} << lane;
  }
  return bits;
#endif
}
#endif

template <std::size_t kStep, class T, std::size_t... I>
inline Vector<T> swapped(Vector<T> v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I ^ kStep)...);
}

// Reduction of all lanes by a pairwise operation.
template <class T, class Combine, std::size_t kStep = kLanes<T> / 2>
inline T reduce(Vector<T> v, Combine combine) {
  if constexpr (kStep == 0) {
    return v[0];
  } else {
    v = combine(v, swapped<kStep, T>(v, std::make_index_sequence<kLanes<T>>{}));
    return reduce<T, Combine, kStep / 2>(v, combine);
  }
}

template <class T, int V>
struct WideMask {
  using Part = typename MaskOf<T>::type;
  Part part[V];

  // A mask with the lanes of the bits that are set.
  static WideMask of(std::uint64_t bits) {
    WideMask m;
    for (int v = 0; v < V; ++v) {
      const std::uint64_t own = bits >> (v * static_cast<int>(kLanes<T>));
#if defined(__AVX512F__)
      m.part[v] = static_cast<Part>(own);
#else
      for (int lane = 0; lane < kLanes<T>; ++lane) m.part[v][lane] = -(own >> lane & 1);
#endif
    }
    return m;
  }

  std::uint64_t bits() const {
    std::uint64_t all = 0;
    for (int v = 0; v < V; ++v) all |= bits_of(part[v]) << (v * static_cast<int>(kLanes<T>));
    return all;
  }
};

// V vectors of T.
template <class T, int V>
struct Wide {
  Vector<T> part[V];

  // Copied vector by vector: GCC copies an array of vectors in halves, and a load of a whole vector
  // must then wait until both halves are in memory.
  Wide() = default;
  Wide(const Wide& other) { *this = other; }
  Wide& operator=(const Wide& other) {
    for (int v = 0; v < V; ++v) part[v] = other.part[v];
    return *this;
  }

  static Wide all(T value) {
    Wide w;
    for (int v = 0; v < V; ++v) w.part[v] = Vector<T>{} + value;
    return w;
  }
  static Wide at(const T* p) {
    Wide w;
    for (int v = 0; v < V; ++v) w.part[v] = load(p + v * static_cast<int>(kLanes<T>));
    return w;
  }
  // 0, 1, 2, ...
  static Wide numbers() {
    Wide w;
    for (int v = 0; v < V; ++v) {
      for (int lane = 0; lane < static_cast<int>(kLanes<T>); ++lane) {
        w.part[v][lane] = static_cast<T>(v * static_cast<int>(kLanes<T>) + lane);
      }
    }
    return w;
  }
  void put(T* p) const {
    for (int v = 0; v < V; ++v) store(p + v * static_cast<int>(kLanes<T>), part[v]);
  }

  template <class Op>
  static Wide map(const Wide& a, const Wide& b, Op op) {
    Wide w;
    for (int v = 0; v < V; ++v) w.part[v] = op(a.part[v], b.part[v]);
    return w;
  }
  friend Wide operator+(const Wide& a, const Wide& b) {
    return map(a, b, [](auto x, auto y) { return x + y; });
  }
  friend Wide operator-(const Wide& a, const Wide& b) {
    return map(a, b, [](auto x, auto y) { return x - y; });
  }
  friend Wide operator*(const Wide& a, const Wide& b) {
    return map(a, b, [](auto x, auto y) { return x * y; });
  }
  friend Wide operator*(const Wide& a, T factor) {
    return map(a, a, [factor](auto x, auto) { return x * factor; });
  }
  friend Wide operator+(const Wide& a, T summand) {
    return map(a, a, [summand](auto x, auto) { return x + summand; });
  }
  friend Wide max(const Wide& a, const Wide& b) { return map(a, b, maximum<T>); }
  friend Wide min(const Wide& a, const Wide& b) {
    return map(a, b, [](auto x, auto y) { return x < y ? x : y; });
  }
  friend WideMask<T, V> operator>(const Wide& a, const Wide& b) {
    WideMask<T, V> m;
    for (int v = 0; v < V; ++v) m.part[v] = greater(a.part[v], b.part[v]);
    return m;
  }
  friend WideMask<T, V> operator==(const Wide& a, const Wide& b) {
    WideMask<T, V> m;
    for (int v = 0; v < V; ++v) m.part[v] = equal(a.part[v], b.part[v]);
    return m;
  }
  friend Wide select(const WideMask<T, V>& m, const Wide& a, const Wide& b) {
    Wide w;
    for (int v = 0; v < V; ++v) w.part[v] = select(m.part[v], a.part[v], b.part[v]);
    return w;
  }

  T sum() const {
    Vector<T> total = part[0];
    for (int v = 1; v < V; ++v) total += part[v];
    return reduce<T>(total, [](Vector<T> x, Vector<T> y) { return x + y; });
  }
  T largest() const {
    Vector<T> best = part[0];
    for (int v = 1; v < V; ++v) best = maximum<T>(best, part[v]);
    return reduce<T>(best, maximum<T>);
  }
};

}  // namespace manyclass::MANYCLASS_ISA
